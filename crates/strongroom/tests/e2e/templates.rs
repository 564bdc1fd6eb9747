//! Templates through the API and the command line, with kills while sites are made from them.

use std::fs;
use std::time::Duration;

use database::Engine;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Client, Farm, Random};

/// Number of lists in the template whose sites are interrupted.
const LISTS: usize = 20;
/// The kill comes at a random time after the request, below this many microseconds.
const MOMENT: u64 = 60_000;

fn template() -> String {
    let mut text = "format = 1\nkind = \"site\"\nname = \"large\"\ntitle = \"Large\"\n".to_owned();
    for list in 0..LISTS {
        text += &format!(
            "[[lists]]\nname = \"List {list}\"\nholds = \"rows\"\ncolumns = [{{ name = \"T\", kind = \"text\", role = \
             \"title\" }}, {{ name = \"N\", kind = \"number\" }}]\nviews = [{{ name = \"V\", sort = \"N\" }}]\nrows = ["
        );
        text += &(0..20).map(|row| format!("{{ T = \"Row {row}\", N = {row} }}, ")).collect::<String>();
        text += "]\n";
    }
    text
}

async fn get(client: &Client, path: &str) -> Value {
    let answer = client.send(Method::GET, path, Vec::new()).await.unwrap();
    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
    answer.json()
}

/// Returns the names of all sites below the root site. Each must be whole, with all lists, columns, views and rows.
async fn whole_sites(client: &Client) -> Vec<String> {
    let root = get(client, "/api/v1/items/by-path?path=").await;
    let below = get(client, &format!("/api/v1/items/{}/children?limit=1000", root["id"].as_str().unwrap())).await;
    let mut found = Vec::new();
    for site in below["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "site") {
        let id = site["id"].as_str().unwrap();
        let lists = get(client, &format!("/api/v1/items/{id}/children?limit=1000")).await;
        let lists = lists["items"].as_array().unwrap();
        assert_eq!(lists.len(), LISTS, "{} is partial", site["name"]);
        for list in lists {
            let id = list["id"].as_str().unwrap();
            let rows = get(client, &format!("/api/v1/items/{id}/rows?limit=1000")).await;
            assert_eq!(rows["items"].as_array().unwrap().len(), 20, "{} is partial", list["name"]);
            let columns = get(client, &format!("/api/v1/items/{id}/columns")).await;
            assert!(columns.to_string().contains("\"N\""), "{columns}");
            let views = get(client, &format!("/api/v1/items/{id}/views")).await;
            assert!(views.to_string().contains("\"V\""), "{views}");
        }
        found.push(site["name"].as_str().unwrap().to_owned());
    }
    found
}

async fn kills_leave_whole_sites(engine: Engine, rounds: usize) {
    let mut random = Random::fresh();
    let farm = Farm::on(engine).await;
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    fs::write(file.path(), template()).unwrap();
    let mut server = farm.start();
    let token = farm.token();
    farm.json(&["site", "template", "save", file.path().to_str().unwrap()]);
    let mut acknowledged = Vec::new();
    let mut interrupted = 0;
    for round in 0..rounds {
        let client = server.client(&token);
        let root = get(&client, "/api/v1/items/by-path?path=").await["id"].as_str().unwrap().to_owned();
        let url = format!("/api/v1/items/{root}/sites");
        let name = format!("Site {round}");
        let body = json!({ "name": name, "template": "large" });
        let making = tokio::spawn(async move { client.send_json(Method::POST, &url, &body).await });
        // sleep: the kill must come at a random moment of the creation
        tokio::time::sleep(Duration::from_micros(random.below(MOMENT))).await;
        server.kill();
        match making.await.unwrap() {
            Ok(answer) => {
                assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
                acknowledged.push(name);
            }
            Err(_) => interrupted += 1,
        }
        server = farm.start();
        let found = whole_sites(&server.client(&token)).await;
        assert!(acknowledged.iter().all(|name| found.contains(name)), "{found:?} lacks one of {acknowledged:?}");
    }
    println!("{} sites were acknowledged, {interrupted} were interrupted", acknowledged.len());
    assert!(interrupted > 0, "no kill came in time");
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_leave_whole_sites_on_sqlite() {
    kills_leave_whole_sites(Engine::Sqlite, 16).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_leave_whole_sites_on_postgres() {
    kills_leave_whole_sites(Engine::Postgres, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn templates_are_saved_and_applied_by_the_command_line() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let listed = farm.json(&["site", "template", "list"]);
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "team",
            "publishing",
            "department",
            "personal",
            "tasks",
            "contacts",
            "announcements",
            "issues",
            "links",
            "survey"
        ]
    );
    farm.json(&["site", "template", "apply", "team", "Team", "--language", "de", "--ask", "Owners=admin"]);
    let tasks = get(&client, "/api/v1/items/by-path?path=Team/Aufgaben").await;
    assert_eq!(tasks["kind"], "list");
    farm.json(&["site", "template", "apply", "survey", "Team/Lunch"]);
    assert_eq!(get(&client, "/api/v1/items/by-path?path=Team/Lunch").await["kind"], "list");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    let file = file.to_str().unwrap();
    farm.json(&["site", "template", "save", "Team", "--name", "mine", "--rows", "--to", file]);
    farm.json(&["site", "template", "apply", file, "Second"]);
    assert_eq!(get(&client, "/api/v1/items/by-path?path=Second/Lunch").await["kind"], "list");
    farm.json(&["site", "template", "save", file, "--site", "/"]);
    assert_eq!(farm.json(&["site", "template", "list", "--site", "Team"]).as_array().unwrap().len(), 11);
    assert_eq!(farm.json(&["site", "template", "list"]).as_array().unwrap().len(), 10);
    farm.json(&["site", "template", "apply", "mine", "Team/Third"]);
    farm.json(&["site", "template", "delete", "mine", "--site", "/"]);
    fs::write(
        file,
        "format = 1\nkind = \"site\"\nname = \"x\"\ntitle = \"X\"\n[[lists]]\nname = \"L\"\nformulas = 1\n",
    )
    .unwrap();
    let refused = farm.run(&["site", "template", "apply", file, "Fourth"]).unwrap_err();
    assert!(refused.output.contains("line 7: unknown field `formulas`"), "{}", refused.output);
    assert!(server.stop().success());
}
