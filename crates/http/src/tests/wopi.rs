//! WOPI as office servers speak it: the exchanges of an editing, locks that several users share, and requests that lie.

use axum::body::Body;
use model::Code;
use repository::{Client, Destination, RoleGrant, Session, Target, UploadOptions};

use super::{Farm, PASSWORD, Reply};

/// A document that is open in an editor.
struct Editor<'a> {
    farm: &'a Farm,
    id: String,
    token: String,
}

/// A farm whose operator has an office server.
async fn farm() -> Farm {
    let office = crate::OfficeServer::new("http://127.0.0.1:9").unwrap();
    Farm::with(|options| options.office_server = Some(office)).await
}

async fn session(farm: &Farm, login: &str) -> Session {
    let client = Client { address: [127, 0, 0, 1].into(), agent: String::new(), device: None };
    let caller = farm.repository.caller_from_password(login, PASSWORD, &client).await.unwrap().unwrap();
    farm.repository.as_caller(caller.principal)
}

async fn token(farm: &Farm, login: &str, id: &str) -> model::Result<String> {
    let session = session(farm, login).await;
    Ok(session.create_edit_token(&Target::Id(id.parse().unwrap())).await?.secret)
}

async fn open<'a>(farm: &'a Farm, login: &str, id: &str) -> Editor<'a> {
    Editor { farm, id: id.to_owned(), token: token(farm, login, id).await.unwrap() }
}

impl Editor<'_> {
    async fn send(&self, method: &str, path: &str, fields: &[(&str, &str)], body: &str) -> Reply {
        let address = format!("/wopi/files/{}{path}?access_token={}&access_token_ttl=1", self.id, self.token);
        self.farm.send_as("", method, &address, fields, Body::from(body.to_owned())).await
    }

    async fn info(&self) -> Reply {
        self.send("GET", "", &[], "").await
    }

    async fn change(&self, operation: &str, fields: &[(&str, &str)]) -> Reply {
        let all: Vec<_> = fields.iter().copied().chain([("x-wopi-override", operation)]).collect();
        self.send("POST", "", &all, "").await
    }

    async fn lock(&self, id: &str) -> Reply {
        self.change("LOCK", &[("x-wopi-lock", id)]).await
    }

    async fn put(&self, lock: &str, text: &str) -> Reply {
        self.send("POST", "/contents", &[("x-wopi-override", "PUT"), ("x-wopi-lock", lock)], text).await
    }

    async fn content(&self) -> String {
        self.send("GET", "/contents", &[], "").await.expect(200).text()
    }
}

async fn document(farm: &Farm) -> String {
    farm.put("Documents/plan.docx", "one").await.expect(201);
    farm.id("/Documents/plan.docx").await
}

/// Lets a user edit everything in the library.
async fn admit(farm: &Farm, login: &str, role: model::Id) {
    let user = farm.account(login).await;
    let session = session(farm, "admin").await;
    let library: Target = farm.id("/Documents").await.parse::<model::Id>().unwrap().into();
    let given = RoleGrant { principal: user.parse().unwrap(), role, until: None };
    session.share_with(&library, given).await.unwrap();
}

#[tokio::test]
async fn an_editor_reads_locks_saves_and_closes() {
    let farm = farm().await;
    let id = document(&farm).await;
    let editor = open(&farm, "admin", &id).await;
    let info = editor.info().await.expect(200).json();
    assert_eq!((info["BaseFileName"].as_str(), info["Size"].as_u64()), (Some("plan.docx"), Some(3)));
    assert_eq!((info["UserCanWrite"].as_bool(), info["SupportsLocks"].as_bool()), (Some(true), Some(true)));
    assert_eq!(info["UserCanNotWriteRelative"].as_bool(), Some(true));
    let read = editor.send("GET", "/contents", &[], "").await.expect(200);
    assert_eq!((read.text().as_str(), read.header("x-wopi-itemversion")), ("one", info["Version"].as_str().unwrap()));
    assert_eq!(editor.change("GET_LOCK", &[]).await.expect(200).header("x-wopi-lock"), "");
    editor.lock("cool-lock1").await.expect(200);
    assert_eq!(editor.change("GET_LOCK", &[]).await.expect(200).header("x-wopi-lock"), "cool-lock1");
    // Taken again, it is extended.
    editor.lock("cool-lock1").await.expect(200);
    let saved = editor.put("cool-lock1", "two").await.expect(200);
    assert_ne!(saved.header("x-wopi-itemversion"), info["Version"].as_str().unwrap());
    let again = editor.info().await.expect(200).json();
    assert_eq!(again["LastModifiedTime"], saved.json()["LastModifiedTime"]);
    // Collabora sends the time of the change that its user has seen.
    let seen = again["LastModifiedTime"].as_str().unwrap();
    let fields = [("x-wopi-override", "PUT"), ("x-wopi-lock", "cool-lock1"), ("x-cool-wopi-timestamp", seen)];
    editor.send("POST", "/contents", &fields, "three").await.expect(200);
    let refused = editor.send("POST", "/contents", &fields, "four").await.expect(409);
    assert_eq!(refused.json()["COOLStatusCode"], 1010);
    assert_eq!(editor.content().await, "three");
    editor.change("REFRESH_LOCK", &[("x-wopi-lock", "cool-lock1")]).await.expect(200);
    // UnlockAndRelock.
    editor.change("LOCK", &[("x-wopi-lock", "cool-lock2"), ("x-wopi-oldlock", "cool-lock1")]).await.expect(200);
    editor.change("UNLOCK", &[("x-wopi-lock", "cool-lock2")]).await.expect(200);
    let listed = farm.get(&format!("/api/v1/items/{id}/versions")).await.expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn several_users_save_with_the_lock_of_one_editor() {
    let farm = farm().await;
    let id = document(&farm).await;
    admit(&farm, "anna", model::Role::CONTRIBUTE).await;
    admit(&farm, "ben", model::Role::READ).await;
    let (first, second) = (open(&farm, "admin", &id).await, open(&farm, "anna", &id).await);
    first.lock("shared").await.expect(200);
    second.lock("shared").await.expect(200);
    second.put("shared", "by anna").await.expect(200);
    assert_eq!(second.info().await.expect(200).json()["UserFriendlyName"], "anna");
    let item = farm.item("/Documents/plan.docx").await;
    assert_eq!(item["modified_by"]["login"].as_str().or(item["modified_by"]["name"].as_str()), Some("anna"));
    // Outside of the editor, the lock holds for everybody.
    farm.put("Documents/plan.docx", "over").await.expect(423);
    let held = farm.send("LOCK", "/dav/Documents/plan.docx", &[], LOCK_BODY).await;
    assert_eq!(held.status, 423);
    // Who leaves first does not end it for the others, unless the editor says so.
    second.change("UNLOCK", &[("x-wopi-lock", "shared")]).await.expect(200);
    farm.put("Documents/plan.docx", "free").await.expect(200);
    // Readers get no token.
    assert!(token(&farm, "ben", &id).await.is_err());
}

const LOCK_BODY: &str = "<?xml version=\"1.0\"?><D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/></D:lockscope>\
    <D:locktype><D:write/></D:locktype></D:lockinfo>";

#[tokio::test]
async fn a_host_that_lies_about_locks_changes_nothing() {
    let farm = farm().await;
    let id = document(&farm).await;
    let editor = open(&farm, "admin", &id).await;
    // Nothing is saved without the lock.
    for lock in ["", "never-taken"] {
        let refused = editor.put(lock, "lie").await.expect(409);
        assert_eq!(refused.header("x-wopi-lock"), "", "{lock}");
        assert!(!refused.header("x-wopi-lockfailurereason").is_empty());
    }
    for operation in ["REFRESH_LOCK", "UNLOCK"] {
        editor.change(operation, &[("x-wopi-lock", "never-taken")]).await.expect(409);
    }
    editor.lock("mine").await.expect(200);
    let relock = editor.change("LOCK", &[("x-wopi-lock", "other"), ("x-wopi-oldlock", "wrong")]).await.expect(409);
    assert_eq!(relock.header("x-wopi-lock"), "mine");
    for operation in ["LOCK", "REFRESH_LOCK", "UNLOCK"] {
        let refused = editor.change(operation, &[("x-wopi-lock", "other")]).await.expect(409);
        assert_eq!(refused.header("x-wopi-lock"), "mine", "{operation}");
    }
    assert_eq!(editor.put("other", "lie").await.expect(409).header("x-wopi-lock"), "mine");
    // Bad identifiers, and operations that are not supported.
    for bad in ["", &"x".repeat(1_025)] {
        editor.lock(bad).await.expect(400);
    }
    for operation in ["PUT_RELATIVE", "RENAME_FILE", "DELETE", "", "COBALT"] {
        editor.change(operation, &[("x-wopi-lock", "mine")]).await.expect(501);
        editor.send("POST", "/contents", &[("x-wopi-override", operation)], "lie").await.expect(501);
    }
    editor.change("UNLOCK", &[("x-wopi-lock", "mine")]).await.expect(200);
    // The lock of a program that is no editor.
    farm.send("LOCK", "/dav/Documents/plan.docx", &[], LOCK_BODY).await.expect(200);
    for reply in [editor.lock("mine").await, editor.put("mine", "lie").await, editor.change("GET_LOCK", &[]).await] {
        assert_eq!(reply.expect(409).header("x-wopi-lock"), "");
    }
    assert_eq!(editor.content().await, "one");
}

#[tokio::test]
async fn a_token_opens_its_document_only() {
    let farm = farm().await;
    let id = document(&farm).await;
    farm.put("Documents/other.docx", "secret").await.expect(201);
    let other = farm.id("/Documents/other.docx").await;
    admit(&farm, "anna", model::Role::CONTRIBUTE).await;
    let editor = open(&farm, "anna", &id).await;
    let stray = Editor { farm: &farm, id: other, token: editor.token.clone() };
    let unknown = Editor { farm: &farm, id: "1".to_owned(), token: editor.token.clone() };
    let forged = Editor { farm: &farm, id: id.clone(), token: "x".repeat(43) };
    for (wrong, status) in [(&stray, 404), (&unknown, 404), (&forged, 401)] {
        wrong.info().await.expect(status);
        wrong.send("GET", "/contents", &[], "").await.expect(status);
        wrong.lock("a").await.expect(status);
        wrong.put("a", "x").await.expect(status);
    }
    let bare = format!("/wopi/files/{id}");
    farm.send_as("", "GET", &bare, &[], Body::empty()).await.expect(401);
    // A password is no access token.
    farm.get(&bare).await.expect(401);
    let bearer = format!("Bearer {}", editor.token);
    farm.send_as("", "GET", &bare, &[("authorization", &bearer)], Body::empty()).await.expect(200);
    let rest = format!("/api/v1/items/{id}");
    farm.send_as("", "GET", &rest, &[("authorization", &bearer)], Body::empty()).await.expect(401);
    // Who loses the right loses the editor at once; so does who has an account no more.
    editor.lock("a").await.expect(200);
    let user = farm.get("/api/v1/users").await.expect(200).json();
    let users = user["items"].as_array().unwrap();
    let user = users.iter().find(|user| user["login"] == "anna").unwrap()["id"].as_str().unwrap().to_owned();
    farm.json("PATCH", &format!("/api/v1/users/{user}"), serde_json::json!({"disabled": true})).await.expect(200);
    editor.info().await.expect(401);
    editor.put("a", "x").await.expect(401);
    assert_eq!(farm.get("/api/v1/content/Documents/plan.docx").await.expect(200).text(), "one");
}

#[tokio::test]
async fn a_lock_of_an_office_server_is_presented_by_wopi_only() {
    let farm = farm().await;
    let id = document(&farm).await;
    let editor = open(&farm, "admin", &id).await;
    editor.lock("known").await.expect(200);
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let forged = format!("(<urn:x-strongroom-editor:{id}:{}>)", URL_SAFE_NO_PAD.encode("known"));
    let saved = farm.send("PUT", "/dav/Documents/plan.docx", &[("if", &forged)], "forged").await;
    assert!(matches!(saved.status.as_u16(), 412 | 423), "{}", saved.status);
    assert_eq!(editor.content().await, "one");
    // An editor whose lock was ended saves nothing over what came since.
    let token = forged.trim_matches(['(', ')']);
    farm.send("UNLOCK", "/dav/Documents/plan.docx", &[("lock-token", token)], Body::empty()).await.expect(204);
    farm.put("Documents/plan.docx", "theirs").await.expect(200);
    editor.put("known", "late").await.expect(409);
    // Nor does one whose lock ended while the bytes arrived.
    let document = id.parse().unwrap();
    let session = session(&farm, "admin").await.with_office_lock(document, "known");
    let late = session.upload_bytes(&Destination::Document(document), UploadOptions::default(), "late".into()).await;
    assert_eq!(late.unwrap_err().code(), Code::LockNotFound);
    assert_eq!(editor.content().await, "theirs");
}

#[tokio::test]
async fn without_an_office_server_there_is_no_wopi() {
    let farm = Farm::new().await;
    let id = document(&farm).await;
    let editor = open(&farm, "admin", &id).await;
    editor.info().await.expect(404);
    editor.lock("a").await.expect(404);
}
