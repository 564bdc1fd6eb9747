//! The entries of the search index for a document.

use std::panic::AssertUnwindSafe;

use database::content::node::{self, NodeRow};
use database::content::{feed, record, version};
use database::{Database, Reader};
use futures_util::FutureExt;
use model::{Code, ColumnValue, Error, ErrorKind, Id, MAX_DEPTH, Result, is_application_file};
use repository::indexed_versions;
use search::index::{Audience, Entry, EntryKind, Fault};
use search::programs::ReadDocument;
use search::readers::DocumentText;

use super::text::{FoundText, ReadPass, TextReader};

/// Place and versions of a document to index, without its texts.
struct DocumentSnapshot {
    place: Id,
    /// Values in columns of the library.
    values: Vec<(Id, ColumnValue)>,
    versions: Vec<(repository::IndexedVersion, version::VersionRow)>,
}

/// The index entries of a document.
pub(super) struct DocumentEntries {
    /// One for each version that callers see; none for application files and for documents in recycle bins.
    pub entries: Vec<Entry>,
    /// False if a text could not be read because a store or a child process did not answer in time.
    pub is_whole: bool,
    /// True if text in pictures is still to be recognised.
    pub awaits_recognition: bool,
    /// True if only the beginning of a text was read.
    pub is_cut: bool,
}

impl DocumentEntries {
    /// Entries of a document that nobody finds.
    pub(super) const NONE: Self =
        Self { entries: Vec::new(), is_whole: true, awaits_recognition: false, is_cut: false };
}

/// Returns the index entries of a document; `None` if its rows are damaged, so that the entries that it has stay. One
/// whose text makes the program panic is found by its name.
///
/// # Errors
/// Those of the database, without `Corrupt`; `Unavailable` while the server stops.
pub(super) async fn read_entries(
    reader: &TextReader,
    document: NodeRow,
    pass: ReadPass,
) -> Result<Option<DocumentEntries>> {
    let id = document.id.get();
    let mut read = AssertUnwindSafe(entries(reader, document.clone(), Some(pass))).catch_unwind().await;
    if read.is_err() {
        tracing::error!(document = id, "the text of a document could not be read, because of a fault in the program");
        read = AssertUnwindSafe(entries(reader, document, None)).catch_unwind().await;
    }
    match read {
        Ok(Err(error)) if error.kind() == ErrorKind::Corrupt => {
            metrics::counter!("strongroom_search_index_failures_total").increment(1);
            tracing::warn!(document = id, error = error.report(), "a document cannot be indexed, its rows are damaged");
            Ok(None)
        }
        Ok(read) => read.map(Some),
        Err(_) => {
            metrics::counter!("strongroom_search_index_failures_total").increment(1);
            tracing::error!(document = id, "a document cannot be indexed, because of a fault in the program");
            Ok(None)
        }
    }
}

/// Returns the index entries of a document. Without a pass, its text is not read.
async fn entries(reader: &TextReader, document: NodeRow, pass: Option<ReadPass>) -> Result<DocumentEntries> {
    if is_application_file(&document.name) {
        return Ok(DocumentEntries::NONE);
    }
    let snapshot = snapshot(&reader.database().database, &document).await?;
    let mut all = DocumentEntries { entries: Vec::with_capacity(snapshot.versions.len()), ..DocumentEntries::NONE };
    for (indexed, version) in snapshot.versions {
        let read = match pass {
            Some(pass) => reader.text(&document.name, &version, pass).await,
            None => {
                let failed = Error::invalid("reading it failed, because of a fault in the program");
                Ok(FoundText::Fault(failed.with_code(Code::ReaderFailed)))
            }
        };
        let (text, fault) = match read {
            Ok(FoundText::Text(ReadDocument { text, fault: error, awaits_recognition })) => {
                all.awaits_recognition |= awaits_recognition;
                let waits = awaits_recognition.then(|| Fault::waiting(Fault::WAITS_FOR_RECOGNITION));
                (text, error.as_ref().map(fault).or(waits))
            }
            Ok(FoundText::None) => (DocumentText::default(), None),
            Ok(FoundText::Fault(error)) => (DocumentText::default(), Some(fault(&error))),
            // What was read of it before stays in the index.
            Err(error) if reader.is_stopping() => return Err(error),
            Err(error) => {
                all.is_whole = false;
                tracing::debug!(
                    document = document.id.get(),
                    error = error.report(),
                    "the text of a document cannot be read at the moment"
                );
                (DocumentText::default(), Some(Fault::waiting(Fault::WAITS_FOR_TEXT)))
            }
        };
        all.is_cut |= text.is_cut;
        // An older version has the properties that it had itself.
        let is_latest = matches!(indexed.audience, Audience::All | Audience::Draft);
        let (editor, modified) = match is_latest {
            true => (document.modified_by, document.modified_at),
            false => (version.created_by, version.modified_at),
        };
        all.entries.push(Entry {
            kind: EntryKind::Document,
            node: document.id,
            version: version.id,
            collection: document.collection_id,
            place: snapshot.place,
            audience: indexed.audience,
            author: document.created_by,
            editor,
            holder: indexed.holder,
            checked_out_by: document.holder_id.unwrap_or(Id::NONE),
            created: document.created_at,
            modified,
            size: model::unsigned(version.size),
            name: document.name.clone(),
            text: joined(&text),
            library: document.library_id,
            values: snapshot.values.clone(),
            title: text.title,
            stated_author: text.author,
            fault,
        });
    }
    Ok(all)
}

/// Returns the text with the title and the author before it, by which documents are found too.
fn joined(text: &DocumentText) -> String {
    let parts = [text.title.as_str(), &text.author, &text.text];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn fault(error: &Error) -> Fault {
    Fault { code: error.code().as_str().to_owned(), reason: error.message().to_owned() }
}

async fn snapshot(database: &Database, document: &NodeRow) -> Result<DocumentSnapshot> {
    let (document, indexed) = (document.clone(), indexed_versions(document));
    let (id, parent, library) = (document.id, document.parent_id, document.library_id);
    let read = move |reader: &mut Reader<'_>| {
        if !is_reachable(reader, parent)? {
            return Ok(DocumentSnapshot { place: parent, values: Vec::new(), versions: Vec::new() });
        }
        let place = feed::places_of(reader, std::slice::from_ref(&document))?.remove(&id).unwrap_or(parent);
        // Values in columns of another library, which a document brought along, are hidden.
        let values = record::each_value_of_many(reader, &[id], library)?;
        let values = values.into_iter().map(|(_, column, value)| (column, value)).collect();
        let mut versions = Vec::with_capacity(indexed.len());
        for indexed in indexed {
            // A version that is gone was replaced meanwhile; its event is yet to come.
            if let Some(row) = version::find(reader, indexed.version)? {
                versions.push((indexed, row));
            }
        }
        Ok(DocumentSnapshot { place, values, versions })
    };
    database.read(read).await
}

/// Returns whether a container and everything above it is in no recycle bin. Items in a bin may be deleted for
/// good without a further event.
pub(super) fn is_reachable(reader: &mut Reader<'_>, container: Id) -> Result<bool> {
    let mut next = container;
    for _ in 0..=MAX_DEPTH {
        match node::find(reader, next)? {
            Some(row) if row.parent_id.is_none() => return Ok(true),
            Some(row) => next = row.parent_id,
            None => return Ok(false),
        }
    }
    Ok(false)
}
