//! The only writer of an index.

use std::sync::Arc;

use model::{ColumnValue, Id, Result, fold};
use tantivy::indexer::IndexWriterOptions;
use tantivy::merge_policy::LogMergePolicy;
use tantivy::{TantivyDocument, Term};

use super::analyzer::marked_value;
use super::error::index_failed;
use super::files::OpenNote;
use super::index::LocalIndex;
use super::schema::Fields;
use crate::index::checkpoint::Checkpoint;
use crate::index::entry::{Entry, name_print};
use crate::index::kept_text::TextPacker;
use crate::language::text_languages::TextLanguages;
use crate::language::words::Words;
use crate::query::value_key;

/// Memory for entries that are not written yet, in bytes. With the least that tantivy accepts, 15 MB, there are
/// more segments, and merging them takes a fifth more processor time in a full crawl.
const MEMORY: usize = 40_000_000;

/// Number of segments of about the same size that are merged. With fewer segments a search opens fewer lists of words,
/// and merging takes more of a crawl.
const MERGED: usize = 4;

/// Share of replaced entries from which a segment is written anew, so that their texts leave the disk.
const MAX_DELETED: f32 = 0.2;

/// Replaces entries of documents. Changes become visible on commit, together with the checkpoint.
pub struct LocalWriter {
    index: Arc<LocalIndex>,
    writer: tantivy::IndexWriter,
    texts: TextPacker,
    // Dropped after the writer.
    _note: OpenNote,
}

impl LocalWriter {
    /// Opens the only writer of an index. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if there is one already, in this process or another.
    pub fn open(index: Arc<LocalIndex>) -> Result<Self> {
        // One merge at a time: several would need memory each, and compete for the same disk.
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(MEMORY)
            .num_merge_threads(1)
            .build();
        let writer = index.index.writer_with_options(options).map_err(index_failed)?;
        let mut merges = LogMergePolicy::default();
        merges.set_min_num_segments(MERGED);
        merges.set_del_docs_ratio_before_merge(MAX_DELETED);
        writer.set_merge_policy(Box::new(merges));
        // Files of segments that were not finished may have filled the disk.
        writer.garbage_collect_files().wait().map_err(index_failed)?;
        let note = OpenNote::of(&index.directory);
        Ok(Self { index, writer, texts: TextPacker::new()?, _note: note })
    }

    /// Replaces all entries of a document; without new ones, it is not found any more.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` if the index cannot be written. Discard the writer after an error.
    pub fn replace(&mut self, node: Id, entries: &[Entry]) -> Result<()> {
        let fields = self.index.fields;
        self.writer.delete_term(Term::from_field_i64(fields.node, node.get()));
        for entry in entries {
            let mut document = TantivyDocument::new();
            document.add_i64(fields.node, entry.node.get());
            document.add_i64(fields.version, entry.version.get());
            document.add_i64(fields.collection, entry.collection.get());
            document.add_i64(fields.place, entry.place.get());
            document.add_u64(fields.audience, entry.audience.number());
            document.add_i64(fields.author, entry.author.get());
            document.add_i64(fields.editor, entry.editor.get());
            document.add_i64(fields.holder, entry.holder.get());
            document.add_i64(fields.created, entry.created.micros());
            document.add_i64(fields.modified, entry.modified.micros());
            document.add_u64(fields.size, entry.size);
            document.add_u64(fields.name_print, name_print(&entry.name));
            document.add_u64(fields.properties_print, entry.properties_print());
            let (stem, extension) = entry.stem_and_extension();
            if let Some(extension) = extension {
                document.add_text(fields.extension, extension);
            }
            document.add_u64(fields.name_words, Words::of(stem).count() as u64);
            document.add_u64(fields.title_words, Words::of(&entry.title).count() as u64);
            for text in entry.texts() {
                document.add_text(fields.text, text);
                document.add_text(fields.ends, text);
            }
            document.add_text(fields.parts, fold(&entry.name));
            document.add_text(fields.name, &entry.name);
            document.add_text(fields.title, &entry.title);
            document.add_text(fields.stated_author, &entry.stated_author);
            document.add_bytes(fields.body, &self.texts.pack(&entry.text)?);
            if !entry.checked_out_by.is_none() {
                document.add_i64(fields.checked_out_by, entry.checked_out_by.get());
            }
            if let Some(language) = TextLanguages::of(&entry.text).main() {
                document.add_u64(fields.language, language.number());
            }
            add_values(&mut document, fields, entry);
            if let Some(fault) = &entry.fault {
                document.add_text(fields.fault, &fault.code);
                document.add_text(fields.reason, &fault.reason);
            }
            self.writer.add_document(document).map_err(index_failed)?;
        }
        Ok(())
    }

    /// Commits what was replaced, with the checkpoint; on disk when it returns. Views taken from now on show it.
    /// Blocks.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` if the index cannot be written. The last commit stays as it is.
    pub fn commit(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let payload = serde_json::to_string(checkpoint)
            .map_err(|error| model::Error::corrupt("a checkpoint cannot be written").with_source(error))?;
        let mut prepared = self.writer.prepare_commit().map_err(index_failed)?;
        prepared.set_payload(&payload);
        prepared.commit().map_err(index_failed)?;
        self.index.reload()
    }

    /// Ends the writer after the merges that it has begun. Blocks.
    ///
    /// # Errors
    /// Those of a merge. The last commit stays as it is.
    pub fn close(self) -> Result<()> {
        let Self { writer, _note, .. } = self;
        writer.wait_merging_threads().map_err(index_failed)
    }
}

/// Adds the values of columns.
fn add_values(document: &mut TantivyDocument, fields: Fields, entry: &Entry) {
    if !entry.values.is_empty() {
        document.add_i64(fields.library, entry.library.get());
    }
    for (column, value) in &entry.values {
        document.add_i64(fields.value_columns, column.get());
        document.add_u64(fields.value_keys, value_key(value));
        if let ColumnValue::Text(text) = value {
            document.add_text(fields.values, marked_value(*column, text));
        }
    }
}
