//! Tests with sets as earlier versions wrote them, in which intact pages have outdated checksums.

use std::sync::Arc;

use database::Location;
use model::{Code, ErrorKind, Id};
use repository::{Options, Repository};

use crate::backup::place::destination::{Destination, Use};
use crate::backup::take::chunks::{KnownChunks, store_file};
use crate::backup::{BackupLocation, BackupOptions, PostgresMethod, backup, verify_backups};
use crate::restore::set::choose;
use crate::restore::{RestoreOptions, restore_farm};

use super::*;

const PAGE: usize = 4096;

/// Takes a backup of a new farm, and adds a set in which the content database is changed. Returns that set.
async fn changed_set(place: &Path, destination: &BackupLocation, change: impl Fn(&mut Vec<u8>)) -> Id {
    let directory = place.join("farm");
    let (configuration, content, administrator_password) = (None, None, Some("correct horse battery".to_owned()));
    let options = Options { directory, configuration, content, administrator_password, create: true };
    let (repository, _) = Repository::open(&options).await.unwrap();
    let session = repository.as_caller(repository.farm_administrator().await.unwrap());
    let options = BackupOptions {
        destination: destination.clone(),
        configuration: Location::Sqlite(place.join("farm/configuration.sqlite")),
        key_file: None,
        databases_only: false,
        retain: None,
        postgres: PostgresMethod::Dump,
    };
    backup(&session, &options, Arc::default()).await.unwrap();
    let next = repository.as_caller(repository.farm_administrator().await.unwrap()).storage().await.unwrap().next_id();
    repository.close().await;

    let there = Destination::open(destination, None, Use::Change).await.unwrap();
    let (_, mut manifest) = choose(&there, None).await.unwrap();
    let path = place.join("changed.sqlite");
    file(&there.vault, &manifest.databases[0], &path, false, &Progress::default()).await.unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(&path, bytes).unwrap();
    let earlier = KnownChunks::of(&there.vault, None).await;
    let chunked = store_file(&there.vault, path, earlier, &Progress::default()).await.unwrap();
    let part = &mut manifest.databases[0];
    (part.bytes, part.digest) = (chunked.bytes, chunked.digest.to_string());
    (part.chunks, part.chunk_bytes) = (chunked.lists, chunked.chunk_bytes);
    manifest.id = next.to_string();
    there.finish(&manifest).await.unwrap();
    there.close().await;
    next
}

#[tokio::test]
async fn pages_with_old_checksums_are_told_and_restored_when_that_is_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let destination = BackupLocation::Directory(place.path().join("backups"));
    let set = changed_set(place.path(), &destination, |bytes| {
        for page in [0, 2] {
            bytes[(page + 1) * PAGE - 3] ^= 0x10;
        }
    })
    .await;
    let found = verify_backups(&destination, None, None, Arc::default()).await.unwrap();
    assert_eq!((found.sets.len(), found.fault_count), (2, 1), "{:?}", found.faults);
    let fault = &found.faults[0];
    assert!(fault.contains(&set.to_string()), "{fault}");
    assert!(fault.contains("2 pages"), "{fault}");
    assert!(fault.contains("\"main\""), "{fault}");

    let options = |name: &str, rebuild_checksums| RestoreOptions {
        source: destination.clone(),
        directory: place.path().join(name),
        rebuild_checksums,
        ..RestoreOptions::default()
    };
    let refused = restore_farm(&options("refused", false), Arc::default()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Corrupt, Code::PageChecksum));
    assert!(refused.message().contains("--rebuild-checksums"), "{refused}");
    let restored = restore_farm(&options("back", true), Arc::default()).await.unwrap();
    assert_eq!(restored.set, set);
    assert!(restored.notes.iter().any(|note| note.starts_with("2 pages of the database \"main\"")), "{restored:?}");
    let main = place.path().join("back/databases/main.sqlite");
    Database::require_intact_pages(&main).unwrap();
}

#[tokio::test]
async fn a_set_whose_database_is_damaged_is_not_restored_by_new_checksums() {
    let place = tempfile::tempdir().unwrap();
    let destination = BackupLocation::Directory(place.path().join("backups"));
    changed_set(place.path(), &destination, |bytes| {
        // Offset 4 of a leaf page holds the number of its cells.
        let leaf = (1..bytes.len() / PAGE).find(|page| bytes[page * PAGE] == 13 && bytes[page * PAGE + 4] > 0).unwrap();
        bytes[leaf * PAGE + 4] ^= 0x40;
    })
    .await;
    let directory = place.path().join("back");
    let options =
        RestoreOptions { source: destination, directory, rebuild_checksums: true, ..RestoreOptions::default() };
    let refused = restore_farm(&options, Arc::default()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt);
    assert!(refused.message().contains("take another set"), "{refused}");
    assert!(!refused.message().contains("--rebuild"), "{refused}");
}
