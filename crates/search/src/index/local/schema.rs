//! The fields of the index.

use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};

use super::analyzer;

/// Names of the columns that decide who may find an entry, and of those by which entries are filtered and ordered.
pub(super) const NODE: &str = "node";
pub(super) const VERSION: &str = "version";
pub(super) const COLLECTION: &str = "collection";
pub(super) const PLACE: &str = "place";
pub(super) const AUDIENCE: &str = "face";
pub(super) const AUTHOR: &str = "author";
pub(super) const EDITOR: &str = "editor";
pub(super) const HOLDER: &str = "holder";
pub(super) const CREATED: &str = "created";
pub(super) const MODIFIED: &str = "modified";
pub(super) const SIZE: &str = "size";
pub(super) const EXTENSION: &str = "extension";
/// Names of the columns with the prints of the name and of the properties.
pub(super) const NAME_PRINT: &str = "name_print";
pub(super) const PROPERTIES_PRINT: &str = "properties_print";
/// Names of the columns with the numbers of words in the name, without its extension, and in the title.
pub(super) const NAME_WORDS: &str = "name_words";
pub(super) const TITLE_WORDS: &str = "title_words";
/// Names of the columns with the user who has a document checked out, and with the language of a text.
pub(super) const CHECKED_OUT_BY: &str = "checked_out_by";
pub(super) const LANGUAGE: &str = "language";
/// Names of the columns with the library of the values of a document, with the columns of these, and with their keys in
/// the same order.
pub(super) const LIBRARY: &str = "library";
pub(super) const VALUE_COLUMNS: &str = "value_columns";
pub(super) const VALUE_KEYS: &str = "value_keys";
/// Name of the column with the code of a fault.
pub(super) const FAULT: &str = "fault";

/// The fields of an entry.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub node: Field,
    pub version: Field,
    pub collection: Field,
    pub place: Field,
    pub audience: Field,
    pub author: Field,
    pub editor: Field,
    pub holder: Field,
    pub created: Field,
    pub modified: Field,
    pub size: Field,
    pub extension: Field,
    pub name_print: Field,
    pub properties_print: Field,
    pub name_words: Field,
    pub title_words: Field,
    /// Words of the name, of the text with its stated title and author, and of texts in columns.
    pub text: Field,
    /// The words of the name, of the title and of the author that the content states.
    pub name: Field,
    pub title: Field,
    pub stated_author: Field,
    /// The parts of the name.
    pub parts: Field,
    /// Long words backwards.
    pub ends: Field,
    pub checked_out_by: Field,
    pub language: Field,
    pub library: Field,
    pub value_columns: Field,
    pub value_keys: Field,
    /// The words of texts in columns, each with its column.
    pub values: Field,
    /// The beginning of the text, for passages, in the form of [`crate::index::kept_text`].
    pub body: Field,
    /// Code and words of the reason why there is no text.
    pub fault: Field,
    pub reason: Field,
}

pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let stems = TextFieldIndexing::default()
        .set_tokenizer(analyzer::STEMS)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let ends = TextFieldIndexing::default()
        .set_tokenizer(analyzer::ENDS)
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    let parts = TextFieldIndexing::default()
        .set_tokenizer(analyzer::PARTS)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions)
        .set_fieldnorms(false);
    let values = TextFieldIndexing::default()
        .set_tokenizer(analyzer::VALUES)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions)
        .set_fieldnorms(false);
    let words = |indexing| TextOptions::default().set_indexing_options(indexing);
    let positions = words(stems);
    let fields = Fields {
        node: builder.add_i64_field(NODE, INDEXED | FAST),
        version: builder.add_i64_field(VERSION, FAST),
        collection: builder.add_i64_field(COLLECTION, FAST),
        place: builder.add_i64_field(PLACE, FAST),
        audience: builder.add_u64_field(AUDIENCE, FAST),
        author: builder.add_i64_field(AUTHOR, FAST),
        editor: builder.add_i64_field(EDITOR, FAST),
        holder: builder.add_i64_field(HOLDER, FAST),
        created: builder.add_i64_field(CREATED, FAST),
        modified: builder.add_i64_field(MODIFIED, FAST),
        size: builder.add_u64_field(SIZE, FAST),
        extension: builder.add_text_field(EXTENSION, FAST),
        name_print: builder.add_u64_field(NAME_PRINT, FAST),
        properties_print: builder.add_u64_field(PROPERTIES_PRINT, FAST),
        name_words: builder.add_u64_field(NAME_WORDS, FAST),
        title_words: builder.add_u64_field(TITLE_WORDS, FAST),
        text: builder.add_text_field("text", positions.clone()),
        name: builder.add_text_field("name", positions.clone()),
        title: builder.add_text_field("title", positions.clone()),
        stated_author: builder.add_text_field("stated_author", positions),
        parts: builder.add_text_field("parts", words(parts)),
        ends: builder.add_text_field("ends", words(ends)),
        checked_out_by: builder.add_i64_field(CHECKED_OUT_BY, FAST),
        language: builder.add_u64_field(LANGUAGE, FAST),
        library: builder.add_i64_field(LIBRARY, FAST),
        value_columns: builder.add_i64_field(VALUE_COLUMNS, FAST),
        value_keys: builder.add_u64_field(VALUE_KEYS, FAST),
        values: builder.add_text_field("values", words(values)),
        body: builder.add_bytes_field("body", STORED),
        fault: builder.add_text_field(FAULT, FAST | STORED),
        reason: builder.add_text_field("reason", STORED),
    };
    (builder.build(), fields)
}
