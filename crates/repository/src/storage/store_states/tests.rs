//! Removals that conflict with other processes.

use database::Database;
use database::content::deletion_queue::ReclaimRow;
use model::{Code, ReclaimReason, ReclaimState};

use crate::{DELETION_LOCK, NewStore, Options, PolicyChange, PolicyTarget, Repository};

use super::*;

async fn open(place: &std::path::Path, create: bool) -> Session {
    let options = Options {
        directory: place.to_path_buf(),
        configuration: None,
        content: None,
        administrator_password: Some("correct horse battery".to_owned()),
        create,
    };
    let (repository, _) = Repository::open(&options).await.unwrap();
    repository.as_caller(repository.farm_administrator().await.unwrap())
}

async fn add_passing(session: &Session) -> Id {
    let (name, kind) = ("passing".to_owned(), "directory".to_owned());
    session.add_store(NewStore { name: name.clone(), kind, location: name, ..NewStore::default() }).await.unwrap();
    session.repository.registry().await.unwrap().store_named("passing").unwrap().id
}

/// Returns whether a content database refuses references to a store.
async fn is_closed(database: &Database, store: Id) -> bool {
    let digest = blobs::digest_of(b"any bytes");
    let look =
        move |transaction: &mut Transaction<'_>| deletion_queue::require_not_deleting(transaction, store, &digest);
    database.write(look).await.is_err_and(|error| error.code() == Code::StoreRemoved)
}

#[tokio::test]
async fn a_store_is_not_forgotten_while_copies_in_it_are_deleted() {
    let place = tempfile::tempdir().unwrap();
    let session = open(place.path(), true).await;
    let id = add_passing(&session).await;
    session.set_store_state("passing", StoreState::ReadOnly).await.unwrap();
    let registry = session.repository.registry().await.unwrap();
    let database = registry.databases[0].database.clone();
    let (digest, since) = (blobs::digest_of(b"on its way out"), Timestamp::now());
    let (reason, state) = (ReclaimReason::Deleted, ReclaimState::Deleting);
    let row = ReclaimRow { store_id: id, digest, size: 1, reason, state, since };
    database.write(move |transaction| deletion_queue::begin(transaction, &row)).await.unwrap();
    let waiting = async || database.read(deletion_queue::stores).await.unwrap();

    for called_off in [true, false] {
        let deleting = session.repository.inner.configuration.try_exclusive(DELETION_LOCK).await.unwrap().unwrap();
        let (other, stores_lock) = (session.clone(), session.lock_stores("passing").await.unwrap());
        let row = registry.store_named("passing").unwrap().clone();
        let removal = session.begin_removal(row.clone()).await.unwrap();
        let known = registry.clone();
        let removing =
            tokio::spawn(async move { other.delete_store(&stores_lock, &known, &removal, true).await.map(drop) });
        while !is_closed(&database, id).await {
            tokio::task::yield_now().await;
        }
        // sleep: long enough for a removal that wrongly does not wait
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!removing.is_finished(), "it waits until nobody deletes");
        assert_eq!(waiting().await, [id]);
        if called_off {
            session.begin_removal(row).await.unwrap();
        }
        deleting.release().await;
        let removed = removing.await.unwrap();
        assert_eq!(removed.is_err(), called_off, "{removed:?}");
        assert_eq!(waiting().await.is_empty(), !called_off, "what is being deleted is remembered as long as the store");
    }
    session.repository.close().await;
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_removal_half_done() {
    let place = tempfile::tempdir().unwrap();
    let session = open(place.path(), true).await;
    let id = add_passing(&session).await;
    session.set_store_state("passing", StoreState::ReadOnly).await.unwrap();
    let database = session.repository.registry().await.unwrap().databases[0].database.clone();
    let deleting = session.repository.inner.configuration.try_exclusive(DELETION_LOCK).await.unwrap().unwrap();
    let caller = session.clone();
    let request = tokio::spawn(async move { caller.remove_store("passing", true).await });
    while !is_closed(&database, id).await {
        tokio::task::yield_now().await;
    }
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    deleting.release().await;
    let known = async || session.repository.inner.configuration.read(farm::stores).await.unwrap();
    while known().await.iter().any(|row| row.id == id) {
        // sleep: the aborted request sends no notification when the removal ends
        tokio::time::sleep(LOCK_RETRY_DELAY).await;
    }
    session.lock_stores("passing").await.unwrap().release().await;
    session.repository.close().await;
}

#[tokio::test]
async fn a_store_that_the_farm_keeps_stays_closed_in_no_database() {
    let place = tempfile::tempdir().unwrap();
    let session = open(place.path(), true).await;
    let id = add_passing(&session).await;
    session.set_store_state("passing", StoreState::ReadOnly).await.unwrap();
    session.create_content_database("second", None).await.unwrap();
    session.repository.close().await;
    // The second database is absent when the store is to be activated.
    let (file, away) = (place.path().join("databases/second.sqlite"), place.path().join("away"));
    std::fs::rename(&file, &away).unwrap();
    let session = open(place.path(), false).await;
    let refused = session.set_store_state("passing", StoreState::Active).await.unwrap_err();
    assert_eq!(refused.code(), Code::DatabaseAway);
    session.repository.close().await;
    std::fs::rename(&away, &file).unwrap();

    let session = open(place.path(), false).await;
    let (inner, registry) = (session.repository.inner.clone(), session.repository.registry().await.unwrap());
    let second = registry.databases[1].database.clone();
    let close = async || second.write(move |transaction| deletion_queue::close_store(transaction, id)).await.unwrap();
    let storage = session.storage().await.unwrap();
    for under_way in [true, false] {
        close().await;
        if under_way {
            let stores_lock = session.lock_stores("passing").await.unwrap();
            storage.reopen_kept_stores().await.unwrap();
            assert!(is_closed(&second, id).await, "somebody has stores in hand");
            stores_lock.release().await;
            let row = registry.store_named("passing").unwrap().clone();
            session.begin_removal(row).await.unwrap();
            storage.reopen_kept_stores().await.unwrap();
            assert!(is_closed(&second, id).await, "a removal goes on later");
            let end = move |transaction: &mut Transaction<'_>| farm::end_removal(transaction, id);
            inner.configuration.write(end).await.unwrap();
        }
        storage.reopen_kept_stores().await.unwrap();
        assert!(!is_closed(&second, id).await);
    }
    // A database that is closed before it is opened at the start accepts references again, too.
    close().await;
    drop((second, storage, registry));
    session.repository.close().await;
    let session = open(place.path(), false).await;
    let registry = session.repository.registry().await.unwrap();
    assert!(!is_closed(&registry.databases[1].database, id).await);
    session.repository.close().await;
}

#[tokio::test]
async fn a_store_that_gives_no_answer_is_not_waited_for_without_end() {
    let refused = require_empty(std::future::pending(), "passing", Duration::from_millis(10)).await.unwrap_err();
    assert!(refused.message().contains("\"passing\" does not answer"), "{refused}");
}

#[tokio::test]
async fn a_removal_that_was_thought_dead_forgets_nothing_and_opens_nothing_up() {
    let place = tempfile::tempdir().unwrap();
    let session = open(place.path(), true).await;
    add_passing(&session).await;
    let registry = async || session.repository.registry().await.unwrap();
    let stores_lock = session.lock_stores("passing").await.unwrap();

    for meanwhile in ["activate", "activate and close", "remove", "set a policy"] {
        session.change_state(&stores_lock, "passing", StoreState::ReadOnly).await.unwrap();
        session.repository.refresh_registry().await.unwrap();
        let row = registry().await.store_named("passing").unwrap().clone();
        // From here on, the test assumes that this removal has lost the lock and another process continues.
        let removal = session.begin_removal(row.clone()).await.unwrap();
        let database = &registry().await.databases[0].database;
        let id = row.id;
        database.write(move |transaction| deletion_queue::close_store(transaction, id)).await.unwrap();
        match meanwhile {
            "remove" => drop(session.begin_removal(row).await.unwrap()),
            _ => session.change_state(&stores_lock, "passing", StoreState::Active).await.unwrap(),
        }
        match meanwhile {
            "activate and close" => {
                session.change_state(&stores_lock, "passing", StoreState::ReadOnly).await.unwrap();
            }
            "set a policy" => {
                let active_store = Some("passing".to_owned());
                let change = PolicyChange { active_store, ..PolicyChange::default() };
                session.set_storage_policy(&PolicyTarget::Database("main".to_owned()), change).await.unwrap();
            }
            _ => {}
        }
        let refused =
            session.delete_store(&stores_lock, &*registry().await, &removal, true).await.map(drop).unwrap_err();
        assert!(matches!(refused.code(), Code::StoreBusy | Code::StoreInUse), "{meanwhile}: {refused:?}");
        session.repository.refresh_registry().await.unwrap();
        assert!(registry().await.store_named("passing").is_ok(), "{meanwhile}");
        // The store stays closed: reopening it is left to the other process.
        session.abandon_removal(&stores_lock, &*registry().await, &removal).await.unwrap();
        let digest = blobs::digest_of(meanwhile.as_bytes());
        let look =
            move |transaction: &mut Transaction<'_>| deletion_queue::require_not_deleting(transaction, id, &digest);
        assert_eq!(database.write(look).await.unwrap_err().code(), "store_removed", "{meanwhile}");
    }
    session.repository.close().await;
}
