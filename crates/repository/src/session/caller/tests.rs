//! Repeated checks inside transactions, on both database engines.

use bytes::Bytes;
use database::Engine;
use database::testing::fresh_database;
use model::{ErrorKind, Id, NodePath, Right, Role};

use crate::{Destination, NewAccount, Options, Repository, Session, Target, UploadOptions};

fn at(path: &str) -> Target {
    Target::path(path).unwrap()
}

async fn put(session: &Session, path: &str) -> Id {
    let to = Destination::Path(NodePath::parse(path).unwrap());
    let options = UploadOptions { create_parents: true, ..UploadOptions::default() };
    session.upload_bytes(&to, options, Bytes::from_static(b"x")).await.unwrap().id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_was_moved_or_deleted_is_decided_anew() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
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
        let admin = repository.as_caller(repository.farm_administrator().await.unwrap());
        let new = NewAccount { login: "editor".into(), ..NewAccount::default() };
        let editor = admin.create_account(new).await.unwrap().id;
        for path in ["Documents/open/other.txt", "Documents/closed/other.txt"] {
            put(&admin, path).await;
        }
        admin.break_inheritance(&at("Documents/open"), true).await.unwrap();
        admin.grant(&at("Documents/open"), editor, Role::CONTRIBUTE).await.unwrap();
        let editor = repository.as_caller(repository.principal(editor).await.unwrap());
        for how in ["moved", "deleted", "left"] {
            let id = put(&admin, "Documents/open/a.txt").await;
            let located = editor.locate(&id.into()).await.unwrap().to(Right::Edit).unwrap();
            let guard = editor.guard([&located]).unwrap();
            let version = located.collection.tree_version;
            match how {
                "moved" => drop(admin.move_to(&id.into(), &at("Documents/closed"), None).await.unwrap()),
                "deleted" => drop(admin.delete(&id.into()).await.unwrap()),
                _ => {}
            }
            assert_eq!(admin.locate(&at("")).await.unwrap().unchecked().collection.tree_version, version, "{how}");
            let held = guard.write(move |transaction, guard, _| guard.lock_row(transaction, id).map(drop)).await;
            assert_eq!(
                held.map_err(|error| error.kind()),
                if how == "left" { Ok(()) } else { Err(ErrorKind::NotFound) },
                "{how}"
            );
        }
        // A right that the caller does not have even now cannot be obtained either.
        let closed = admin.locate(&at("Documents/closed")).await.unwrap();
        let seen = editor.locate(&at("Documents/open")).await.unwrap();
        assert_eq!(seen.to(Right::ManageSite).err().map(|error| error.kind()), Some(ErrorKind::Forbidden));
        assert!(closed.to(Right::ManageSite).is_ok());
        repository.close().await;
    }
}
