//! Tests of the guarantees about accounts and authentication, on both engines.

mod directory;
mod edit_tokens;
mod guesses;
mod listed;
mod log;
mod revocation;
mod sign_in;
mod strangers;
mod tokens;

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use database::Engine;
use database::testing::{Fresh, fresh_database};
use model::{Error, Id};
use tempfile::TempDir;

use super::{Account, Client, FarmEvent, NewAccount, NewTokenRequest};
use crate::{FarmFilter, Options, Repository, Session};

const ADMIN_PASSWORD: &str = "the-admin-password";
const PASSWORD: &str = "a-good-password";
/// Address from which tokens are presented.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A new farm with one server.
struct Farm {
    fresh: Fresh,
    directory: TempDir,
    repository: Repository,
}

impl Farm {
    async fn new(engine: Engine) -> Self {
        println!("on {}", engine.as_str());
        let fresh = fresh_database(engine).await;
        let directory = tempfile::tempdir().unwrap();
        let repository = Self::open(&fresh, directory.path()).await;
        Self { fresh, directory, repository }
    }

    async fn open(fresh: &Fresh, directory: &Path) -> Repository {
        let options = Options {
            directory: directory.to_owned(),
            configuration: Some(fresh.location.clone()),
            content: None,
            administrator_password: Some(ADMIN_PASSWORD.into()),
            create: true,
        };
        Repository::open(&options).await.unwrap().0
    }

    /// Opens another server on the same farm.
    async fn another_server(&self) -> Repository {
        Self::open(&self.fresh, self.directory.path()).await
    }

    async fn administrator(&self) -> Session {
        self.repository.as_caller(self.repository.farm_administrator().await.unwrap())
    }

    async fn account(&self, login: &str) -> Account {
        self.administrator().await.create_account(person(login)).await.unwrap()
    }

    /// Returns a session of the account, as if freshly signed in.
    async fn caller(&self, account: Id) -> Session {
        self.repository.as_caller(self.repository.principal(account).await.unwrap())
    }

    async fn events(&self, action: &str) -> Vec<FarmEvent> {
        let events = self.administrator().await.farm_events(FarmFilter::default(), None, 1_000).await.unwrap();
        events.items.into_iter().filter(|event| action.is_empty() || event.action == action).collect()
    }

    async fn directory_version(&self) -> i64 {
        self.repository.farm_administrator().await.unwrap().directory_version
    }

    async fn close(self) {
        self.repository.close().await;
    }
}

fn person(login: &str) -> NewAccount {
    NewAccount { login: login.into(), password: Some(PASSWORD.into()), ..NewAccount::default() }
}

fn client(address: &str) -> Client {
    Client { address: address.parse().unwrap(), agent: "test".into(), device: None }
}

fn code<T>(result: Result<T, Error>) -> &'static str {
    result.err().map_or("ok", |error| error.code().as_str())
}

/// Runs each test on its own farm on each engine.
macro_rules! on_each_engine {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::$name(crate::people::tests::Farm::new(database::Engine::Sqlite).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                super::$name(crate::people::tests::Farm::new(database::Engine::Postgres).await).await;
            }
        }
    )+};
}
use on_each_engine;
