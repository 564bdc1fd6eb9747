//! Tests of the hourly clean-up, on both engines: the data it removes and the data it keeps.

#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::time::Duration;

use crate::support::{at, each_farm, put};
use database::content::node::{self, NodeRow};
use database::content::scope::{self, GrantRow};
use database::content::{collection, tree};
use database::{Database, Schema, Sql, Transaction, params};
use model::{
    ErrorKind, Id, LibrarySettings, Name, NodeKind, Principal, Result, Role, SitePath, StoreState, Timestamp,
    VersionNumber,
};
use repository::{Bin, CleanedUp, NewLock, NewStore, PolicyChange, PolicyTarget};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_deleted_long_ago_goes_for_good_and_gives_its_bytes_back() {
    each_farm(async |farm| {
        let session = farm.administrator().await;
        put(&session, "Documents/folder/one.txt", "one").await.unwrap();
        put(&session, "Documents/kept.txt", "kept").await.unwrap();
        let collection = session.item(&at("Documents")).await.unwrap().collection_id;
        session.delete(&at("Documents/folder")).await.unwrap();

        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!(session.clean_up(day).await.unwrap().recycled, 0);
        assert_eq!(session.recycled(collection, Bin::Site, None, 10).await.unwrap().items.len(), 1);
        assert_eq!(session.clean_up(Duration::ZERO).await.unwrap().recycled, 1);
        assert!(session.recycled(collection, Bin::Site, None, 10).await.unwrap().items.is_empty());
        let site = session.site_collection(collection).await.unwrap();
        let usage = site.usage.unwrap();
        assert_eq!((usage.documents, usage.used_bytes), (1, 4));
        assert_eq!(session.clean_up(Duration::ZERO).await.unwrap(), CleanedUp::default());

        let (_, somebody) = farm.person("somebody").await;
        assert_eq!(somebody.clean_up(Duration::ZERO).await.unwrap_err().kind(), ErrorKind::Forbidden);
    })
    .await;
}

fn site(id: Id, parent: Id, at: Timestamp) -> NodeRow {
    NodeRow {
        id,
        collection_id: id,
        parent_id: parent,
        library_id: Id::NONE,
        scope_id: Id::new(id.get() + 1),
        kind: NodeKind::Site,
        name: "cut".to_owned(),
        folded: id.to_string(),
        created_at: at,
        created_by: Id::NONE,
        modified_at: at,
        modified_by: Id::NONE,
        content_type_id: None,
        size: 0,
        media_type: String::new(),
        version_id: None,
        published_id: None,
        number: VersionNumber::new(0, 0),
        holder_id: None,
        held_at: None,
        working_id: None,
        title: None,
    }
}

/// Creates the rows that remain in the content database when a creation is interrupted before the farm's map names the
/// site collection.
fn cut_creation(transaction: &mut Transaction<'_>, id: Id, at: Timestamp) -> Result<()> {
    let row = site(id, Id::NONE, at);
    collection::insert(transaction, id, "cut", at)?;
    scope::insert(transaction, row.scope_id, id, id)?;
    let (principal_id, role_id) = (Principal::EVERYONE, Role::FULL_CONTROL);
    let (granted_at, granted_by, expires_at) = (at, Id::NONE, None);
    scope::grant(transaction, row.scope_id, &GrantRow { principal_id, role_id, granted_at, granted_by, expires_at })?;
    node::insert(transaction, &row)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cut_creation_of_a_site_collection_left_goes_and_nothing_else() {
    each_farm(async |farm| {
        let session = farm.administrator().await;
        let listed =
            session.create_site_collection(&SitePath::parse("kept").unwrap(), "Kept", None, None).await.unwrap();
        let content = Database::open(&farm.content.location, Schema::Content, &database::Options::default()).await;
        let content = content.unwrap();
        // Until a process has run for hours, an age of two weeks may be due to a step of its clock.
        let (now, day) = (Timestamp::now(), Duration::from_secs(24 * 60 * 60));
        let long = 20 * day;
        let [cut, fresh, full] = [1_000, 2_000, 3_000].map(Id::new);
        let prepare = move |transaction: &mut Transaction<'_>| {
            cut_creation(transaction, cut, now.before(long))?;
            // The creation of `fresh` may still be in progress, and `full` has contents, so both stay although the map
            // does not name them.
            cut_creation(transaction, fresh, now.before(day))?;
            cut_creation(transaction, full, now.before(long))?;
            let below = NodeRow { id: Id::new(3_500), ..site(full, full, now) };
            node::insert(transaction, &below)?;
            // As empty and as old as the interrupted one, but named by the map.
            let age = Sql::new("UPDATE collection SET created_at = $1 WHERE id = $2");
            transaction.execute(age, &params![now.before(long), listed]).map(drop)
        };
        content.write(prepare).await.unwrap();

        assert_eq!(session.clean_up(day).await.unwrap(), CleanedUp { unlisted: 1, ..CleanedUp::default() });
        assert_eq!(session.clean_up(day).await.unwrap(), CleanedUp::default());
        let left = content.read(move |reader| {
            let ids = collection::created_before(reader, now.after(day))?;
            Ok((
                ids,
                tree::subtree(reader, cut)?.len(),
                scope::of_node(reader, cut)?.is_none(),
                tree::subtree(reader, full)?.len(),
            ))
        });
        let (mut ids, nodes, unscoped, kept) = left.await.unwrap();
        ids.retain(|id| [cut, fresh, full, listed].contains(id));
        assert_eq!((ids, nodes, unscoped, kept), (vec![fresh, full, listed], 0, true, 2));
        session.site_collection(listed).await.unwrap();
        content.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policy_of_a_library_goes_with_it_and_not_before() {
    each_farm(async |farm| {
        let session = farm.administrator().await;
        let place = farm.directory.path().join("passing").display().to_string();
        let new = NewStore { name: "passing".into(), kind: "directory".into(), location: place, ..NewStore::default() };
        session.add_store(new).await.unwrap();
        let collection = session.item(&at("Documents")).await.unwrap().collection_id;
        let close = async || session.set_store_state("passing", StoreState::ReadOnly).await;
        let delete = async |name: &str| {
            session.create_library(&at(""), &Name::new(name).unwrap(), LibrarySettings::default()).await.unwrap();
            let change = PolicyChange { active_store: Some("passing".to_owned()), ..PolicyChange::default() };
            session.set_storage_policy(&PolicyTarget::Library(at(name)), change).await.unwrap();
            session.delete(&at(name)).await.unwrap()
        };

        let entry = delete("Papers").await;
        session.clean_up(Duration::from_secs(24 * 60 * 60)).await.unwrap();
        assert_eq!(close().await.unwrap_err().code(), "store_in_use", "the library can still be restored");
        session.restore(collection, entry).await.unwrap();
        let policy = session.storage_policy(&PolicyTarget::Library(at("Papers"))).await.unwrap();
        assert_eq!(policy.own.active_store.as_deref(), Some("passing"));
        session.delete(&at("Papers")).await.unwrap();
        assert_eq!(session.clean_up(Duration::ZERO).await.unwrap().recycled, 1);
        close().await.unwrap();

        // Without a clean-up in between, the removal of a store finds out by itself.
        session.set_store_state("passing", StoreState::Active).await.unwrap();
        let entry = delete("Drafts").await;
        session.purge(collection, entry, Bin::Site).await.unwrap();
        close().await.unwrap();
        session.remove_store("passing", false).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_library_that_cannot_be_looked_for_keeps_its_policy() {
    let farm = crate::support::Farm::new(database::Engine::Sqlite).await;
    let session = farm.administrator().await;
    session.create_content_database("second", None).await.unwrap();
    let new = NewStore {
        name: "passing".into(),
        kind: "directory".into(),
        location: "passing".into(),
        ..NewStore::default()
    };
    session.add_store(new).await.unwrap();
    session.create_site_collection(&SitePath::parse("second").unwrap(), "Second", Some("second"), None).await.unwrap();
    session.create_library(&at("second"), &Name::new("Papers").unwrap(), LibrarySettings::default()).await.unwrap();
    let papers = PolicyTarget::Library(at("second/Papers"));
    let change = PolicyChange { active_store: Some("passing".to_owned()), ..PolicyChange::default() };
    session.set_storage_policy(&papers, change).await.unwrap();
    let location = database::Location::Sqlite(farm.directory.path().join("databases/second.sqlite"));
    let second = Database::open(&location, Schema::Content, &database::Options::default()).await.unwrap();
    for rename in ["ALTER TABLE node RENAME TO elsewhere", "ALTER TABLE elsewhere RENAME TO node"] {
        let rename = move |transaction: &mut Transaction<'_>| transaction.execute(Sql::new(rename), &[]).map(drop);
        second.write(rename).await.unwrap();
        let refused = session.set_store_state("passing", StoreState::ReadOnly).await.unwrap_err();
        assert_eq!(refused.code(), "store_in_use", "{refused}");
    }
    second.close().await;
    let policy = session.storage_policy(&papers).await.unwrap();
    assert_eq!(policy.own.active_store.as_deref(), Some("passing"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_fails_keeps_none_of_the_others_waiting() {
    let farm = crate::support::Farm::new(database::Engine::Sqlite).await;
    let session = farm.administrator().await;
    session.create_content_database("second", None).await.unwrap();
    let path = SitePath::parse("second").unwrap();
    let second = session.create_site_collection(&path, "Second", Some("second"), None).await.unwrap();
    session.create_library(&at("second"), &Name::new("Papers").unwrap(), LibrarySettings::default()).await.unwrap();
    put(&session, "second/Papers/a.txt", "a").await.unwrap();
    session.delete(&at("second/Papers/a.txt")).await.unwrap();
    let first = Database::open(&farm.content.location, Schema::Content, &database::Options::default()).await.unwrap();
    let rename = |transaction: &mut Transaction<'_>| {
        transaction.execute(Sql::new("ALTER TABLE recycled RENAME TO elsewhere"), &[]).map(drop)
    };
    first.write(rename).await.unwrap();
    session.clean_up(Duration::ZERO).await.unwrap_err();
    let left = session.recycled(second, Bin::Site, None, 10).await.unwrap().items;
    assert!(left.is_empty(), "the second database is cleaned up all the same: {left:?}");
    first.close().await;
}

/// Moves the end of all locks by `seconds`; negative values move it into the past.
async fn move_ends(content: &Database, seconds: i64) {
    let shift = move |transaction: &mut Transaction<'_>| {
        let shift = Sql::new("UPDATE item_lock SET expires_at = expires_at + $1");
        transaction.execute(shift, &params![seconds * 1_000_000]).map(drop)
    };
    content.write(shift).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_locks_that_have_ended_only_the_last_are_kept() {
    each_farm(async |farm| {
        let session = farm.administrator().await;
        let (document, other) = (at("Documents/a.txt"), at("Documents/b.txt"));
        for path in ["Documents/a.txt", "Documents/b.txt"] {
            put(&session, path, "one").await.unwrap();
        }
        let content = Database::open(&farm.content.location, Schema::Content, &database::Options::default()).await;
        let content = content.unwrap();
        let wish = |exclusive| NewLock { exclusive, deep: false, owner: String::new(), seconds: 0 };
        let count = async || {
            let count = Sql::new("SELECT COUNT(*) FROM item_lock");
            content.read(move |reader| reader.find(count, &params![], |row| row.get::<i64>(0))).await.unwrap()
        };
        session.lock(&other, wish(true)).await.unwrap();
        for _ in 0..60 {
            let given = session.lock(&document, wish(true)).await.unwrap();
            assert_eq!(session.locks(&document).await.unwrap(), std::slice::from_ref(&given), "what ended is not told");
            assert!(given.expires_at >= given.created_at.after(Duration::from_secs(30)), "{given:?}");
            move_ends(&content, -100).await;
        }
        let kept = count().await.unwrap();
        assert!((2..=22).contains(&kept), "{kept} locks are kept");
        // If the clock was ahead and is set back, the ended locks are valid again.
        move_ends(&content, 10_000).await;
        for target in [&document, &other] {
            assert!(!session.locks(target).await.unwrap().is_empty());
        }
        assert_eq!(session.lock(&document, wish(true)).await.unwrap_err().code(), "item_locked");

        // A site collection full of locks has room again once some have ended.
        let fill = |transaction: &mut Transaction<'_>| {
            let fill = "INSERT INTO item_lock (token, collection_id, node_id, owner_id, owner, exclusive, deep, \
                created_at, expires_at) \
                WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 50000) \
                SELECT 'n' || n, l.collection_id, l.node_id, l.owner_id, '', l.exclusive, l.deep, 0, n FROM n, \
                (SELECT * FROM item_lock ORDER BY token LIMIT 1) l";
            transaction.execute(Sql::new(fill), &[]).map(drop)
        };
        content.write(fill).await.unwrap();
        put(&session, "Documents/c.txt", "one").await.unwrap();
        session.lock(&at("Documents/c.txt"), wish(true)).await.unwrap();
        let left = count().await.unwrap();
        assert!(left <= 50_000, "{left} locks are left");

        // One user's locks take no room from other users.
        let many = |transaction: &mut Transaction<'_>| {
            let many = "UPDATE item_lock SET expires_at = 4000000000000000 WHERE token IN \
                (SELECT token FROM item_lock ORDER BY token LIMIT 2000)";
            transaction.execute(Sql::new(many), &[]).map(drop)
        };
        content.write(many).await.unwrap();
        put(&session, "Documents/d.txt", "one").await.unwrap();
        assert_eq!(session.lock(&at("Documents/d.txt"), wish(true)).await.unwrap_err().code(), "too_many");
        let (id, other) = farm.person("other").await;
        session.grant(&at(""), id, Role::CONTRIBUTE).await.unwrap();
        other.lock(&at("Documents/d.txt"), wish(true)).await.unwrap();
        content.close().await;
    })
    .await;
}
