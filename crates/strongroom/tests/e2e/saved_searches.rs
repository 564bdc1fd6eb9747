//! Saved searches through the API: their new documents, their feeds, and that they are kept in a backup.

use std::process::Command;

use database::Engine;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::backups::{Place, restored};
use crate::support::{Answer, Client};
use crate::words::{Rig, wait_until_indexed};

/// Checks what RFC 4287 demands of a feed, and prints the titles of its entries.
const CHECK: &str = r#"
import datetime, sys, xml.etree.ElementTree as tree
A = "{http://www.w3.org/2005/Atom}"
feed = tree.fromstring(sys.stdin.buffer.read())
assert feed.tag == A + "feed", feed.tag
entries = feed.findall(A + "entry")
for part in [feed, *entries]:
    for name in ["id", "title", "updated"]:
        assert len(part.findall(A + name)) == 1 and part.find(A + name).text, (part.tag, name)
    moment = part.find(A + "updated").text
    assert moment.endswith("Z"), moment
    datetime.datetime.fromisoformat(moment.replace("Z", "+00:00"))
    links = [link for link in part.findall(A + "link") if link.get("rel") == "alternate"]
    assert len(links) == 1 and links[0].get("href").startswith("http://"), links
    assert part.find(A + "id").text.startswith("http://")
assert feed.find(A + "author").find(A + "name").text
assert [link.get("rel") for link in feed.findall(A + "link")] == ["self", "alternate"]
ids = [entry.find(A + "id").text for entry in entries]
assert len(set(ids)) == len(ids), ids
for entry in entries:
    print(entry.find(A + "title").text, "|", entry.find(A + "author").find(A + "name").text, "|",
        entry.find(A + "summary").text)
"#;

async fn get(client: &Client, path: &str) -> Answer {
    client.send(Method::GET, path, Vec::new()).await.unwrap()
}

async fn save(client: &Client, body: &Value) -> String {
    let answer = client.send_json(Method::POST, "/api/v1/saved-searches", body).await.unwrap();
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
    format!("/api/v1/saved-searches/{}", answer.json()["id"].as_str().unwrap())
}

/// Returns the names of the new documents of a saved search, and the answer.
async fn new_of(client: &Client, search: &str) -> (Vec<String>, Value) {
    let answer = get(client, &format!("{search}/new")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    let new = answer.json();
    assert_eq!((new["texts"].as_str(), new["complete"].as_bool()), (Some("complete"), Some(true)));
    let names = new["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned());
    (names.collect(), new)
}

/// Returns the entries of a valid feed, one on each line.
fn entries(feed: &Answer) -> Vec<String> {
    assert_eq!(feed.status, StatusCode::OK, "{}", feed.text());
    assert_eq!(feed.header("content-type"), "application/atom+xml; charset=utf-8");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &feed.body).unwrap();
    let mut python = Command::new("python3");
    let done = python.args(["-c", CHECK]).stdin(file.reopen().unwrap()).output().unwrap();
    assert!(done.status.success(), "{}\n{}", String::from_utf8_lossy(&done.stderr), feed.text());
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}

async fn new_documents_are_told(engine: Engine) {
    let rig = Rig::new(engine).await;
    rig.put("open/one.txt", "a canary in the open").await;
    rig.put("shut/two.txt", "a canary in the dark").await;
    let (open, shut) = (rig.id("Documents/open").await, rig.id("Documents/shut").await);
    for folder in [&open, &shut] {
        rig.call(Method::POST, &format!("/api/v1/items/{folder}/permissions/break"), json!({ "copy": false })).await;
    }
    rig.grant(&open, "Read", true).await;
    wait_until_indexed(&rig.admin).await;
    let reader = &rig.reader;
    let search = save(reader, &json!({ "name": "Birds", "query": "canary", "alert": "at-once" })).await;
    assert_eq!(new_of(reader, &search).await.0, Vec::<String>::new(), "what is there is seen");
    rig.put("open/three <&>.txt", "another canary, newer").await;
    wait_until_indexed(&rig.admin).await;
    let (names, new) = new_of(reader, &search).await;
    assert_eq!(names, ["three <&>.txt"]);
    assert_eq!((&new["documents"], &new["passages"][0]["pieces"][1]["text"]), (&json!(1), &json!("canary")));
    // Rights decide when they are asked for.
    rig.grant(&open, "Read", false).await;
    assert_eq!(new_of(reader, &search).await.0, Vec::<String>::new(), "hidden at once");
    assert_eq!(entries(&get(reader, &format!("{search}/feed")).await), Vec::<String>::new());
    rig.grant(&open, "Read", true).await;
    rig.grant(&shut, "Read", true).await;
    assert_eq!(new_of(reader, &search).await.0, ["three <&>.txt", "two.txt"], "what became visible is new");

    let feed = get(reader, &format!("{search}/feed")).await;
    assert_eq!(
        entries(&feed),
        [
            "three <&>.txt | Administrator | another canary, newer",
            "two.txt | Administrator | a canary in the dark",
            "one.txt | Administrator | a canary in the open",
        ]
    );
    let tag = feed.header("etag").to_owned();
    let fields = [("if-none-match", tag.as_str())];
    let again = reader.send_with(Method::GET, &format!("{search}/feed"), &fields, Vec::new()).await.unwrap();
    assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
    rig.grant(&shut, "Read", false).await;
    let changed = reader.send_with(Method::GET, &format!("{search}/feed"), &fields, Vec::new()).await.unwrap();
    assert_eq!(entries(&changed).len(), 2, "a feed that lost an entry has changed");

    let shown = json!({ "versions": new["versions"] });
    let seen = reader.send_json(Method::PUT, &format!("{search}/seen"), &shown).await.unwrap();
    assert_eq!(seen.status, StatusCode::NO_CONTENT, "{}", seen.text());
    assert_eq!(new_of(reader, &search).await.0, Vec::<String>::new());
    // A feed does not depend on what was seen.
    assert_eq!(entries(&get(reader, &format!("{search}/feed")).await).len(), 2);

    // Nobody else has it, and the answers are those for what does not exist.
    for path in ["", "/new", "/feed"] {
        let answer = get(&rig.admin, &format!("{search}{path}")).await;
        let absent = get(&rig.admin, &format!("/api/v1/saved-searches/1{path}")).await;
        assert_eq!((answer.status, absent.status), (StatusCode::NOT_FOUND, StatusCode::NOT_FOUND), "{path}");
    }
    assert_eq!(get(&rig.admin, "/api/v1/saved-searches").await.json()["items"], json!([]));
    // A daily feed has entries for past days only.
    let daily = json!({ "name": "BIRDS", "query": "canary", "alert": "daily" });
    let changed = reader.send_json(Method::PUT, &search, &daily).await.unwrap();
    assert_eq!((changed.status, &changed.json()["name"]), (StatusCode::OK, &json!("BIRDS")));
    assert_eq!(entries(&get(reader, &format!("{search}/feed")).await), Vec::<String>::new());

    let place = Place::new();
    rig.farm.json(&["backup", &place.text("backups")]);
    let farm = restored(engine, &place, "backups", "restored", &[]).await;
    let server = farm.start();
    let token = farm.json(&["user", "token", "create", "rita", "again"])["secret"].as_str().unwrap().to_owned();
    let kept = get(&server.client(&token), &search).await;
    assert_eq!(kept.json()["alert"], "daily", "{}", kept.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_documents_are_told_on_sqlite() {
    new_documents_are_told(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_documents_are_told_on_postgres() {
    new_documents_are_told(Engine::Postgres).await;
}
