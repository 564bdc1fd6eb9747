//! A full disk stops uploads, with an answer that says so; it does not stop reads and damages nothing. A full store does
//! not stop deletes; a full database refuses them like any change of it. Database and store run full together and apart.

use std::path::Path;

use reqwest::StatusCode;

use crate::support::{Client, Disk, Farm, bytes};

/// Uploads documents of ever smaller sizes until none is taken any more. Returns how many of each size were taken.
async fn fill(client: &Client, sizes: &[usize]) -> Vec<(usize, u64)> {
    let mut taken = Vec::new();
    for &size in sizes {
        let mut count = 0;
        loop {
            let answer = client.put(&format!("fill/{size}/{count}.bin"), bytes(count, size)).await.unwrap();
            if !answer.status.is_success() {
                assert_eq!(answer.status, StatusCode::INSUFFICIENT_STORAGE, "{}", answer.text());
                let told = answer.text();
                assert!(told.contains("space") || told.contains("full"), "the answer says what is wrong: {told}");
                break;
            }
            count += 1;
            assert!(count < 10_000, "the disk does not run full");
        }
        taken.push((size, count));
    }
    taken
}

/// Reads all that was taken, and finds nothing under the name that was refused.
async fn read_all(client: &Client, taken: &[(usize, u64)], deleted: &str) {
    for &(size, count) in taken {
        for number in 0..count {
            let path = format!("fill/{size}/{number}.bin");
            let answer = client.get(&path).await.unwrap();
            if path == deleted {
                assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
            } else {
                assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
                assert!(answer.body == bytes(number, size), "{path} is damaged");
            }
        }
        let refused = client.get(&format!("fill/{size}/{count}.bin")).await.unwrap();
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "what was refused is not there");
    }
}

/// `sizes` are those that take room on the disk that runs full; `deletes` tells whether it has room for deletes.
async fn runs_full(farm: &Farm, disk: &Disk, sizes: &[usize], deletes: bool) {
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    let taken = fill(&client, sizes).await;
    println!("taken: {taken:?}");
    let (size, _) = *taken.iter().find(|(_, count)| *count > 0).expect("some documents were taken");
    read_all(&client, &taken, "").await;
    let mut gone = format!("fill/{size}/0.bin");
    let deleted = client.delete(&gone).await.unwrap();
    if !deletes && deleted.status == StatusCode::INSUFFICIENT_STORAGE {
        gone.clear();
    } else {
        assert!(deleted.status.is_success(), "a delete works: {}", deleted.text());
    }
    read_all(&client, &taken, &gone).await;

    // A crash on the full disk loses nothing. A start notes itself in the farm's database, so it may need room there.
    server.kill();
    let server = match farm.try_start() {
        Ok(server) => {
            read_all(&server.client(&token), &taken, &gone).await;
            disk.remount("size=256m");
            server
        }
        Err(refusal) => {
            assert!(!deletes && refusal.status.code() == Some(2) && refusal.said.contains("full"), "{}", refusal.said);
            disk.remount("size=256m");
            farm.start()
        }
    };
    let client = server.client(&token);
    read_all(&client, &taken, &gone).await;
    let answer = client.put("fill/room.bin", bytes(1, 1_000_000)).await.unwrap();
    assert!(answer.status.is_success(), "with room again, uploads work again: {}", answer.text());
    read_all(&client, &taken, &gone).await;
    farm.check_blobs();
    assert!(server.stop().success());
}

fn folder(path: &Path) -> &Path {
    std::fs::create_dir_all(path).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_data_directory_stops_uploads_only() {
    let disk = Disk::tmpfs(40);
    runs_full(&Farm::at(disk.path().join("data")), &disk, &[1_000_000, 100_000, 12_000, 100], false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_stops_uploads_only() {
    let (disk, scratch) = (Disk::tmpfs(40), tempfile::tempdir().unwrap());
    let data = scratch.path().join("data");
    let _store = disk.bind(folder(&data.join("blobs")));
    runs_full(&Farm::at(data), &disk, &[1_000_000, 100_000], true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_database_stops_uploads_only() {
    let (disk, scratch) = (Disk::tmpfs(12), tempfile::tempdir().unwrap());
    let data = scratch.path().join("data");
    let _databases = disk.bind(folder(&data.join("databases")));
    runs_full(&Farm::at(data), &disk, &[12_000, 100], false).await;
}
