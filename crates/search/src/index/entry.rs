//! Entries of the index.

use model::{ColumnValue, Id, Timestamp};

use crate::language::{ROW_EXTENSION, extension_of};
use crate::query::value_key;

/// Audience of an entry, among callers who may view the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Everyone except the holder of a working copy.
    All,
    /// Only callers who see no drafts of it.
    Published,
    /// Only callers who see its drafts, or who created it.
    Draft,
    /// Only the holder of its check-out.
    WorkingCopy,
}

/// A kind of item that has entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A document.
    Document,
    /// A row of a list.
    Row,
}

/// Entry for one version of a document, or for a row of a list. What is said of documents holds for rows too.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Kind of item that was indexed.
    pub kind: EntryKind,
    /// The document.
    pub node: Id,
    /// The version.
    pub version: Id,
    /// The site collection of the document.
    pub collection: Id,
    /// The item whose scope decides who may view it: the document itself if it has permissions of its own, else its
    /// parent.
    pub place: Id,
    /// Its audience.
    pub audience: Audience,
    /// Creator of the document.
    pub author: Id,
    /// Author of the last change.
    pub editor: Id,
    /// Holder of a working copy, who sees no other entry of the document; [`Id::NONE`] if there is no working copy.
    pub holder: Id,
    /// User who has it checked out; [`Id::NONE`] if nobody has.
    pub checked_out_by: Id,
    /// Time of creation of the document.
    pub created: Timestamp,
    /// Time of the last change.
    pub modified: Timestamp,
    /// Size in bytes.
    pub size: u64,
    /// Name of the document; title of a row, or its number if it has none.
    pub name: String,
    /// The title that its content states.
    pub title: String,
    /// The author that its content states.
    pub stated_author: String,
    /// Its text with title and author; empty if it has none, or none that can be read. That of a row has its texts in
    /// columns.
    pub text: String,
    /// The library or list that the document is in.
    pub library: Id,
    /// Its values in columns of this library, each with its column. Texts among them are found as words too. Persons
    /// and entries of other lists are identifiers: who may know their names is not known here. A field with several
    /// values has them one by one.
    pub values: Vec<(Id, ColumnValue)>,
    /// The reason why its text cannot be read, or a mark that it is read again.
    pub fault: Option<Fault>,
}

/// The reason why the text of a document cannot be read: it lies in the document, or its BLOB is missing or damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Error code.
    pub code: String,
    /// The reason in words.
    pub reason: String,
}

impl Fault {
    /// Code of entries without their text, because a store or a child process did not answer in time. Their documents
    /// are read again.
    pub const WAITS_FOR_TEXT: &str = "waits_for_text";
    /// Code of entries of documents with pictures in which text is still to be recognised.
    pub const WAITS_FOR_RECOGNITION: &str = "waits_for_recognition";

    /// Returns the mark of an entry whose document is read again.
    pub fn waiting(code: &str) -> Self {
        Self { code: code.to_owned(), reason: String::new() }
    }

    /// Returns whether a code says that a document waits to be read again.
    pub fn is_waiting(code: &str) -> bool {
        code == Self::WAITS_FOR_TEXT || code == Self::WAITS_FOR_RECOGNITION
    }
}

/// The error codes of the entries that are asked for.
#[derive(Clone, Copy, Debug)]
pub enum WantedFaults<'a> {
    /// All but the marks of documents that are read again.
    Final,
    /// These codes.
    Codes(&'a [&'a str]),
}

impl WantedFaults<'_> {
    /// Returns whether a code is asked for.
    pub(super) fn has(self, code: &str) -> bool {
        match self {
            Self::Final => !Fault::is_waiting(code),
            Self::Codes(codes) => codes.contains(&code),
        }
    }
}

/// A document whose text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyDocument {
    /// The document.
    pub node: Id,
    /// The version.
    pub version: Id,
    /// The reason.
    pub fault: Fault,
}

/// An entry, as far as it must agree with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexedEntry {
    /// The version.
    pub version: Id,
    /// The place.
    pub place: Id,
    /// Number of the audience.
    audience: u64,
    /// Holder of a working copy; [`Id::NONE`] if there is none.
    pub holder: Id,
    /// Print of the name.
    pub name_print: u64,
    /// Print of its other properties, by [`EntryProperties::print`].
    pub properties_print: u64,
}

impl IndexedEntry {
    /// Returns the entry that a document should have.
    pub fn new(
        version: Id,
        place: Id,
        audience: Audience,
        holder: Id,
        (name_print, properties_print): (u64, u64),
    ) -> Self {
        Self { version, place, audience: audience.number(), holder, name_print, properties_print }
    }
}

/// Properties of a document in an entry that can change without a new version, besides its name, place and audience.
#[derive(Clone, Copy, Debug)]
pub struct EntryProperties<'a> {
    /// See [`Entry::checked_out_by`].
    pub checked_out_by: Id,
    /// Author and time of the last change; `None` for an older version, which keeps its own.
    pub changed: Option<(Id, Timestamp)>,
    /// See [`Entry::library`].
    pub library: Id,
    /// See [`Entry::values`].
    pub values: &'a [(Id, ColumnValue)],
}

impl EntryProperties<'_> {
    /// Returns a number by which other properties are noticed: the FNV-1a hash of the numbers in them, little-endian,
    /// with the values in the order of their columns.
    pub fn print(&self) -> u64 {
        let (editor, modified) = self.changed.unwrap_or((Id::NONE, Timestamp::from_micros(0)));
        let mut numbers = vec![self.checked_out_by.get(), editor.get(), modified.micros()];
        if !self.values.is_empty() {
            numbers.push(self.library.get());
        }
        let text = |value: &ColumnValue| if let ColumnValue::Text(text) = value { name_print(text) } else { 0 };
        let value = |(column, value): &(Id, ColumnValue)| (column.get(), value_key(value), text(value));
        let mut values: Vec<(i64, u64, u64)> = self.values.iter().map(value).collect();
        values.sort_unstable();
        let values = values.into_iter().flat_map(|(column, key, text)| [column.cast_unsigned(), key, text]);
        let numbers = numbers.into_iter().map(i64::cast_unsigned).chain(values);
        hash(numbers.flat_map(u64::to_le_bytes))
    }
}

impl Entry {
    /// Returns the name without its extension, and the extension. All rows have [`ROW_EXTENSION`], whatever their
    /// title.
    pub(super) fn stem_and_extension(&self) -> (&str, Option<String>) {
        let name = self.name.as_str();
        match self.kind {
            EntryKind::Row => (name, Some(ROW_EXTENSION.to_owned())),
            EntryKind::Document => match extension_of(name) {
                Some(extension) => (name.rsplit_once('.').map_or(name, |(stem, _)| stem), Some(extension)),
                None => (name, None),
            },
        }
    }

    /// Iterates over the texts whose words it is found by: its name, its text, and its texts in columns.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let in_columns = self.values.iter().filter_map(|(_, value)| match value {
            ColumnValue::Text(text) if self.kind == EntryKind::Document => Some(text.as_str()),
            _ => None,
        });
        [self.name.as_str(), self.text.as_str()].into_iter().chain(in_columns)
    }

    /// Returns the print of its properties.
    pub(super) fn properties_print(&self) -> u64 {
        let is_latest = matches!(self.audience, Audience::All | Audience::Draft);
        let changed = is_latest.then_some((self.editor, self.modified));
        let (checked_out_by, library, values) = (self.checked_out_by, self.library, self.values.as_slice());
        EntryProperties { checked_out_by, changed, library, values }.print()
    }
}

impl Audience {
    pub(super) const ALL: [Self; 4] = [Self::All, Self::Published, Self::Draft, Self::WorkingCopy];

    /// Returns the number by which the index knows it.
    pub(super) fn number(self) -> u64 {
        self as u64
    }

    /// Returns the audience with this number; `None` if there is none.
    pub(super) fn of(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|audience| audience.number() == number)
    }
}

/// Returns a number by which an entry with another name is noticed: the 64-bit FNV-1a hash
/// (<http://www.isthe.com/chongo/tech/comp/fnv/>).
pub fn name_print(name: &str) -> u64 {
    hash(name.bytes())
}

fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
