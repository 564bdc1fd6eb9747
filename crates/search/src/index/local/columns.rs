//! The columns of a segment: what decides about an entry, and what a hit is made of.

use model::{Id, Timestamp};
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, SegmentReader};

use super::place_numbers::PlaceNumbers;
use super::schema;
use crate::index::entry::{Audience, Fault, IndexedEntry};
use crate::query::Position;

/// An entry that fits a query and may be admitted. Its fields are read when they are asked for.
pub struct Candidate<'a> {
    pub(super) columns: &'a Columns,
    pub(super) doc: DocId,
}

impl Candidate<'_> {
    /// See [`crate::index::entry::Entry::node`].
    pub fn node(&self) -> Id {
        self.columns.node(self.doc)
    }

    /// See [`crate::index::entry::Entry::version`].
    pub fn version(&self) -> Id {
        self.columns.version(self.doc)
    }

    /// See [`crate::index::entry::Entry::collection`].
    pub fn collection(&self) -> Id {
        self.columns.collection(self.doc)
    }

    /// See [`crate::index::entry::Entry::place`].
    pub fn place(&self) -> Id {
        self.columns.place(self.doc)
    }

    /// Number of its site collection and place together, counted from 0 and the same for all views of the index.
    pub fn place_number(&self) -> usize {
        self.columns.packed_place(self.doc).0
    }

    /// Returns whether the audience is [`Audience::All`] and nobody holds a working copy.
    pub fn is_plain(&self) -> bool {
        self.columns.packed_place(self.doc).1
    }

    /// See [`crate::index::entry::Entry::audience`]; `None` for an entry that nobody may find.
    pub fn audience(&self) -> Option<Audience> {
        self.columns.audience(self.doc)
    }

    /// See [`crate::index::entry::Entry::author`].
    pub fn author(&self) -> Id {
        self.columns.author(self.doc)
    }

    /// Print of the name under which it was indexed, by [`crate::index::entry::name_print`].
    pub fn name_print(&self) -> u64 {
        self.columns.name_print(self.doc)
    }

    /// The library of its values when it was indexed; [`Id::NONE`] if it had none.
    pub fn library(&self) -> Id {
        self.columns.library(self.doc)
    }

    /// See [`crate::index::entry::Entry::holder`].
    pub fn holder(&self) -> Id {
        self.columns.holder(self.doc)
    }
}

/// The columns of a segment.
pub(super) struct Columns {
    node: Column<i64>,
    version: Column<i64>,
    collection: Column<i64>,
    place: Column<i64>,
    audience: Column<u64>,
    author: Column<i64>,
    editor: Column<i64>,
    holder: Column<i64>,
    created: Column<i64>,
    modified: Column<i64>,
    size: Column<u64>,
    name_print: Column<u64>,
    properties_print: Column<u64>,
    name_words: Column<u64>,
    title_words: Column<u64>,
    checked_out_by: Column<i64>,
    language: Column<u64>,
    library: Column<i64>,
    value_columns: Column<i64>,
    value_keys: Column<u64>,
    /// `None` if no name in the segment has an extension.
    extension: Option<StrColumn>,
    /// The number of each entry's place, with [`PLAIN`] for plain entries. One array, because both are looked up for
    /// every entry that fits a query.
    packed_places: Vec<u32>,
    /// Entries whose texts are still to be read, including replaced ones.
    waiting: Vec<DocId>,
}

/// The bit of a packed place that tells that an entry is plain: its audience is [`Audience::All`], and it has no
/// holder.
const PLAIN: u32 = 1 << 31;

impl Columns {
    pub(super) fn of(segment: &SegmentReader, numbers: &PlaceNumbers) -> tantivy::Result<Self> {
        let columns = segment.fast_fields();
        let mut all = Self {
            node: columns.i64(schema::NODE)?,
            version: columns.i64(schema::VERSION)?,
            collection: columns.i64(schema::COLLECTION)?,
            place: columns.i64(schema::PLACE)?,
            audience: columns.u64(schema::AUDIENCE)?,
            author: columns.i64(schema::AUTHOR)?,
            editor: columns.i64(schema::EDITOR)?,
            holder: columns.i64(schema::HOLDER)?,
            created: columns.i64(schema::CREATED)?,
            modified: columns.i64(schema::MODIFIED)?,
            size: columns.u64(schema::SIZE)?,
            name_print: columns.u64(schema::NAME_PRINT)?,
            properties_print: columns.u64(schema::PROPERTIES_PRINT)?,
            name_words: columns.u64(schema::NAME_WORDS)?,
            title_words: columns.u64(schema::TITLE_WORDS)?,
            checked_out_by: columns.i64(schema::CHECKED_OUT_BY)?,
            language: columns.u64(schema::LANGUAGE)?,
            library: columns.i64(schema::LIBRARY)?,
            value_columns: columns.i64(schema::VALUE_COLUMNS)?,
            value_keys: columns.u64(schema::VALUE_KEYS)?,
            extension: columns.str(schema::EXTENSION)?,
            packed_places: Vec::new(),
            waiting: waiting(segment)?,
        };
        let places = (0..segment.max_doc()).map(|doc| (all.collection(doc), all.place(doc)));
        let mut packed = numbers.of(places);
        for (doc, place) in (0..).zip(&mut packed) {
            let is_plain = all.audience.first(doc) == Some(Audience::All.number()) && id(&all.holder, doc).is_none();
            *place = *place & !PLAIN | if is_plain { PLAIN } else { 0 };
        }
        all.packed_places = packed;
        Ok(all)
    }

    /// Returns the number of the place of an entry, and whether it is plain.
    fn packed_place(&self, doc: DocId) -> (usize, bool) {
        let packed = self.packed_places.get(doc as usize).copied().unwrap_or_default();
        ((packed & !PLAIN) as usize, packed & PLAIN != 0)
    }

    pub(super) fn node(&self, doc: DocId) -> Id {
        id(&self.node, doc)
    }

    pub(super) fn version(&self, doc: DocId) -> Id {
        id(&self.version, doc)
    }

    pub(super) fn collection(&self, doc: DocId) -> Id {
        id(&self.collection, doc)
    }

    pub(super) fn place(&self, doc: DocId) -> Id {
        id(&self.place, doc)
    }

    pub(super) fn position(&self, doc: DocId) -> Position {
        Position {
            node: self.node(doc),
            collection: self.collection(doc),
            place: self.place(doc),
            library: self.library(doc),
        }
    }

    pub(super) fn author(&self, doc: DocId) -> Id {
        id(&self.author, doc)
    }

    pub(super) fn editor(&self, doc: DocId) -> Id {
        id(&self.editor, doc)
    }

    pub(super) fn created(&self, doc: DocId) -> Timestamp {
        time(&self.created, doc)
    }

    pub(super) fn modified(&self, doc: DocId) -> Timestamp {
        time(&self.modified, doc)
    }

    pub(super) fn name_print(&self, doc: DocId) -> u64 {
        self.name_print.first(doc).unwrap_or_default()
    }

    pub(super) fn holder(&self, doc: DocId) -> Id {
        id(&self.holder, doc)
    }

    pub(super) fn audience(&self, doc: DocId) -> Option<Audience> {
        Audience::of(self.audience.first(doc)?)
    }

    pub(super) fn is_checked_out(&self, doc: DocId) -> bool {
        self.checked_out_by.first(doc).is_some()
    }

    /// Returns the number of the language of the text; `None` for a text in no certain language.
    pub(super) fn language(&self, doc: DocId) -> Option<u64> {
        self.language.first(doc)
    }

    /// Returns the library of the values; [`Id::NONE`] if there are none.
    pub(super) fn library(&self, doc: DocId) -> Id {
        id(&self.library, doc)
    }

    /// Iterates over columns with the keys of their values.
    pub(super) fn values(&self, doc: DocId) -> impl Iterator<Item = (Id, u64)> {
        self.value_columns.values_for_doc(doc).map(Id::new).zip(self.value_keys.values_for_doc(doc))
    }

    /// Returns what must agree with the database.
    pub(super) fn indexed(&self, doc: DocId) -> IndexedEntry {
        // No audience has the other number.
        let audience = self.audience(doc).unwrap_or(Audience::All);
        let prints = (self.name_print(doc), self.properties_print.first(doc).unwrap_or_default());
        IndexedEntry::new(self.version(doc), self.place(doc), audience, self.holder(doc), prints)
    }

    /// Returns the entries whose texts are still to be read, including replaced ones.
    pub(super) fn waiting(&self) -> &[DocId] {
        &self.waiting
    }

    /// Returns the number of words in the name, without its extension.
    pub(super) fn name_words(&self, doc: DocId) -> u64 {
        self.name_words.first(doc).unwrap_or_default()
    }

    /// Returns the number of words in the title.
    pub(super) fn title_words(&self, doc: DocId) -> u64 {
        self.title_words.first(doc).unwrap_or_default()
    }

    pub(super) fn size(&self, doc: DocId) -> u64 {
        self.size.first(doc).unwrap_or_default()
    }

    /// Returns the number that the extension of a name has in this segment.
    pub(super) fn extension(&self, doc: DocId) -> Option<u64> {
        self.extension.as_ref()?.ords().first(doc)
    }

    /// Returns the number of an extension in this segment; `None` if no name has it.
    pub(super) fn number_of(&self, extension: &str) -> tantivy::Result<Option<u64>> {
        let Some(column) = &self.extension else { return Ok(None) };
        Ok(column.dictionary().term_ord(extension.as_bytes())?)
    }

    /// Returns the extension with a number in this segment.
    pub(super) fn extension_of(&self, number: u64) -> tantivy::Result<String> {
        let mut name = String::new();
        if let Some(column) = &self.extension {
            column.ord_to_str(number, &mut name)?;
        }
        Ok(name)
    }
}

/// Returns the entries whose texts are still to be read.
fn waiting(segment: &SegmentReader) -> tantivy::Result<Vec<DocId>> {
    let Some(codes) = segment.fast_fields().str(schema::FAULT)? else { return Ok(Vec::new()) };
    let Some(code) = codes.dictionary().term_ord(Fault::WAITS_FOR_TEXT.as_bytes())? else { return Ok(Vec::new()) };
    Ok((0..segment.max_doc()).filter(|doc| codes.ords().first(*doc) == Some(code)).collect())
}

fn id(column: &Column<i64>, doc: DocId) -> Id {
    column.first(doc).map_or(Id::NONE, Id::new)
}

fn time(column: &Column<i64>, doc: DocId) -> Timestamp {
    Timestamp::from_micros(column.first(doc).unwrap_or_default())
}
