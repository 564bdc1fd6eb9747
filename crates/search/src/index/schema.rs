//! The fields of the index.

use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::{Compressor, ZstdCompressor};

use super::analyzer;

/// Names of the fields that decide who may find an entry, and of those that a hit is made of.
pub(super) const NODE: &str = "node";
pub(super) const VERSION: &str = "version";
pub(super) const COLLECTION: &str = "collection";
pub(super) const PLACE: &str = "place";
pub(super) const FACE: &str = "face";
pub(super) const AUTHOR: &str = "author";
pub(super) const HOLDER: &str = "holder";
pub(super) const MODIFIED: &str = "modified";
/// Name of the field with the code of a fault.
pub(super) const FAULT: &str = "fault";

/// The fields of an entry.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub node: Field,
    pub version: Field,
    pub collection: Field,
    pub place: Field,
    pub face: Field,
    pub author: Field,
    pub holder: Field,
    pub modified: Field,
    /// The words of name and text.
    pub text: Field,
    /// The name as it is, by which a renamed document is noticed.
    pub name: Field,
    /// The text as it is, for passages.
    pub body: Field,
    /// Code and words of the reason why there is no text.
    pub fault: Field,
    pub reason: Field,
}

pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer(analyzer::NAME)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let fields = Fields {
        node: builder.add_i64_field(NODE, INDEXED | FAST),
        version: builder.add_i64_field(VERSION, FAST),
        collection: builder.add_i64_field(COLLECTION, FAST),
        place: builder.add_i64_field(PLACE, FAST),
        face: builder.add_u64_field(FACE, FAST),
        author: builder.add_i64_field(AUTHOR, FAST),
        holder: builder.add_i64_field(HOLDER, FAST),
        modified: builder.add_i64_field(MODIFIED, FAST),
        text: builder.add_text_field("text", TextOptions::default().set_indexing_options(words)),
        name: builder.add_text_field("name", STORED),
        body: builder.add_text_field("body", STORED),
        fault: builder.add_text_field(FAULT, FAST | STORED),
        reason: builder.add_text_field("reason", STORED),
    };
    (builder.build(), fields)
}

/// Compression of the stored texts.
pub(super) fn compression() -> Compressor {
    Compressor::Zstd(ZstdCompressor { compression_level: Some(3) })
}
