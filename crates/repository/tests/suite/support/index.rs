//! An index that stays as it was committed once.

use std::sync::Arc;

use database::Reader;
use database::content::{event, feed};
use model::Id;
use repository::Item;
use search::index::{Audience, Checkpoint, Entry, EntryKind, FORMAT, Fault, FollowedEvent, IndexWriter, SearchIndex};

use super::{Farm, at};

/// Makes an index of these documents, whose texts consist of their paths, and takes it into use. Those whose names
/// begin with "waiting" are still to be read.
pub async fn freeze(farm: &Farm, paths: &[&str]) -> tempfile::TempDir {
    let (admin, place) = (farm.administrator().await, tempfile::tempdir().unwrap());
    let database = admin.storage().await.unwrap().databases().unwrap().remove(0);
    let read = |reader: &mut Reader<'_>| {
        let last = event::last(reader)?;
        Ok((last, feed::at(reader, &[last])?.remove(0)))
    };
    let (sequence, newest) = database.database.read(read).await.unwrap();
    let index = Arc::new(SearchIndex::open(place.path()).unwrap());
    let mut writer = IndexWriter::open(index.clone()).unwrap();
    for path in paths {
        let item = admin.item(&at(path)).await.unwrap();
        writer.replace(item.id, &[entry(&item)]).unwrap();
    }
    let newest = Some(FollowedEvent { sequence, at: newest.at.micros(), node: newest.node_id.get() });
    writer.commit(&Checkpoint { format: FORMAT, sequence, newest, ..Checkpoint::default() }).unwrap();
    writer.close().unwrap();
    farm.repository.use_search_index(database.id, Some(index));
    place
}

fn entry(item: &Item) -> Entry {
    Entry {
        kind: EntryKind::Document,
        node: item.id,
        version: item.version_id.unwrap(),
        collection: item.collection_id,
        place: item.parent_id,
        audience: Audience::All,
        author: item.created_by,
        editor: item.modified_by,
        holder: Id::NONE,
        checked_out_by: Id::NONE,
        created: item.created_at,
        modified: item.modified_at,
        size: item.size,
        name: item.name.clone(),
        title: String::new(),
        stated_author: String::new(),
        text: item.path.replace('/', " "),
        library: item.library_id,
        values: Vec::new(),
        fault: item.name.starts_with("waiting").then(|| Fault::waiting(Fault::WAITS_FOR_TEXT)),
    }
}
