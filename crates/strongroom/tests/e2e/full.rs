//! A full disk stops uploads, with a response that says so. Reads, deletes, sign-ins and the start of the server still
//! work, and nothing is damaged. Database and store are filled together and separately.

use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::support::{Answer, Client, Disk, Farm, PASSWORD, Server, bytes};

/// Uploads a document. A refusal can arrive before the whole body was sent, and the connection can close before the
/// response was read; the upload is then retried.
async fn put(client: &Client, path: &str, body: Vec<u8>) -> Answer {
    for _ in 0..50 {
        if let Ok(answer) = client.put(path, body.clone()).await {
            return answer;
        }
    }
    panic!("there is no answer to the upload of {path}");
}

/// Documents of decreasing sizes, uploaded until none is accepted any more.
struct Filled {
    folder: String,
    /// Number of accepted documents of each size.
    taken: Vec<(usize, u64)>,
    deleted: Vec<String>,
}

impl Filled {
    async fn new(client: &Client, folder: &str, sizes: &[usize]) -> Self {
        let mut filled = Self { folder: folder.to_owned(), taken: Vec::new(), deleted: Vec::new() };
        for &size in sizes {
            let mut count = 0;
            loop {
                let answer = put(client, &filled.path(size, count), bytes(count, size)).await;
                if !answer.status.is_success() {
                    assert_eq!(answer.status, StatusCode::INSUFFICIENT_STORAGE, "{}", answer.text());
                    let told = answer.text();
                    assert!(told.contains("space") || told.contains("full"), "the answer says what is wrong: {told}");
                    break;
                }
                count += 1;
                assert!(count < 10_000, "the disk does not run full");
            }
            filled.taken.push((size, count));
        }
        println!("taken: {:?}", filled.taken);
        filled
    }

    fn path(&self, size: usize, number: u64) -> String {
        format!("{}/{size}/{number}.bin", self.folder)
    }

    /// Deletes the first documents, at most `most` of each size.
    async fn delete_some(&mut self, client: &Client, most: u64) {
        for (size, count) in self.taken.clone() {
            for number in 0..count.min(most) {
                let path = self.path(size, number);
                let deleted = client.delete(&path).await.unwrap();
                assert!(deleted.status.is_success(), "the delete of {path} works: {}", deleted.text());
                self.deleted.push(path);
            }
        }
    }

    /// Reads all accepted documents, and checks that the refused and the deleted ones are not found.
    async fn read_all(&self, client: &Client) {
        for &(size, count) in &self.taken {
            for number in 0..count {
                let path = self.path(size, number);
                let answer = client.get(&path).await.unwrap();
                if self.deleted.contains(&path) {
                    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
                } else {
                    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
                    assert!(answer.body == bytes(number, size), "{path} is damaged");
                }
            }
            let refused = client.get(&self.path(size, count)).await.unwrap();
            assert_eq!(refused.status, StatusCode::NOT_FOUND, "what was refused is not there");
        }
    }
}

/// Uploads continuously, as a program does that retries after a full disk.
async fn insist(client: &Client) {
    let one = |task: usize| async move {
        let mut number = 0;
        loop {
            let answer = put(client, &format!("insist/{task}/{number}.bin"), bytes(number, 100_000)).await;
            let status = answer.status;
            assert!(status.is_success() || status == StatusCode::INSUFFICIENT_STORAGE, "{}", answer.text());
            number += 1;
        }
    };
    tokio::join!(one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7));
}

/// Signs in with the password as a browser does, and signs out again.
async fn sign_in_and_out(server: &Server) {
    let browser = reqwest::Client::builder().cookie_store(true).no_proxy().build().unwrap();
    let token = |page: &str| {
        let (_, rest) = page.split_once("name=\"form_token\" value=\"").expect("the page has a form");
        rest.split('"').next().unwrap().to_owned()
    };
    let address = |path: &str| format!("{}{path}", server.address);
    let form = browser.get(address("/sign-in")).send().await.unwrap().text().await.unwrap();
    let fields = format!("form_token={}&login=admin&password={}&next=/", token(&form), PASSWORD.replace(' ', "+"));
    let post = |path: &str, fields: String| {
        let request = browser.post(address(path)).header("content-type", "application/x-www-form-urlencoded");
        request.header("origin", server.address.clone()).body(fields).send()
    };
    let home = post("/sign-in", fields).await.unwrap();
    assert!(home.status().is_success(), "{} {}", home.status(), home.url());
    assert!(home.url().path() == "/", "{} {}", home.status(), home.url());
    let home = home.text().await.unwrap();
    let out = post("/sign-out", format!("form_token={}", token(&home))).await.unwrap();
    assert!(out.status().is_success(), "{} {}", out.status(), out.url());
    assert!(out.url().path() == "/sign-in", "{} {}", out.status(), out.url());
}

/// Empties both stages of the recycle bin. Each must hold `entries` entries.
async fn empty_bins(client: &Client, entries: usize) {
    let listed = client.send(Method::GET, "/api/v1/site-collections", Vec::new()).await.unwrap();
    let listed: Value = serde_json::from_slice(&listed.body).unwrap();
    let collection = listed["items"][0]["id"].as_str().expect("the farm has a site collection");
    for bin in ["mine", "site"] {
        let path = format!("/api/v1/site-collections/{collection}/recycle-bin?bin={bin}");
        let emptied = client.send(Method::DELETE, &path, Vec::new()).await.unwrap();
        assert!(emptied.status.is_success(), "{bin}: {}", emptied.text());
        let emptied: Value = serde_json::from_slice(&emptied.body).unwrap();
        assert_eq!(emptied["entries"].as_u64(), Some(entries as u64), "{bin}");
    }
}

/// Fills a disk and checks the server's behaviour. `sizes` are the document sizes that take space on that disk.
async fn runs_full(farm: &Farm, disk: &Disk, sizes: &[usize]) {
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    let mut first = Filled::new(&client, "first", sizes).await;
    assert!(first.taken.iter().any(|(_, count)| *count > 0), "some documents were taken");
    // Uses up the rest of the disk; only the reserved space remains.
    disk.take_the_rest("filler");
    tokio::select! {
        () = first.delete_some(&client, 20) => {}
        () = insist(&client) => {}
    }
    first.read_all(&client).await;
    sign_in_and_out(&server).await;
    // Deleting can free space, which is used up as well.
    let mut second = Filled::new(&client, "second", sizes).await;
    disk.take_the_rest("more");
    second.delete_some(&client, 5).await;

    // A crash on the full disk loses nothing. The server starts again after it, and after a graceful stop.
    server.kill();
    let server = farm.start();
    first.read_all(&server.client(&token)).await;
    second.read_all(&server.client(&token)).await;
    assert!(server.stop().success());
    let server = farm.start();
    let client = server.client(&token);
    empty_bins(&client, first.deleted.len() + second.deleted.len()).await;
    sign_in_and_out(&server).await;

    disk.remount("size=256m");
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let answer = put(&client, "room.bin", bytes(1, 1_000_000)).await;
        if answer.status.is_success() {
            break;
        }
        let full = answer.status == StatusCode::INSUFFICIENT_STORAGE && Instant::now() < deadline;
        assert!(full, "with room again, uploads work again: {}", answer.text());
    }
    first.read_all(&client).await;
    second.read_all(&client).await;
    farm.check_blobs();
    assert!(server.stop().success());
}

fn folder(path: &Path) -> &Path {
    std::fs::create_dir_all(path).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_data_directory_stops_uploads_only() {
    let disk = Disk::tmpfs(64);
    runs_full(&Farm::at(disk.path().join("data")), &disk, &[1_000_000, 100_000, 12_000, 100]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_stops_uploads_only() {
    let (disk, scratch) = (Disk::tmpfs(40), tempfile::tempdir().unwrap());
    let data = scratch.path().join("data");
    let _store = disk.bind(folder(&data.join("blobs")));
    runs_full(&Farm::at(data), &disk, &[1_000_000, 100_000]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_database_stops_uploads_only() {
    let (disk, scratch) = (Disk::tmpfs(28), tempfile::tempdir().unwrap());
    let data = scratch.path().join("data");
    let _databases = disk.bind(folder(&data.join("databases")));
    runs_full(&Farm::at(data), &disk, &[12_000, 100]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_that_holds_the_log_too_stops_uploads_only() {
    let disk = Disk::tmpfs(64);
    let mut farm = Farm::at(disk.path().join("data"));
    farm.log = Some(disk.path().join("log"));
    runs_full(&farm, &disk, &[1_000_000, 100_000, 12_000, 100]).await;
}
