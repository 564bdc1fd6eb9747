//! External programs read documents for the search index: where they are installed, and only what they may.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, Farm};
use crate::words::{names, wait_for_results, wait_until_indexed};

const SOON: Duration = Duration::from_secs(120);

fn document(name: &str) -> Vec<u8> {
    let documents = concat!(env!("CARGO_MANIFEST_DIR"), "/../search/tests/documents/");
    std::fs::read(format!("{documents}{name}")).unwrap()
}

async fn get(client: &Client, path: &str) -> Value {
    let answer = client.send(Method::GET, path, Vec::new()).await.unwrap();
    assert!(answer.status.is_success(), "{path}: {}", answer.text());
    answer.json()
}

/// Returns the names and codes of documents whose text cannot be read, in order of their names.
async fn faults(client: &Client) -> Vec<(String, String)> {
    let faults = get(client, "/api/v1/farm/search/faults").await;
    let text = |fault: &Value, key: &str| fault[key].as_str().unwrap().to_owned();
    let mut all: Vec<_> =
        faults["items"].as_array().unwrap().iter().map(|it| (text(it, "name"), text(it, "code"))).collect();
    all.sort();
    all
}

/// Waits until documents with these codes, and no others, cannot be read.
async fn wait_for_faults(client: &Client, expected: &[(&str, &str)]) {
    let deadline = Instant::now() + SOON;
    loop {
        let found = faults(client).await;
        if found.iter().map(|(name, code)| (name.as_str(), code.as_str())).eq(expected.iter().copied()) {
            return;
        }
        assert!(Instant::now() < deadline, "{found:?}");
        // sleep: polled, since the index follows the database by itself
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Programs that are found.
async fn programs(client: &Client) -> Vec<String> {
    let programs = get(client, "/api/v1/farm/search/programs").await;
    let programs = programs["items"].as_array().unwrap().clone();
    let found = programs.iter().filter(|program| program["is_found"] == true);
    found.map(|program| program["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_are_read_once_their_programs_are_installed() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    farm.command_prefix = vec!["/usr/bin/env".to_owned(), "PATH=/nowhere".to_owned()];
    let server = farm.start();
    let token = farm.token();
    let admin = server.client(&token);
    let languages = json!(["eng", "deu"]);
    let settings = |recognizes: bool| {
        json!({ "full_crawl_days": null, "index_encrypted_texts": false, "recognizes_text": recognizes,
            "recognition_languages": languages })
    };
    let set = async |value: Value| {
        admin.prove_json(Method::PUT, "/api/v1/farm/search/settings", &value).await.unwrap().status.as_u16()
    };
    let mut wrong = settings(true);
    wrong["recognition_languages"] = json!(["eng --x"]);
    assert_eq!(set(wrong).await, 400);
    assert_eq!(set(settings(true)).await, 204);
    for name in ["text.doc", "scan.png", "scan.pdf", "text.pdf"] {
        assert!(admin.put(name, document(name)).await.unwrap().status.is_success());
    }
    assert!(admin.put("page.doc", b"<p>Schiefer".to_vec()).await.unwrap().status.is_success());
    assert_eq!(programs(&admin).await, Vec::<String>::new());
    wait_for_results(&admin, "board november", &["text.pdf"]).await;
    wait_for_results(&admin, "schiefer", &["page.doc"]).await;
    let missing = [("scan.pdf", "needs_poppler"), ("scan.png", "needs_tesseract"), ("text.doc", "needs_soffice")];
    wait_for_faults(&admin, &missing).await;
    let text = farm.run(&["crawl", "faults"]).unwrap();
    assert!(text.contains("needs_soffice"), "{text}");

    assert!(server.stop().success());
    farm.command_prefix = Vec::new();
    let left_over = farm.data.join("search/scratch-1-0/profile");
    std::fs::create_dir_all(&left_over).unwrap();
    let server = farm.start();
    let admin = server.client(&token);
    assert!(!left_over.exists(), "what a crash left is removed at the start");
    assert_eq!(programs(&admin).await, ["pdftotext", "soffice", "tesseract"]);
    wait_for_faults(&admin, &[]).await;
    // Changes are read by the programs too.
    assert!(admin.delete("scan.pdf").await.unwrap().status.is_success());
    assert!(admin.put("scan.pdf", document("scan.pdf")).await.unwrap().status.is_success());
    wait_for_results(&admin, "wren nest", &["scan.pdf", "scan.png", "text.doc"]).await;
    assert_eq!(names(&admin, "board november").await, ["text.pdf"]);
    let text = farm.run(&["crawl", "status"]).unwrap();
    assert!(text.contains("pdftotext reads PDF."), "{text}");
    let places = std::fs::read_dir(farm.data.join("search")).unwrap();
    let left = places.filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().starts_with("scratch")).count();
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_faulty_program_costs_nothing_but_its_result() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let path = format!("PATH={}:/usr/bin:/bin", folder.path().display());
    farm.command_prefix = vec!["/usr/bin/env".to_owned(), path];
    // Programs are looked for when the server starts.
    let write_program = |text: &str| {
        let program = folder.path().join("pdftotext");
        std::fs::write(&program, format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write_program("exit 1");
    let server = farm.start();
    let admin = server.client(&farm.token());
    // A document that the first walk reads again while it hangs takes twice the time.
    wait_until_indexed(&admin).await;
    let secret = farm.data.display().to_string();
    for (name, text, expected) in [
        ("hangs", "while :; do :; done", "board november"),
        ("crashes", "kill -SEGV $$", "board november"),
        ("spies", &format!("for f in {secret}/*; do read -r x < $f && echo dotterel; done; echo harmless"), "harmless"),
        ("noise", r"printf '\377\376\f\0\033 dovecote \f'", "dovecote"),
    ] {
        write_program(text);
        let name = format!("{name}.pdf");
        assert!(admin.put(&name, document("text.pdf")).await.unwrap().status.is_success());
        let begun = Instant::now();
        while !names(&admin, expected).await.contains(&name) {
            assert!(begun.elapsed() < SOON, "{name}");
            // sleep: polled, since the index follows the database by itself
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    wait_until_indexed(&admin).await;
    assert_eq!(names(&admin, "dotterel").await, Vec::<String>::new());
}
