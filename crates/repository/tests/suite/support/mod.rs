//! A farm with users on each engine.

#![expect(clippy::unwrap_used, reason = "a farm that cannot be had fails the test")]

pub mod index;
pub mod rows;

use bytes::Bytes;
use database::Engine;
use database::testing::{Fresh, fresh_database};
use model::{Id, NodePath, Result, Right};
use repository::{Destination, NewAccount, Options, Repository, Saved, Session, Target, UploadOptions, VersionChoice};
use tempfile::TempDir;

pub struct Farm {
    pub repository: Repository,
    pub directory: TempDir,
    pub configuration: Fresh,
    pub content: Fresh,
}

/// Runs a test on a new farm of each engine.
pub async fn each_farm<F, Fut>(test: F)
where
    F: Fn(Farm) -> Fut,
    Fut: Future<Output = ()>,
{
    for engine in [Engine::Sqlite, Engine::Postgres] {
        println!("on {}", engine.as_str());
        test(Farm::new(engine).await).await;
    }
}

impl Farm {
    pub async fn new(engine: Engine) -> Self {
        let (configuration, content) = (fresh_database(engine).await, fresh_database(engine).await);
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            directory: directory.path().to_owned(),
            configuration: Some(configuration.location.clone()),
            content: Some(content.location.clone()),
            administrator_password: Some("correct horse battery".into()),
            create: true,
        };
        let (repository, _) = Repository::open(&options).await.unwrap();
        Self { repository, directory, configuration, content }
    }

    pub async fn administrator(&self) -> Session {
        self.repository.as_caller(self.repository.farm_administrator().await.unwrap())
    }

    /// Creates a user without any rights. Returns the user and a session.
    pub async fn person(&self, login: &str) -> (Id, Session) {
        let account = self
            .administrator()
            .await
            .create_account(NewAccount {
                login: login.to_owned(),
                display_name: login.to_uppercase(),
                password: Some("correct horse battery".into()),
                ..NewAccount::default()
            })
            .await
            .unwrap();
        (account.id, self.session(account.id).await)
    }

    /// Returns a session with the user's current groups and rights.
    pub async fn session(&self, account: Id) -> Session {
        let token = self.administrator().await.create_token(account, "test".into()).await.unwrap();
        let caller = self
            .repository
            .caller_from_token(&token.secret, std::net::Ipv4Addr::LOCALHOST.into())
            .await
            .unwrap()
            .unwrap();
        self.repository.as_caller(caller.principal)
    }
}

/// Creates a user with a role of exactly these rights on an item. The item has its own permissions from then on.
pub async fn with_rights(farm: &Farm, login: &str, place: &str, rights: &[Right]) -> (Id, Session) {
    let admin = farm.administrator().await;
    let role = admin.create_role(login, rights.iter().copied().collect()).await.unwrap().id;
    let (id, _) = farm.person(login).await;
    let admin = farm.administrator().await;
    if !place.is_empty() && !admin.item(&at(place)).await.unwrap().own_permissions {
        admin.break_inheritance(&at(place), true).await.unwrap();
    }
    admin.grant(&at(place), id, role).await.unwrap();
    (id, farm.session(id).await)
}

pub fn at(path: &str) -> Target {
    Target::path(path).unwrap()
}

pub fn to(path: &str) -> Destination {
    Destination::Path(NodePath::parse(path).unwrap())
}

pub async fn put(session: &Session, path: &str, text: &str) -> Result<Saved> {
    let options = UploadOptions { create_parents: true, ..UploadOptions::default() };
    session.upload_bytes(&to(path), options, Bytes::copy_from_slice(text.as_bytes())).await
}

pub async fn get(session: &Session, path: &str) -> Result<String> {
    read(session, &at(path), VersionChoice::Visible).await
}

pub async fn read(session: &Session, target: &Target, version: VersionChoice) -> Result<String> {
    let mut content = session.open(target, version).await?;
    let mut all = Vec::new();
    while let Some(bytes) = content.next_chunk().await? {
        all.extend_from_slice(&bytes);
    }
    Ok(String::from_utf8(all).unwrap())
}

pub async fn names(session: &Session, path: &str) -> Vec<String> {
    let (_, page) = session.list(&at(path), repository::Sort::Name, false, None, 1000).await.unwrap();
    page.items.into_iter().map(|item| item.name).collect()
}
