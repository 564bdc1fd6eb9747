//! Documents below many folders with names of maximum length; each path is 130 KB long.

use database::Engine;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Client, Farm, Server, processes};

const FOLDERS: usize = 125;
/// Number of folders whose names together reach the maximum path length in an archive.
const IN_ARCHIVE: usize = 57;
const DOCUMENTS: usize = 400;

/// Runs `work`. Returns its result and the peak rise of the server's memory in MiB.
async fn rise<T>(server: &Server, work: impl Future<Output = T>) -> (T, u64) {
    // Resets the peak memory (`VmHWM`) to the current value.
    std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
    let before = processes::memory(server.pid(), "VmHWM");
    let done = work.await;
    (done, (processes::memory(server.pid(), "VmHWM") - before) >> 10)
}

async fn made(client: &Client, path: &str, body: &Value) -> String {
    let answer = client.send_json(Method::POST, path, body).await.unwrap();
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// Fetches a page of a folder's children. Returns their number and the cursor of the next page.
async fn page(client: &Client, folder: &str, cursor: &str) -> (usize, String) {
    let path = format!("/api/v1/items/{folder}/children?limit=1000{cursor}");
    let answer = client.send(Method::GET, &path, Vec::new()).await.unwrap();
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    assert!(answer.body.len() < 4 << 20, "a page of {} bytes", answer.body.len());
    let page = answer.json();
    (page["items"].as_array().unwrap().len(), page["next"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn long_paths_are_not_multiplied() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let library = client.send(Method::GET, "/api/v1/items/by-path?path=Documents", Vec::new()).await.unwrap();
    let library = library.json()["id"].as_str().unwrap().to_owned();
    let (mut folder, mut top) = (library, String::new());
    let name = "\u{10348}".repeat(255);
    for number in 0..FOLDERS {
        folder = made(&client, &format!("/api/v1/items/{folder}/folders"), &json!({ "name": name })).await;
        if number == FOLDERS - IN_ARCHIVE {
            top = folder.clone();
        }
    }
    for number in 0..DOCUMENTS {
        let path = format!("/api/v1/items/{folder}/documents?name={number}.txt");
        let answer = client.send(Method::POST, &path, Vec::new()).await.unwrap();
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
    }
    let (pages, memory) = rise(&server, join_all((0..8).map(|_| page(&client, &folder, "")))).await;
    println!("8 pages of {} documents: {memory} MiB", pages[0].0);
    assert!(memory < 96, "{memory} MiB");
    // Paging lists all documents.
    let (mut count, mut cursor) = (0, String::new());
    loop {
        let (more, next) = page(&client, &folder, &cursor).await;
        count += more;
        if next.is_empty() {
            break;
        }
        cursor = format!("&cursor={next}");
    }
    assert_eq!(count, DOCUMENTS);
    let archive = async {
        let path = format!("/api/v1/archive?ids={top}");
        let answer = client.send(Method::GET, &path, Vec::new()).await.unwrap();
        (answer.status, answer.text())
    };
    let ((status, text), memory) = rise(&server, archive).await;
    println!("an archive of it: {status}, {memory} MiB");
    assert!(status == StatusCode::INSUFFICIENT_STORAGE, "{status}");
    assert!(text.contains("archive_too_large"), "{status}");
    assert!(memory < 64, "{memory} MiB");
}
