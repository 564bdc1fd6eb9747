//! The entries of the search index for a document.

use database::content::node::NodeRow;
use database::content::{scope, version};
use database::{Database, Reader};
use model::{Id, Result, is_application_file};
use repository::{Storage, StorageDatabase, indexed_faces};
use search::index::Entry;

use super::text::TextReader;

/// What is to be indexed of a document, without its texts.
struct Outline {
    place: Id,
    versions: Vec<(repository::IndexedFace, version::VersionRow)>,
}

/// Returns the entries of a document; none if it is gone, or if nobody is to find it.
///
/// # Errors
/// `Unavailable` when the database or a store does not answer. A text that is missing, damaged or cannot be read is
/// left out.
pub(super) async fn entries(
    storage: &Storage,
    database: &StorageDatabase,
    reader: &TextReader,
    document: NodeRow,
) -> Result<Vec<Entry>> {
    if is_application_file(&document.name) {
        return Ok(Vec::new());
    }
    let outline = outline(&database.database, &document).await?;
    let mut entries = Vec::with_capacity(outline.versions.len());
    for (face, version) in outline.versions {
        let text = reader.text(storage, database, &document.name, &version).await?;
        entries.push(Entry {
            node: document.id,
            version: version.id,
            collection: document.collection_id,
            place: outline.place,
            face: face.face,
            author: document.created_by,
            holder: face.holder,
            modified: document.modified_at,
            name: document.name.clone(),
            text,
        });
    }
    Ok(entries)
}

async fn outline(database: &Database, document: &NodeRow) -> Result<Outline> {
    let (id, parent, faces) = (document.id, document.parent_id, indexed_faces(document));
    let read = move |reader: &mut Reader<'_>| {
        let place = if scope::of_node(reader, id)?.is_some() { id } else { parent };
        let mut versions = Vec::with_capacity(faces.len());
        for face in faces {
            // A version that is gone was replaced meanwhile; its event is yet to come.
            if let Some(row) = version::find(reader, face.version)? {
                versions.push((face, row));
            }
        }
        Ok(Outline { place, versions })
    };
    database.read(read).await
}
