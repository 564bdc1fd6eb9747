//! Tests of the removal of uploads, and of concurrent requests.

use super::*;
use crate::{Options, Target};

async fn farm(directory: &std::path::Path) -> (Repository, Session) {
    let options = Options {
        directory: directory.to_owned(),
        configuration: None,
        content: None,
        administrator_password: Some("correct horse battery".to_owned()),
        create: true,
    };
    let (repository, _) = Repository::open(&options).await.unwrap();
    let session = repository.as_caller(repository.farm_administrator().await.unwrap());
    (repository, session)
}

fn to(name: &str) -> Destination {
    let Target::Path(path) = Target::path(&format!("Documents/{name}")).unwrap() else { unreachable!() };
    Destination::Path(path)
}

#[tokio::test]
async fn what_expired_and_what_nobody_knows_is_removed_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let (repository, session) = farm(directory.path()).await;
    let old = session.begin_resumable(&to("old"), UploadOptions::default(), 10, "m").await.unwrap();
    let uploads = directory.path().join("uploads");
    let database = old.id.split_once('-').unwrap().0;
    for name in [format!("{database}-00ff"), "999-00ff".to_owned(), "notes.txt".to_owned()] {
        std::fs::write(uploads.join(name), "x").unwrap();
    }
    assert_eq!(repository.tidy_uploads().await.unwrap(), 0, "all are too young");
    assert_eq!(repository.tidy_uploads_at(Timestamp::now(), Timestamp::now()).await.unwrap(), 1);
    session.resumable(&old.id).await.unwrap();
    let later = Timestamp::now().after(KEPT);
    assert_eq!(repository.tidy_uploads_at(later, later).await.unwrap(), 1);
    assert_eq!(session.resumable(&old.id).await.unwrap_err().kind(), model::ErrorKind::NotFound);
    let mut left: Vec<_> = std::fs::read_dir(&uploads).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["999-00ff", "notes.txt"]);
    repository.close().await;
}

#[tokio::test]
async fn a_database_that_cannot_be_read_keeps_the_files_of_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let (repository, session) = farm(directory.path()).await;
    session.create_content_database("second", None).await.unwrap();
    let registry = repository.registry().await.unwrap();
    let uploads = directory.path().join("uploads");
    std::fs::create_dir_all(&uploads).unwrap();
    let [readable, unreadable] = [0, 1].map(|index| registry.databases[index].row.id.to_string());
    // Several of each, because they are listed in any order.
    for database in [&readable, &unreadable] {
        for number in 0..8 {
            std::fs::write(uploads.join(format!("{database}-00f{number}")), "x").unwrap();
        }
    }
    registry.databases[1].database.close().await;
    let later = Timestamp::now().after(KEPT);
    repository.tidy_uploads_at(later, later).await.unwrap_err();
    let left: Vec<String> =
        std::fs::read_dir(&uploads).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(left.len() == 8, "{left:?}");
    assert!(left.iter().all(|name| name.starts_with(&format!("{unreadable}-"))), "{left:?}");
    repository.close().await;
}

#[tokio::test]
async fn bytes_that_cannot_be_removed_keep_no_other_expired_upload() {
    let directory = tempfile::tempdir().unwrap();
    let (repository, session) = farm(directory.path()).await;
    let uploads = directory.path().join("uploads");
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(session.begin_resumable(&to(name), UploadOptions::default(), 10, "m").await.unwrap().id);
    }
    // A directory in place of a file cannot be removed as a file.
    let _ = std::fs::remove_file(uploads.join(&ids[0]));
    std::fs::create_dir(uploads.join(&ids[0])).unwrap();
    let later = Timestamp::now().after(KEPT);
    repository.tidy_uploads_at(later, later).await.unwrap_err();
    for id in &ids {
        assert_eq!(session.resumable(id).await.unwrap_err().kind(), model::ErrorKind::NotFound, "{id}");
    }
    for id in &ids[1..] {
        assert!(!uploads.join(id).exists(), "{id}");
    }
    repository.close().await;
}

#[test]
fn a_slot_that_says_more_than_a_file_can_have_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("u");
    for (other, expected) in [(None, None), (Some(5), Some(5))] {
        for number in [u64::MAX, i64::MAX as u64, i64::MAX as u64 - 4_095] {
            let mut bytes = vec![0; 5_000];
            bytes[..partial::SLOT].copy_from_slice(&partial::slot(number));
            if let Some(other) = other {
                bytes[512..512 + partial::SLOT].copy_from_slice(&partial::slot(other));
            }
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(Partial::open(&path).ok().map(|partial| partial.durable()), expected, "{number}");
        }
    }
}

#[tokio::test]
async fn an_upload_whose_bytes_were_lost_can_be_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let (repository, session) = farm(directory.path()).await;
    repository.limit_unfinished(10);
    let begin = async || session.begin_resumable(&to("a"), UploadOptions::default(), 10, "").await;
    for lost in [true, false] {
        let upload = begin().await.unwrap();
        let path = directory.path().join("uploads").join(&upload.id);
        if lost {
            std::fs::remove_file(&path).unwrap();
        } else {
            std::fs::write(&path, "damaged").unwrap();
        }
        session.resumable(&upload.id).await.unwrap_err();
        assert_eq!(begin().await.unwrap_err().code(), "too_much_unfinished");
        session.cancel_upload(&upload.id).await.unwrap();
        assert!(!path.exists());
        assert_eq!(session.cancel_upload(&upload.id).await.unwrap_err().kind(), ErrorKind::NotFound);
    }
    begin().await.unwrap();
    repository.close().await;
}

#[tokio::test]
async fn a_second_request_waits_for_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let (repository, session) = farm(directory.path()).await;
    let upload = session.begin_resumable(&to("a"), UploadOptions::default(), 4, "").await.unwrap();
    let mut part = session.append_upload(&upload.id, 0, false).await.unwrap();
    part.write(Bytes::from_static(b"ab")).await.unwrap();
    assert_eq!(session.append_upload(&upload.id, 0, false).await.err().unwrap().code(), "upload_busy");
    assert_eq!(session.cancel_upload(&upload.id).await.unwrap_err().code(), "upload_busy");
    assert_eq!(part.commit().await.unwrap(), 2);
    drop(part);
    let again = session.complete_upload(&upload.id, &to("a"), UploadOptions::default()).await;
    assert_eq!(again.unwrap_err().code(), "offset_mismatch");
    let mut part = session.append_upload(&upload.id, 2, true).await.unwrap();
    part.write(Bytes::from_static(b"cd")).await.unwrap();
    drop(part);
    assert_eq!(session.resumable(&upload.id).await.unwrap().offset, 2, "nothing was committed");
    let mut part = session.append_upload(&upload.id, 2, true).await.unwrap();
    part.write(Bytes::from_static(b"cd")).await.unwrap();
    part.commit().await.unwrap();
    drop(part);
    let saved = session.complete_upload(&upload.id, &to("a"), UploadOptions::default()).await.unwrap().unwrap();
    assert_eq!(saved.size, 4);
    assert!(session.complete_upload(&upload.id, &to("a"), UploadOptions::default()).await.unwrap().is_none());
    repository.close().await;
}
