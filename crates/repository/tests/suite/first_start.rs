//! Tests that a failed first start leaves nothing behind that hinders the next one.

use database::testing::fresh_database;
use database::{Engine, Location};
use repository::{Options, Repository};

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_address_of_the_content_database_can_be_corrected() {
    let present = fresh_database(Engine::Postgres).await;
    let Location::Postgres(address) = &present.location else { unreachable!("asked for PostgreSQL") };
    let (server, _) = address.rsplit_once('/').unwrap();
    let wrong = Location::Postgres(format!("{server}/no_such_database"));
    let directory = tempfile::tempdir().unwrap();
    let options = |content: &Location| Options {
        directory: directory.path().to_owned(),
        configuration: None,
        content: Some(content.clone()),
        administrator_password: Some("correct horse battery".into()),
        create: true,
    };
    assert!(Repository::open(&options(&wrong)).await.is_err());
    let (repository, created) = Repository::open(&options(&present.location)).await.unwrap();
    assert!(created.is_some());
    repository.farm_administrator().await.unwrap();
}

#[tokio::test]
async fn a_password_that_is_too_short_is_refused_before_anything_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let options = |password: &str| Options {
        directory: directory.path().to_owned(),
        configuration: None,
        content: None,
        administrator_password: Some(password.into()),
        create: true,
    };
    let error = Repository::open(&options("abc")).await.err().unwrap();
    assert_eq!(error.code(), "invalid_password");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let (repository, _) = Repository::open(&options("correct horse battery")).await.unwrap();
    repository.close().await;
    // An existing farm has its administrator, so the password in the options is ignored.
    assert!(Repository::open(&options("abc")).await.is_ok());
}
