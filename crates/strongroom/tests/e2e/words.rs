//! Documents are found by the words in them, soon after they are stored, and by nobody who may not open them. Rights,
//! moves, deletions and replaced content act on the next search.

use std::time::{Duration, Instant};

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, Farm, Server, files_below};

/// Time after which a word that is not found is missing.
const SOON: Duration = Duration::from_secs(60);

/// A farm with a server, its administrator, and a reader without any right.
pub(crate) struct Rig {
    pub(crate) farm: Farm,
    _server: Server,
    pub(crate) admin: Client,
    pub(crate) reader: Client,
    reader_id: String,
    roles: Value,
}

impl Rig {
    pub(crate) async fn new(engine: Engine) -> Self {
        let farm = Farm::on(engine).await;
        let server = farm.start();
        farm.json(&["user", "add", "rita", "--without-password"]);
        let reader_id = farm.json(&["user", "show", "rita"])["id"].as_str().unwrap().to_owned();
        let (admin, reader) = (server.client(&farm.token()), server.client(&reader_token(&farm)));
        let roles = admin.send(Method::GET, "/api/v1/roles", Vec::new()).await.unwrap().json()["items"].clone();
        let rig = Self { farm, _server: server, admin, reader, reader_id, roles };
        let documents = rig.id("Documents").await;
        rig.call(Method::POST, &format!("/api/v1/items/{documents}/permissions/break"), json!({ "copy": false })).await;
        rig
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let answer = self.admin.prove_json(method, path, &body).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
        serde_json::from_slice(&answer.body).unwrap_or(Value::Null)
    }

    pub(crate) async fn id(&self, path: &str) -> String {
        let item = self.call(Method::GET, &format!("/api/v1/items/by-path?path={path}"), Value::Null).await;
        item["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn put(&self, path: &str, text: &str) {
        let answer = self.admin.put(path, text.as_bytes().to_vec()).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {}", answer.text());
    }

    /// Gives the reader a role on an item, or takes it away.
    pub(crate) async fn grant(&self, item: &str, role: &str, is_granted: bool) {
        let role = self.roles.as_array().unwrap().iter().find(|known| known["name"] == role).unwrap();
        let (role, reader) = (role["id"].as_str().unwrap(), &self.reader_id);
        let path = format!("/api/v1/items/{item}/permissions/grants");
        if is_granted {
            self.call(Method::POST, &path, json!({ "principal": reader, "role": role })).await;
        } else {
            self.call(Method::DELETE, &format!("{path}/{reader}/{role}"), Value::Null).await;
        }
    }
}

fn reader_token(farm: &Farm) -> String {
    farm.json(&["user", "token", "create", "rita", "reading"])["secret"].as_str().unwrap().to_owned()
}

/// The answer to a search.
pub(crate) async fn search(client: &Client, text: &str) -> Value {
    let path = format!("/api/v1/search?q={}", text.replace(' ', "%20").replace('"', "%22"));
    let answer = client.send(Method::GET, &path, Vec::new()).await.unwrap();
    assert!(answer.status.is_success(), "{text}: {}", answer.text());
    answer.json()
}

/// The names of what is found.
pub(crate) async fn names(client: &Client, text: &str) -> Vec<String> {
    let found = search(client, text).await;
    found["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

/// Waits until the texts of all documents are in the index. Names are found before, so an answer proves less.
pub(crate) async fn wait_until_indexed(admin: &Client) {
    wait_until_indexed_within(admin, SOON).await;
}

/// The same for very many rows or documents.
pub(crate) async fn wait_until_indexed_within(admin: &Client, time: Duration) {
    let deadline = Instant::now() + time;
    loop {
        let answer = admin.send(Method::GET, "/api/v1/farm/search", Vec::new()).await.unwrap().json();
        let indexes = answer["items"].as_array().unwrap();
        if indexes
            .iter()
            .all(|index| index["state"] == "current" && index["events_behind"] == 0 && index["waiting"] == 0)
        {
            return;
        }
        assert!(Instant::now() < deadline, "the index stays behind: {answer}");
        // sleep: polled, since the index follows the database by itself
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Searches until exactly these items are found.
pub(crate) async fn wait_for_results(client: &Client, text: &str, expected: &[&str]) {
    let deadline = Instant::now() + SOON;
    loop {
        let found = names(client, text).await;
        if found == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{text}: {found:?} are found, not {expected:?}");
        // sleep: polled, since the index follows the database by itself
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn words_are_found(engine: Engine) {
    let rig = Rig::new(engine).await;
    rig.put("pipes.txt", "Die Größe der Rohre\nsteht im Plan.").await;
    rig.put("other.md", "Ein Rohr allein.").await;
    let document = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../search/tests/documents/text.docx")).unwrap();
    assert!(rig.admin.put("text.docx", document).await.unwrap().status.is_success());
    rig.put("broken.docx", "PK\u{3}\u{4} and nothing more").await;
    wait_for_results(&rig.admin, "GROSSE rohre", &["pipes.txt"]).await;
    wait_for_results(&rig.admin, "\"der Rohre\"", &["pipes.txt"]).await;
    assert_eq!(names(&rig.admin, "\"Rohre der\"").await, Vec::<String>::new());
    let found = search(&rig.admin, "grosse rohre").await;
    let pieces = found["passages"][0]["pieces"].clone();
    let expected = [("Die ", false), ("Größe", true), (" der ", false), ("Rohre", true), (" steht im Plan.", false)];
    let expected: Vec<Value> = expected.iter().map(|(text, hit)| json!({ "text": text, "hit": hit })).collect();
    assert_eq!(pieces, Value::Array(expected));
    assert_eq!(found["texts"], "complete");
    let pdf = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../search/tests/documents/text.pdf")).unwrap();
    assert!(rig.admin.put("text.pdf", pdf).await.unwrap().status.is_success());
    rig.put("page.html", "<title>Dachplan</title><script>verborgen</script><p>Schiefer f&uuml;r das Dach").await;
    rig.put("note.eml", "Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\r\n\r\nSchiefer, nachricht").await;
    wait_for_results(&rig.admin, "board agreed november apples müller", &["text.docx", "text.pdf"]).await;
    wait_for_results(&rig.admin, "dachplan schiefer fur", &["page.html"]).await;
    wait_for_results(&rig.admin, "grusse nachricht", &["note.eml"]).await;
    assert_eq!(names(&rig.admin, "verborgen").await, Vec::<String>::new(), "code of a page is no text");
    // A document that cannot be read is found by its name.
    wait_for_results(&rig.admin, "broken", &["broken.docx"]).await;

    rig.put("pipes.txt", "Nothing about that.").await;
    assert_eq!(names(&rig.admin, "grosse rohre").await, Vec::<String>::new(), "replaced content is not found");
    wait_for_results(&rig.admin, "nothing about", &["pipes.txt"]).await;
    let id = rig.id("Documents/other.md").await;
    rig.call(Method::PATCH, &format!("/api/v1/items/{id}"), json!({ "name": "renamed.md" })).await;
    assert_eq!(names(&rig.admin, "öther").await, Vec::<String>::new(), "the old name is not found");
    wait_for_results(&rig.admin, "rohr", &["renamed.md"]).await;
    rig.admin.delete("renamed.md").await.unwrap();
    assert_eq!(names(&rig.admin, "rohr").await, Vec::<String>::new(), "a deleted document is not found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_are_found_on_sqlite() {
    words_are_found(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_are_found_on_postgres() {
    words_are_found(Engine::Postgres).await;
}

async fn rights_act_on_the_next_search(engine: Engine) {
    let rig = Rig::new(engine).await;
    for (path, text) in [("open/a.txt", "canary in the open"), ("shut/b.txt", "canary in the dark")] {
        rig.put(path, text).await;
    }
    wait_for_results(&rig.admin, "canary", &["b.txt", "a.txt"]).await;
    let none = Vec::<String>::new();
    assert_eq!(names(&rig.reader, "canary").await, none, "without a right nothing is found");
    let (open, shut) = (rig.id("Documents/open").await, rig.id("Documents/shut").await);
    rig.call(Method::POST, &format!("/api/v1/items/{open}/permissions/break"), json!({ "copy": false })).await;
    assert_eq!(names(&rig.reader, "canary").await, none);
    rig.grant(&open, "Read", true).await;
    assert_eq!(names(&rig.reader, "canary").await, ["a.txt"], "a grant acts at once");
    rig.grant(&open, "Read", false).await;
    assert_eq!(names(&rig.reader, "canary").await, none, "a revocation acts at once");
    rig.grant(&open, "Read", true).await;

    // A new folder is found in although nothing else has changed.
    rig.put("open/later/c.txt", "a later canary").await;
    wait_for_results(&rig.reader, "later canary", &["c.txt"]).await;
    assert!(rig.admin.delete("open/later/c.txt").await.unwrap().status.is_success());

    // A folder that moves takes the rights of its new place.
    rig.call(Method::POST, &format!("/api/v1/items/{shut}/move"), json!({ "to": open })).await;
    wait_for_results(&rig.reader, "canary", &["b.txt", "a.txt"]).await;
    let moved = rig.id("Documents/open/shut").await;
    rig.call(Method::POST, &format!("/api/v1/items/{moved}/permissions/break"), json!({ "copy": false })).await;
    assert_eq!(names(&rig.reader, "canary").await, ["a.txt"], "own permissions act at once");
    rig.call(Method::POST, &format!("/api/v1/items/{moved}/permissions/restore"), Value::Null).await;
    assert_eq!(names(&rig.reader, "canary").await, ["b.txt", "a.txt"], "inherited permissions act at once");
    let document = rig.id("Documents/open/a.txt").await;
    rig.call(Method::POST, &format!("/api/v1/items/{document}/permissions/break"), json!({ "copy": false })).await;
    assert_eq!(names(&rig.reader, "canary").await, ["b.txt"], "permissions of a document act at once");
    rig.call(Method::DELETE, &format!("/api/v1/items/{moved}"), Value::Null).await;
    assert_eq!(names(&rig.reader, "canary").await, none, "what is in a deleted folder is not found");
    assert_eq!(names(&rig.admin, "canary").await, ["a.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_act_on_the_next_search_on_sqlite() {
    rights_act_on_the_next_search(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_act_on_the_next_search_on_postgres() {
    rights_act_on_the_next_search(Engine::Postgres).await;
}

async fn attachments_are_found_by_those_who_may_open_their_row(engine: Engine) {
    let rig = Rig::new(engine).await;
    let root = rig.id("").await;
    let list = rig.call(Method::POST, &format!("/api/v1/items/{root}/lists"), json!({ "name": "Tasks" })).await;
    let list = list["id"].as_str().unwrap().to_owned();
    rig.call(Method::POST, &format!("/api/v1/items/{list}/permissions/break"), json!({ "copy": false })).await;
    rig.grant(&list, "Read", true).await;
    let (mut rows, none) = (Vec::new(), Vec::<String>::new());
    for title in ["first", "second"] {
        let added = json!({ "changes": [{ "set": { "Title": title } }] });
        let added = rig.call(Method::POST, &format!("/api/v1/items/{list}/changes"), added).await;
        rows.push(added["outcomes"][0]["id"].as_str().unwrap().to_owned());
        let path = format!("/api/v1/items/{}/documents?name={title}.txt", rows[rows.len() - 1]);
        let stored = rig.admin.send(Method::POST, &path, b"a gannet".to_vec()).await.unwrap();
        assert!(stored.status.is_success(), "{}", stored.text());
    }
    wait_for_results(&rig.reader, "gannet", &["second.txt", "first.txt"]).await;
    let found = search(&rig.reader, "gannet").await;
    assert_eq!(found["items"][0]["path"], "Tasks/2/second.txt");
    rig.call(Method::POST, &format!("/api/v1/items/{}/permissions/break", rows[0]), json!({ "copy": false })).await;
    assert_eq!(names(&rig.reader, "gannet").await, ["second.txt"], "permissions of the row act at once");
    wait_until_indexed(&rig.admin).await;
    assert_eq!(names(&rig.reader, "gannet").await, ["second.txt"]);
    assert_eq!(names(&rig.admin, "gannet").await, ["second.txt", "first.txt"]);
    rig.grant(&rows[0], "Read", true).await;
    assert_eq!(names(&rig.reader, "gannet").await, ["second.txt", "first.txt"], "a grant on the row acts at once");
    let deleted = rig.call(Method::DELETE, &format!("/api/v1/items/{}", rows[1]), Value::Null).await;
    assert_eq!(names(&rig.reader, "gannet").await, ["first.txt"], "what a deleted row had is not found");
    wait_until_indexed(&rig.admin).await;
    assert_eq!(names(&rig.reader, "gannet").await, ["first.txt"]);
    let entry = deleted["entry"].as_str().unwrap();
    rig.call(Method::POST, &format!("/api/v1/site-collections/{root}/recycle-bin/{entry}/restore"), Value::Null).await;
    wait_for_results(&rig.reader, "gannet", &["second.txt", "first.txt"]).await;
    rig.call(Method::DELETE, &format!("/api/v1/items/{list}"), Value::Null).await;
    assert_eq!(names(&rig.admin, "gannet").await, none);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_are_found_by_those_who_may_open_their_row_on_sqlite() {
    attachments_are_found_by_those_who_may_open_their_row(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attachments_are_found_by_those_who_may_open_their_row_on_postgres() {
    attachments_are_found_by_those_who_may_open_their_row(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_and_working_copies_are_found_by_those_who_see_them() {
    let rig = Rig::new(Engine::Sqlite).await;
    let documents = rig.id("Documents").await;
    rig.grant(&documents, "Read", true).await;
    let settings = json!({ "versioning": "major-minor" });
    rig.call(Method::PATCH, &format!("/api/v1/items/{documents}/settings"), settings).await;
    rig.put("plan.txt", "published heron").await;
    let plan = rig.id("Documents/plan.txt").await;
    rig.call(Method::POST, &format!("/api/v1/items/{plan}/publish"), json!({})).await;
    wait_for_results(&rig.reader, "heron", &["plan.txt"]).await;
    rig.put("plan.txt", "drafted egret").await;
    wait_for_results(&rig.admin, "egret", &["plan.txt"]).await;
    assert_eq!(names(&rig.reader, "egret").await, Vec::<String>::new(), "a reader sees no draft");
    wait_for_results(&rig.reader, "heron", &["plan.txt"]).await;
    assert_eq!(names(&rig.admin, "heron").await, Vec::<String>::new(), "an editor sees the draft");
    rig.call(Method::PUT, &format!("/api/v1/items/{plan}/check-out"), Value::Null).await;
    rig.put("plan.txt", "working stork").await;
    wait_for_results(&rig.admin, "stork", &["plan.txt"]).await;
    assert_eq!(names(&rig.admin, "egret").await, Vec::<String>::new(), "the holder sees the working copy");
    rig.grant(&documents, "Contribute", true).await;
    assert_eq!(names(&rig.reader, "stork").await, Vec::<String>::new(), "only the holder sees the working copy");
    wait_for_results(&rig.reader, "egret", &["plan.txt"]).await;
}

/// A text of more than the size from which documents are kept in BLOB stores.
fn long(words: &str) -> String {
    format!("{words}\n{}", "filler ".repeat(100_000))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_of_encrypted_stores_are_not_indexed() {
    let rig = Rig::new(Engine::Sqlite).await;
    rig.put("before.txt", &long("an avocet")).await;
    wait_for_results(&rig.admin, "avocet", &["before.txt"]).await;
    rig.farm.json(&["blobs", "stores", "add", "vault", "--kind", "directory", "--path", "vault", "--encrypt"]);
    rig.farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "vault"]);
    rig.put("sealed.txt", &long("a sealed curlew")).await;
    rig.put("after.txt", "a short plover").await;
    wait_for_results(&rig.admin, "plover", &["after.txt"]).await;
    assert_eq!(names(&rig.admin, "curlew").await, Vec::<String>::new());
    assert_eq!(names(&rig.admin, "sealed").await, ["sealed.txt"]);
    let place = rig.farm.data.join("search");
    let files = if place.exists() { files_below(&place) } else { Vec::new() };
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"curlew"), "{}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sites_that_record_reads_show_no_passages() {
    let rig = Rig::new(Engine::Sqlite).await;
    rig.put("early.txt", "an early dunlin").await;
    wait_for_results(&rig.admin, "dunlin", &["early.txt"]).await;
    let passages = async || search(&rig.admin, "dunlin").await["passages"].as_array().unwrap().len();
    assert_eq!(passages().await, 1);
    let site = rig.id("").await;
    rig.call(Method::PATCH, &format!("/api/v1/site-collections/{site}"), json!({ "audit_reads": true })).await;
    assert_eq!(passages().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_or_damaged_index_is_rebuilt() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    // Its index is in the data directory, also where others are on a search server.
    farm.command_prefix = ["env", "-u", "STRONGROOM_SEARCH_SERVER"].map(str::to_owned).into();
    let mut server = farm.start();
    let token = farm.token();
    let mut admin = server.client(&token);
    for number in 0..20 {
        let stored =
            admin.put(&format!("{number}.txt"), format!("word{number} kingfisher").into_bytes()).await.unwrap();
        assert!(stored.status.is_success(), "{}", stored.text());
    }
    wait_for_results(&admin, "word19 kingfisher", &["19.txt"]).await;
    server.kill();
    server = farm.start();
    wait_for_results(&server.client(&token), "word19 kingfisher", &["19.txt"]).await;
    let place = farm.data.join("search");
    for damage in ["cut", "garbled", "gone", "foreign", "footer", "unreadable"] {
        assert!(server.stop().success());
        let files = files_below(&place);
        assert!(files.len() > 3, "{files:?}");
        match damage {
            "gone" => std::fs::remove_dir_all(&place).unwrap(),
            "foreign" => files.iter().for_each(|file| std::fs::write(file, "not an index").unwrap()),
            "cut" => files.iter().for_each(|file| {
                let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
                file.set_len(file.metadata().unwrap().len() / 2).unwrap();
            }),
            "footer" => files.iter().filter(|file| file.extension().is_some_and(|it| it == "idx")).for_each(|file| {
                // The library trusts the length of the table at the end of a file's content, and panics.
                let mut bytes = std::fs::read(file).unwrap();
                let end = bytes.len() - 8;
                let footer = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
                bytes[end - footer - 4..end - footer].fill(0xff);
                std::fs::write(file, bytes).unwrap();
            }),
            // A process was killed, and the disk cannot read a part of a file any more.
            "unreadable" => {
                files.iter().filter(|file| file.extension().is_some_and(|it| it == "store")).for_each(|file| {
                    std::fs::remove_file(file).unwrap();
                    std::os::unix::fs::symlink("/proc/self/mem", file).unwrap();
                    std::fs::write(file.with_file_name("open"), "").unwrap();
                })
            }
            _ => files.iter().filter(|file| file.ends_with("meta.json")).for_each(|file| {
                std::fs::write(file, "{}").unwrap();
            }),
        }
        server = farm.start();
        admin = server.client(&token);
        wait_for_results(&admin, "word19 kingfisher", &["19.txt"]).await;
        let text = format!("late {damage}");
        let stored = admin.put("late.txt", text.clone().into_bytes()).await.unwrap();
        assert!(stored.status.is_success(), "{}", stored.text());
        wait_for_results(&admin, &text, &["late.txt"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_began_with_an_empty_database_follows_it() {
    let farm = Farm::on(Engine::Sqlite).await;
    let mut server = farm.start();
    farm.json(&["site", "database", "add", "second"]);
    let admin = server.client(&farm.token());
    let deadline = Instant::now() + SOON;
    loop {
        let indexes = admin.send(Method::GET, "/api/v1/farm/search", Vec::new()).await.unwrap().json();
        let second = indexes["items"].as_array().unwrap().iter().find(|index| index["database"] == "second").cloned();
        if second.is_some_and(|index| index["state"] == "current") {
            break;
        }
        assert!(Instant::now() < deadline, "no index for the new database: {indexes}");
        // sleep: polled, since the server looks for databases by itself
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(server.stop().success());
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("a.txt"), "a lapwing").unwrap();
    farm.json(&["site", "create", "sites/second", "--database", "second"]);
    farm.json(&["site", "add-library", "sites/second/Files"]);
    farm.json(&["import", files.path().to_str().unwrap(), "sites/second/Files"]);
    server = farm.start();
    wait_for_results(&server.client(&farm.token()), "lapwing", &["a.txt"]).await;
}

/// A PDF whose only page shows a form that shows another one twice, and so on: the work doubles with each of `depth`.
fn slow_pdf(depth: usize) -> Vec<u8> {
    let form = |number: usize| {
        let content = if number < depth { "/X Do /X Do" } else { "" };
        let next = number + 6;
        format!(
            "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {next} 0 R>>>>/Length {}>>\nstream\n\
             {content}\nendstream",
            content.len()
        )
    };
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 9 9]>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>".to_owned(),
        "<</Length 5>>\nstream\n/X Do\nendstream".to_owned(),
    ];
    objects.extend((0..=depth).map(form));
    let (mut file, mut table) = ("%PDF-1.4\n".to_owned(), String::new());
    for (object, number) in objects.iter().zip(1..) {
        table += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{number} 0 obj\n{object}\nendobj\n");
    }
    let (begin, count) = (file.len(), objects.len() + 1);
    file += &format!("xref\n0 {count}\n0000000000 65535 f \n{table}");
    file += &format!("trailer\n<</Root 1 0 R/Size {count}>>\nstartxref\n{begin}\n%%EOF\n");
    file.into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_that_takes_long_to_read_holds_up_no_other() {
    let rig = Rig::new(Engine::Sqlite).await;
    for number in 0..3 {
        let answer = rig.admin.put(&format!("slow{number}.pdf"), slow_pdf(26)).await.unwrap();
        assert!(answer.status.is_success());
    }
    rig.put("quick.html", "<p>Schiefer").await;
    wait_for_results(&rig.admin, "schiefer", &["quick.html"]).await;
    assert!(names(&rig.admin, "slow2").await.contains(&"slow2.pdf".to_owned()), "a slow document is found by name");
    // Slow documents make way after a few seconds, and the page says that texts are missing.
    let is_incomplete = async || search(&rig.admin, "schiefer").await["texts"] != "complete";
    crate::mounted::until("slow documents that wait", is_incomplete).await;
    let metrics = rig.admin.send(Method::GET, "/metrics", Vec::new()).await.unwrap().text();
    let killed = "strongroom_sandbox_total{task=\"run-piped\",result=\"killed\"}";
    assert!(metrics.contains(killed), "the documents are slow: {metrics}");
    // What a slow document says now does not replace what it says later.
    rig.admin.put("slow0.pdf", b"{\\rtf1 no PDF}".to_vec()).await.unwrap();
    rig.put("slow0.pdf.txt", "Dachziegel").await;
    wait_for_results(&rig.admin, "dachziegel", &["slow0.pdf.txt"]).await;
}
