//! Tests with backup locations whose content has disappeared.

use database::Location;
use repository::{Options, Repository};

use super::*;

#[tokio::test]
async fn a_place_without_the_backups_that_are_known_to_be_there_is_not_begun_anew() {
    let scratch = tempfile::tempdir().unwrap();
    let [directory, mounted, unmounted] = ["farm", "backups", "disk"].map(|name| scratch.path().join(name));
    let options = BackupOptions {
        destination: BackupLocation::Directory(mounted.clone()),
        configuration: Location::Sqlite(directory.join("configuration.sqlite")),
        key_file: None,
        databases_only: false,
        retain: None,
        postgres: PostgresMethod::Dump,
    };
    let (configuration, content, administrator_password) = (None, None, Some("correct horse battery".to_owned()));
    let farm = Options { directory, configuration, content, administrator_password, create: true };
    let (repository, _) = Repository::open(&farm).await.unwrap();
    let session = repository.as_caller(repository.farm_administrator().await.unwrap());
    let take = async || backup(&session, &options, Arc::default()).await;
    let first = take().await.unwrap().id;
    std::fs::rename(&mounted, &unmounted).unwrap();
    for is_mount_point in [false, true] {
        if is_mount_point {
            std::fs::create_dir(&mounted).unwrap();
        }
        let refused = take().await.unwrap_err();
        assert_eq!(refused.code(), "backup_place_absent", "{refused}");
        assert!(refused.message().contains(&first.to_string()), "{refused}");
        assert_eq!(std::fs::read_dir(&mounted).is_ok_and(|mut found| found.next().is_none()), is_mount_point);
    }
    std::fs::remove_dir(&mounted).unwrap();
    std::fs::rename(&unmounted, &mounted).unwrap();
    take().await.unwrap();
    // A backup that was removed from the farm's records is not expected in the location.
    std::fs::remove_dir_all(&mounted).unwrap();
    let storage = session.storage().await.unwrap();
    for id in kept_in(&storage, &options.destination).await.unwrap() {
        storage.configuration().write(move |transaction| backup::remove(transaction, id)).await.unwrap();
    }
    take().await.unwrap();
    repository.close().await;
}
