//! Searches while the index lags behind the database: it stays as it was committed once, and documents that were moved,
//! renamed, replaced, deleted or given permissions of their own since are judged as they are now.

#![expect(clippy::unwrap_used, reason = "a farm that cannot be had fails the test")]

mod support;

use std::sync::Arc;

use database::Reader;
use database::content::{event, feed};
use model::{Id, LibrarySettings, Name, Right, Versioning};
use repository::{FindRequest, Found, Item, Session, TextSearch};
use search::index::{Checkpoint, Entry, FORMAT, Face, FollowedEvent, IndexWriter, SearchIndex};
use support::{Farm, at, each_farm, put, with_rights};

/// Makes an index of these documents, whose texts consist of their paths, and takes it into use.
async fn freeze(farm: &Farm, paths: &[&str]) -> tempfile::TempDir {
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
        node: item.id,
        version: item.version_id.unwrap(),
        collection: item.collection_id,
        place: item.parent_id,
        face: Face::All,
        author: item.created_by,
        editor: item.modified_by,
        holder: Id::NONE,
        created: item.created_at,
        modified: item.modified_at,
        size: item.size,
        name: item.name.clone(),
        title: String::new(),
        stated_author: String::new(),
        text: item.path.replace('/', " "),
        fault: None,
    }
}

async fn find(session: &Session, text: &str) -> Found {
    let text = text.to_owned();
    session.find(&FindRequest { text, limit: 50, counts_facets: true, ..FindRequest::default() }).await.unwrap()
}

/// The paths of what is found, and the number of documents.
async fn found(session: &Session, text: &str) -> (Vec<String>, u64) {
    let found = find(session, text).await;
    assert_eq!(found.texts, TextSearch::Complete);
    let mut paths: Vec<String> = found.items.into_iter().map(|found| found.item.path).collect();
    paths.sort();
    (paths, found.documents)
}

fn some(paths: &[&str]) -> (Vec<String>, u64) {
    (paths.iter().map(|path| (*path).to_owned()).collect(), paths.len() as u64)
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_documents_are_judged_as_they_are_now() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let all = ["Documents/a/one.txt", "Documents/a/two.txt", "Documents/b/three.txt", "Documents/b/four.txt"];
        for path in all {
            put(&admin, path, "x").await.unwrap();
        }
        let place = freeze(&farm, &all).await;
        let mut sorted = all;
        sorted.sort_unstable();
        assert_eq!(found(&admin, "documents -nothing").await, some(&sorted));
        admin.move_to(&at("Documents/a/one.txt"), &at("Documents/b"), None).await.unwrap();
        assert_eq!(found(&admin, "in:Documents/b *").await.1, 3);
        assert_eq!(found(&admin, "in:Documents/a *").await, some(&["Documents/a/two.txt"]));
        // With another name, it is found by that name, once the index has followed.
        let name = Name::new("deux.txt").unwrap();
        admin.move_to(&at("Documents/a/two.txt"), &at("Documents/b"), Some(&name)).await.unwrap();
        assert_eq!(found(&admin, "two AND documents").await, some(&[]));
        admin.rename(&at("Documents/b/three.txt"), &Name::new("drei.txt").unwrap()).await.unwrap();
        assert_eq!(found(&admin, "three AND documents").await, some(&[]));
        put(&admin, "Documents/b/four.txt", "replaced").await.unwrap();
        assert_eq!(found(&admin, "four AND documents").await, some(&[]));
        admin.delete(&at("Documents/b/one.txt")).await.unwrap();
        assert_eq!(found(&admin, "documents -nothing").await, some(&[]));
        drop(place);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_hidden_since_is_neither_found_nor_counted() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let all = ["Documents/open/one.txt", "Documents/open/two.txt", "Documents/secret/three.txt"];
        for path in all {
            put(&admin, path, "x").await.unwrap();
        }
        admin.break_inheritance(&at("Documents/open"), false).await.unwrap();
        admin.break_inheritance(&at("Documents/secret"), false).await.unwrap();
        let (_, reader) = with_rights(&farm, "rita", "Documents/open", &[Right::View]).await;
        let place = freeze(&farm, &all).await;
        assert_eq!(found(&reader, "type:txt").await, some(&["Documents/open/one.txt", "Documents/open/two.txt"]));
        admin.move_to(&at("Documents/open/one.txt"), &at("Documents/secret"), None).await.unwrap();
        assert_eq!(found(&reader, "type:txt").await, some(&["Documents/open/two.txt"]));
        assert_eq!(find(&reader, "type:txt").await.facets.extensions, [("txt".to_owned(), 1)]);
        admin.break_inheritance(&at("Documents/open/two.txt"), false).await.unwrap();
        assert_eq!(found(&reader, "type:txt").await, some(&[]));
        admin.move_to(&at("Documents/secret/three.txt"), &at("Documents/open"), None).await.unwrap();
        assert_eq!(found(&reader, "type:txt").await, some(&["Documents/open/three.txt"]));
        // Drafts are not for readers.
        let settings = LibrarySettings { versioning: Versioning::MajorMinor, ..LibrarySettings::default() };
        admin.change_library(&at("Documents"), settings).await.unwrap();
        put(&admin, "Documents/open/three.txt", "a draft").await.unwrap();
        assert_eq!(found(&reader, "type:txt").await.1, 0);
        drop(place);
    })
    .await;
}
