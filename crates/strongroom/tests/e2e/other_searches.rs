//! Searches for words of texts through WebDAV and on the command line.

use std::collections::BTreeSet;
use std::process::Command;

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, Farm};
use crate::words::{Rig, wait_until_indexed};

/// Sends a SEARCH. Returns the paths that were found below `/dav/`, and whether the answer says that it is not whole.
async fn sought(client: &Client, scope: &str, depth: &str, condition: &str) -> (BTreeSet<String>, bool) {
    let text = search(client, scope, depth, condition).await;
    let hrefs = text.split("<D:href>/dav/").skip(1).map(|part| part.split('<').next().unwrap().to_owned());
    let is_cut = text.contains(" 507 ");
    // The last one is that of the remark that there is more.
    let found: Vec<String> = hrefs.collect();
    (found[..found.len() - usize::from(is_cut)].iter().cloned().collect(), is_cut)
}

async fn search(client: &Client, scope: &str, depth: &str, condition: &str) -> String {
    let body = format!(
        "<D:searchrequest xmlns:D='DAV:'><D:basicsearch><D:select><D:prop><D:getetag/></D:prop></D:select><D:from>\
         <D:scope><D:href>/dav/{scope}</D:href><D:depth>{depth}</D:depth></D:scope></D:from>\
         <D:where>{condition}</D:where></D:basicsearch></D:searchrequest>"
    );
    let verb = Method::from_bytes(b"SEARCH").unwrap();
    let answer = client.send(verb, "/dav/", body.into_bytes()).await.unwrap();
    assert_eq!(answer.status, 207, "{condition}: {}", answer.text());
    answer.text()
}

fn contains(words: &str) -> String {
    format!("<D:contains>{words}</D:contains>")
}

fn not(condition: &str) -> String {
    format!("<D:not>{condition}</D:not>")
}

fn both(one: &str, other: &str) -> String {
    format!("<D:and>{one}{other}</D:and>")
}

fn is_named(name: &str) -> String {
    format!("<D:eq><D:prop><D:displayname/></D:prop><D:literal>{name}</D:literal></D:eq>")
}

async fn webdav_finds_words_of_texts(engine: Engine) {
    let rig = Rig::new(engine).await;
    rig.put("Reports/plan.html", "<p>heron and egrets</p>").await;
    rig.put("Reports/deep/low.txt", "heron in the reed").await;
    rig.put("minutes.txt", "heron, in the minutes").await;
    rig.put("other.txt", "nothing of that kind NOT").await;
    wait_until_indexed(&rig.admin).await;
    let document = "<D:is-defined><D:prop><D:getcontentlength/></D:prop></D:is-defined>";
    let (plan, low) = ("Documents/Reports/plan.html", "Documents/Reports/deep/low.txt");
    let (minutes, other) = ("Documents/minutes.txt", "Documents/other.txt");
    for (scope, depth, condition, expected) in [
        ("", "infinity", contains("heron"), vec![plan, low, minutes]),
        ("Documents/", "1", contains("heron"), vec![minutes]),
        ("Documents/", "0", contains("heron"), vec![]),
        ("Documents/Reports", "infinity", contains("Herons"), vec![plan, low]),
        ("Documents/Reports", "1", contains("heron"), vec![plan]),
        ("Documents/minutes.txt", "0", contains("heron"), vec![minutes]),
        ("Documents/other.txt", "0", contains("heron"), vec![]),
        ("Documents", "infinity", contains("egret heron"), vec![plan]),
        ("Documents", "infinity", contains("kind NOT nothing"), vec![other]),
        ("Documents", "infinity", contains("-- ?"), vec![]),
        ("Documents", "infinity", both(&contains("heron"), &not(&contains("egret"))), vec![low, minutes]),
        ("Documents", "infinity", both(&contains("heron"), &contains("reed")), vec![low]),
        ("Documents", "infinity", both(&contains("heron"), &is_named("minutes.txt")), vec![minutes]),
        ("Documents", "infinity", both(document, &not(&contains("heron"))), vec![other]),
        (
            "Documents",
            "infinity",
            format!("<D:or>{}{}</D:or>", contains("egret"), is_named("other.txt")),
            vec![plan, other],
        ),
    ] {
        let found = sought(&rig.admin, scope, depth, &condition).await;
        let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(found, (expected, false), "{scope} {depth} {condition}");
    }
    // A moved document is in its new place at once.
    let (moved, reports) = (rig.id(minutes).await, rig.id("Documents/Reports").await);
    rig.call(Method::POST, &format!("/api/v1/items/{moved}/move"), json!({ "to": reports })).await;
    let found = sought(&rig.admin, "Documents/Reports", "1", &contains("heron")).await.0;
    assert_eq!(found, BTreeSet::from([plan.to_owned(), "Documents/Reports/minutes.txt".to_owned()]));
}

async fn webdav_finds_nothing_hidden(engine: Engine) {
    let rig = Rig::new(engine).await;
    rig.put("open/seen.txt", "heron for everybody").await;
    rig.put("plain/other.txt", "egrets for everybody").await;
    rig.put("secret/hidden.txt", "nothing").await;
    let (open, plain) = (rig.id("Documents/open").await, rig.id("Documents/plain").await);
    for folder in [&open, &plain] {
        rig.call(Method::POST, &format!("/api/v1/items/{folder}/permissions/break"), json!({ "copy": false })).await;
        rig.grant(folder, "Read", true).await;
    }
    wait_until_indexed(&rig.admin).await;
    let document = "<D:is-defined><D:prop><D:getcontentlength/></D:prop></D:is-defined>";
    let conditions = [contains("heron"), both(document, &not(&contains("nothing"))), contains("egret")];
    let mut before = Vec::new();
    for condition in &conditions {
        before.push(search(&rig.reader, "", "infinity", condition).await);
    }
    assert!(before[0].contains("seen.txt"), "{}", before[0]);
    for number in 0..30 {
        rig.put(&format!("secret/heron {number}.txt"), "heron egret nothing").await;
    }
    wait_until_indexed(&rig.admin).await;
    for (condition, before) in conditions.iter().zip(before) {
        assert_eq!(search(&rig.reader, "", "infinity", condition).await, before, "{condition}");
    }
    assert_eq!(sought(&rig.admin, "", "infinity", &contains("egret")).await.0.len(), 31);
    rig.grant(&open, "Read", false).await;
    let found = sought(&rig.reader, "", "infinity", &contains("heron")).await;
    assert_eq!(found, (BTreeSet::new(), false), "a right that was taken away counts at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webdav_finds_words_of_texts_on_sqlite() {
    webdav_finds_words_of_texts(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webdav_finds_words_of_texts_on_postgres() {
    webdav_finds_words_of_texts(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webdav_finds_nothing_hidden_on_sqlite() {
    webdav_finds_nothing_hidden(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webdav_finds_nothing_hidden_on_postgres() {
    webdav_finds_nothing_hidden(Engine::Postgres).await;
}

/// Runs `strongroom search`. Returns its exit status, output and messages.
fn command(farm: &Farm, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    let output = command.arg("search").args(words).arg("--data").arg(&farm.data).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn paths(found: &Value) -> Vec<&str> {
    found["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_finds_words_with_and_without_a_server() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    for (path, text) in [
        ("Reports/plan.txt", "A heron stood there.\nIt was grey."),
        ("minutes.txt", "the minutes of the meeting about the heron"),
        ("heron.txt", "none"),
    ] {
        assert!(client.put(path, text.as_bytes().to_vec()).await.unwrap().status.is_success());
    }
    wait_until_indexed(&client).await;
    let (status, text, remarks) = command(&farm, &["heron stood"]);
    assert_eq!((status, remarks.as_str()), (0, ""), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("Z  Documents/Reports/plan.txt"), "{text}");
    assert_eq!(lines[1..], ["    A heron stood there. It was grey."], "{text}");
    let found = farm.json(&["search", "heron", "--sort", "largest"]);
    let by_size = ["Documents/minutes.txt", "Documents/Reports/plan.txt", "Documents/heron.txt"];
    assert_eq!((paths(&found), &found["documents"], &found["more"]), (by_size.to_vec(), &json!(3), &json!(false)));
    let hits = found["items"][1]["passage"]["pieces"].as_array().unwrap();
    assert!(hits.iter().any(|piece| *piece == json!({ "text": "heron", "hit": true })), "{found}");
    let found = farm.json(&["search", "heron", "--sort", "smallest", "--limit", "1"]);
    assert_eq!((paths(&found), &found["more"]), (vec!["Documents/heron.txt"], &json!(true)));
    // An operator in the query does not lead out of the folder.
    let found = farm.json(&["search", "none OR heron", "--in", "Documents/Reports/"]);
    assert_eq!(paths(&found), ["Documents/Reports/plan.txt"]);
    let found = farm.json(&["search", "heron)", "--in", "Documents/Reports"]);
    assert_eq!((paths(&found), &found["remarks"][0]["reason"]), (vec![by_size[1]], &json!("unmatched_parenthesis")));
    let (status, text, remarks) = command(&farm, &["kingfisher \"flies"]);
    assert_eq!((status, text.as_str()), (0, "Nothing was found.\n"));
    assert!(remarks.contains("“\"flies”: the quotation mark is not closed"), "{remarks}");
    let (status, _, said) = command(&farm, &["heron", "--in", "Documents/nowhere"]);
    assert_eq!(status, 2, "{said}");
    assert!(command(&farm, &["heron", "--in", "Documents/heron.txt"]).2.contains("is a document"));

    server.stop();
    let (status, text, remarks) = command(&farm, &["stood"]);
    assert_eq!((status, remarks.as_str()), (0, ""), "{text}");
    assert!(text.contains("Documents/Reports/plan.txt"), "{text}");
    // Without an index, documents are found by name, and the command says that texts were not searched.
    let index = farm.data.join("search");
    std::fs::rename(&index, farm.data.join("search-aside")).unwrap();
    let (status, text, remarks) = command(&farm, &["heron"]);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("Documents/heron.txt") && !text.contains("plan.txt"), "{text}");
    assert!(remarks.contains("Texts in the content database \"main\" were not searched"), "{remarks}");
    assert!(!index.exists(), "a search makes no index");
}
