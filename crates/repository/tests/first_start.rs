//! A first start that fails leaves nothing behind that hinders the next.

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
