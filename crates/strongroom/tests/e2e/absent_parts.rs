//! Responses while a content database is damaged or unavailable. No response says that all is well, that the farm is
//! new or empty, or that a BLOB is unreferenced. Everything that does not need that database keeps working.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use database::Engine;
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::support::{Browser, Client, Farm, PASSWORD, Server, bytes};

const TIMEOUT: Duration = Duration::from_secs(60);

/// The pages for farm administrators, and the general entry pages.
const PAGES: [&str; 15] = [
    "/",
    "/sites",
    "/search?q=report",
    "/farm",
    "/farm/figures",
    "/farm/audit",
    "/farm/users",
    "/farm/groups",
    "/farm/roles",
    "/farm/stores",
    "/farm/policies",
    "/farm/jobs",
    "/farm/reclaim",
    "/farm/faults",
    "/farm/sites/new",
];

/// The pages in [`PAGES`] that show contents of content databases without a row for each database. They must name the
/// missing one.
const PAGES_NAMING_DATABASES: [&str; 6] =
    ["/", "/sites", "/search?q=report", "/farm/roles", "/farm/reclaim", "/farm/faults"];

/// A farm with a document in its only content database.
async fn filled() -> Farm {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    assert!(client.put("report.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    farm
}

/// Flips a bit in each page of the file that contains `word`.
fn damage_pages(file: &Path, word: &str) {
    let mut found = fs::read(file).unwrap();
    let size = usize::from(u16::from_be_bytes([found[16], found[17]]));
    let size = if size == 1 { 65_536 } else { size };
    let mut hit = 0;
    for page in found.chunks_mut(size).skip(1) {
        if let Some(at) = page.windows(word.len()).position(|part| part == word.as_bytes()) {
            page[at] ^= 1;
            hit += 1;
        }
    }
    assert!(hit > 0, "no page has {word}");
    fs::write(file, found).unwrap();
}

/// Starts a server and waits until it listens. It does not become ready while its only content database is broken.
fn started(farm: &Farm) -> Server {
    let mut server = farm.spawn();
    server.wait_until_it_listens();
    server
}

async fn text(client: &Client, path: &str) -> String {
    client.send(Method::GET, path, Vec::new()).await.unwrap().text()
}

async fn wait_for(client: &Client, path: &str, wanted: &str) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let found = text(client, path).await;
        if found.contains(wanted) {
            return;
        }
        assert!(Instant::now() < deadline, "{path} never says {wanted}: {found}");
        // sleep: polled, since the server finds the damage in the background without a notification
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Checks that all pages are shown, and that those in [`PAGES_NAMING_DATABASES`] name the missing database.
async fn every_page_is_shown_without(server: &Server, database: &str) {
    let mut browser = Browser::at(&server.address);
    assert_eq!(browser.sign_in("admin", PASSWORD).await.status, StatusCode::SEE_OTHER);
    for path in PAGES {
        let page = browser.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text);
        if PAGES_NAMING_DATABASES.contains(&path) {
            assert!(
                page.text.contains(&format!("contents of the content database {database} are missing from")),
                "{path}: {}",
                page.text
            );
        }
        assert!(!page.text.contains("Welcome to your new farm"), "{path}: {}", page.text);
        assert!(!page.text.contains("<h2>Nothing found</h2>"), "{path}: {}", page.text);
    }
    let part = browser.get("/search?part=yes&q=report").await.text;
    assert!(part.contains(&format!("<p>The contents of the content database {database} cannot be searched")), "{part}");
    let farm = browser.get("/farm").await.text;
    let sites = farm.split("Site collections</h2>").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(sites.contains(&format!("\"{database}\"")) || sites.contains(&format!("&#34;{database}&#34;")), "{sites}");
    assert!(sites.contains('–'), "{sites}");
    assert!(!sites.contains(">0<"), "{sites}");
    assert!(!sites.contains(">0 "), "{sites}");
}

/// Checks that users who are not farm administrators are informed that something is missing, but never see the name of
/// a database.
async fn database_names_are_hidden_from_users(server: &Server, client: &Client, database: &str, away: bool) {
    let account = json!({"login": "reader", "password": PASSWORD});
    let made = client.prove_json(Method::POST, "/api/v1/users", &account).await.unwrap();
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let mut browser = Browser::at(&server.address);
    assert_eq!(browser.sign_in("reader", PASSWORD).await.status, StatusCode::SEE_OTHER);
    for path in ["/", "/sites", "/search?q=report", "/search?part=yes&q=report"] {
        let page = browser.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text);
        let told = page.text.contains("Something is not available at the moment");
        assert!(told || !away && path != "/", "{path}: {}", page.text);
        assert!(!page.text.contains(&format!("database {database}")), "{path}: {}", page.text);
    }
    let refused = browser.get("/browse/Documents").await;
    if away {
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text);
    }
    assert!(!refused.text.contains("content database"), "{}", refused.text);
}

async fn answers_say_what_is_missing(client: &Client, database: &str) {
    for path in ["/api/v1/me/home", "/api/v1/search?q=report"] {
        let answer = client.send(Method::GET, path, Vec::new()).await.unwrap();
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
        assert_eq!(answer.json()["incomplete"], json!([database]), "{path}: {}", answer.text());
        assert_eq!(answer.json()["complete"], json!(false), "{path}: {}", answer.text());
    }
    let sites = client.send(Method::GET, "/api/v1/site-collections", Vec::new()).await.unwrap();
    assert_eq!(sites.status, StatusCode::OK, "{}", sites.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_content_database_is_told_of_everywhere_and_no_page_fails() {
    let farm = filled().await;
    let backups = farm.data.with_extension("backups").display().to_string();
    damage_pages(&farm.data.join("databases/main.sqlite"), "report.bin");
    let server = started(&farm);
    let client = server.client(&farm.token_named("another"));
    wait_for(&client, "/readyz", "it is damaged").await;
    wait_for(&client, "/metrics", "strongroom_health_findings{rule=\"database-damaged\"} 1").await;
    every_page_is_shown_without(&server, "main").await;
    answers_say_what_is_missing(&client, "main").await;
    database_names_are_hidden_from_users(&server, &client, "main", false).await;
    let health = text(&client, "/api/v1/farm/health").await;
    assert!(health.contains("strongroom restore BACKUP --content-database main"), "{health}");
    assert!(server.stop().success());

    let health = farm.run(&["blobs", "health"]).unwrap_err();
    assert_eq!(health.status.code(), Some(1), "{}", health.output);
    assert!(health.output.contains("content database main"), "{}", health.output);
    assert!(!health.output.contains("All is well"), "{}", health.output);
    let check = farm.run(&["blobs", "check"]).unwrap_err();
    assert_eq!(check.status.code(), Some(1), "{}", check.output);
    assert!(check.output.contains("The other databases may need them"), "{}", check.output);
    assert!(!check.output.contains("does no harm"), "{}", check.output);
    let refused = farm.run(&["backup", &backups]).unwrap_err();
    assert!(refused.output.contains("\"main\""), "{}", refused.output);
    assert!(!refused.output.contains("incoming"), "{}", refused.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_farm_whose_content_database_is_away_does_not_look_new() {
    let farm = filled().await;
    let file = farm.data.join("databases/main.sqlite");
    fs::rename(&file, file.with_extension("aside")).unwrap();
    let server = started(&farm);
    let client = server.client(&farm.token_named("another"));
    every_page_is_shown_without(&server, "main").await;
    answers_say_what_is_missing(&client, "main").await;
    database_names_are_hidden_from_users(&server, &client, "main", true).await;
    let status = client.send(Method::GET, "/api/v1/farm/status", Vec::new()).await.unwrap().json();
    assert_eq!(status["databases"][0]["bytes"], json!(null), "{status:#}");
    let check = farm.run(&["blobs", "check"]).unwrap_err();
    assert_eq!(check.status.code(), Some(3), "{}", check.output);
    assert!(check.output.contains("The other databases may need them"), "{}", check.output);
    assert!(!check.output.contains("does no harm"), "{}", check.output);
    assert!(server.stop().success());

    fs::rename(file.with_extension("aside"), &file).unwrap();
    let server = farm.start();
    let home = text(&server.client(&farm.token_named("third")), "/api/v1/me/home").await;
    assert!(home.contains("report.bin"), "{home}");
    assert!(home.contains("\"incomplete\":[]"), "{home}");
}
