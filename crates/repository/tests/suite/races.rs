//! Tests of concurrent changes of a tree: in whatever order they end, no item becomes unreachable and no user keeps
//! revoked access.

#![expect(clippy::unwrap_used, reason = "a farm that does not do what was asked fails the test")]

use crate::support::*;
use bytes::Bytes;
use database::configuration::farm::next_server;
use database::{Database, Schema};
use model::{Code, ErrorKind, Id, Name, Role, StoreState};
use repository::{
    Destination, NewStore, Options, PolicyChange, PolicyTarget, Repository, Session, Target, UploadOptions,
};

/// Returns a separate session for a concurrent task.
fn again(farm: &Farm, session: &Session) -> Session {
    farm.repository.as_caller(session.principal().clone())
}

/// Opens the same farm as another process would.
async fn another_process(farm: &Farm) -> Repository {
    let options = Options {
        directory: farm.directory.path().to_owned(),
        configuration: Some(farm.configuration.location.clone()),
        content: None,
        administrator_password: None,
        create: false,
    };
    Repository::open_for_command(&options).await.unwrap()
}

async fn id_of(session: &Session, path: &str) -> Id {
    session.item(&at(path)).await.unwrap().id
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_are_moved_into_each_other_stay_within_reach() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for round in 0..20 {
            // In every second round, the target is a folder below the moving folder instead of the moving folder
            // itself.
            let below = if round % 2 == 0 { "" } else { "/below" };
            let (a, b) = (format!("Documents/a{round}"), format!("Documents/b{round}"));
            let mut documents = Vec::new();
            for folder in [&a, &b] {
                documents.push(put(&admin, &format!("{folder}/below/text"), folder).await.unwrap().id);
            }
            let (first, second) = (id_of(&admin, &a).await, id_of(&admin, &b).await);
            let (into_b, into_a) =
                (id_of(&admin, &format!("{b}{below}")).await, id_of(&admin, &format!("{a}{below}")).await);
            let (one, two) = (again(&farm, &admin), again(&farm, &admin));
            let one = tokio::spawn(async move { one.move_to(&first.into(), &into_b.into(), None).await });
            let two = tokio::spawn(async move { two.move_to(&second.into(), &into_a.into(), None).await });
            let moved = [one.await.unwrap(), two.await.unwrap()];
            assert_eq!(moved.iter().filter(|moved| moved.is_ok()).count(), 1, "{moved:?}");
            for error in moved.into_iter().filter_map(Result::err) {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            }
            for id in documents {
                let item = admin.item(&id.into()).await.unwrap();
                assert_eq!(id_of(&admin, &item.path).await, id);
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_while_a_folder_is_closed_is_closed_too() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (reader, _) = farm.person("reader").await;
        admin.grant(&at(""), reader, Role::READ).await.unwrap();
        for round in 0..8 {
            let closed = format!("Documents/o{round}/in");
            put(&admin, &format!("{closed}/deep/first"), "first").await.unwrap();
            let (folder, deep) = (id_of(&admin, &closed).await, id_of(&admin, &format!("{closed}/deep")).await);
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let session = again(&farm, &admin);
                    tokio::spawn(async move { fill(&session, deep, writer).await })
                })
                .collect();
            admin.break_inheritance(&folder.into(), false).await.unwrap();
            let guest = farm.session(reader).await;
            for writer in writers {
                for id in writer.await.unwrap() {
                    let found = guest.item(&id.into()).await;
                    assert_eq!(found.unwrap_err().kind(), ErrorKind::NotFound, "round {round}");
                }
            }
        }
    })
    .await;
}

/// Stores documents and creates folders. Returns their identifiers.
async fn fill(session: &Session, folder: Id, writer: usize) -> Vec<Id> {
    let mut made = Vec::new();
    for number in 0..6 {
        let name = Name::new(format!("{writer}-{number}")).unwrap();
        if number % 3 == 2 {
            made.push(session.create_folder(&Target::Id(folder), &name).await.unwrap().id);
        } else {
            let destination = Destination::Child { parent: folder, name };
            let saved =
                session.upload_bytes(&destination, UploadOptions::default(), format!("{writer} {number}").into());
            made.push(saved.await.unwrap().id);
        }
    }
    made
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_another_process_began_does_not_lead_into_a_store_that_was_removed() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let (name, kind) = ("passing".to_owned(), "directory".to_owned());
        let store = NewStore { name: name.clone(), kind, location: name.clone(), ..NewStore::default() };
        admin.add_store(store).await.unwrap();
        let policy = |store: &str| PolicyChange { active_store: Some(store.to_owned()), ..PolicyChange::default() };
        let target = PolicyTarget::Database("main".to_owned());
        admin.set_storage_policy(&target, policy("passing")).await.unwrap();
        let content = vec![7; 300_000];
        let place = to("Documents/held");
        let begin = || admin.begin_upload(&place, UploadOptions::default(), None);
        let mut upload = begin().await.unwrap();
        upload.write(Bytes::from(content.clone())).await.unwrap();

        // Another process removes the store meanwhile.
        let other = another_process(&farm).await;
        let there = other.as_caller(other.farm_administrator().await.unwrap());
        there.set_storage_policy(&target, policy("files")).await.unwrap();
        there.set_store_state("passing", StoreState::ReadOnly).await.unwrap();
        there.remove_store("passing", true).await.unwrap();
        other.close().await;

        let refused = upload.finish().await.unwrap_err();
        assert_eq!((refused.kind(), refused.code()), (ErrorKind::Unavailable, Code::StoreRemoved), "{refused:?}");
        assert_eq!(admin.item(&at("Documents/held")).await.unwrap_err().kind(), ErrorKind::NotFound);
        // A user's request would bring the process up to date with the change of the farm; this call does the same.
        admin.stores().await.unwrap();
        let mut again = begin().await.unwrap();
        again.write(Bytes::from(content.clone())).await.unwrap();
        again.finish().await.unwrap();
        let read = get(&admin, "Documents/held").await.unwrap();
        assert!(read.as_bytes() == content);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_whose_numbers_look_alike_make_no_identifier_twice() {
    each_farm(|farm| async move {
        // An identifier contains only the low 10 bits of the server's number, and every command counts as a start.
        let configuration =
            Database::open(&farm.configuration.location, Schema::Configuration, &Default::default()).await.unwrap();
        configuration.write(|starts| (1..1_024).try_for_each(|_| next_server(starts).map(drop))).await.unwrap();
        configuration.close().await;
        let other = another_process(&farm).await;
        let here = farm.administrator().await;
        let there = other.as_caller(other.farm_administrator().await.unwrap());
        let make = async |session: &Session, whose: &str| {
            let mut made = Vec::new();
            for number in 0..30 {
                let name = Name::new(format!("{whose} {number}")).unwrap();
                made.push(session.create_folder(&at("Documents"), &name).await.unwrap().id);
            }
            made
        };
        let (here, there) = tokio::join!(make(&here, "here"), make(&there, "there"));
        let number = |id: &Id| id.get() >> 12 & 0x3ff;
        assert!(here.iter().chain(&there).all(|id| number(id) == number(&here[0])), "{here:?} {there:?}");
        // The identifiers differ by design: the range of one server begins after the end of the other's.
        assert!(here.iter().max() < there.iter().min(), "{here:?} {there:?}");
        other.close().await;
    })
    .await;
}
