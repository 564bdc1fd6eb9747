//! What a case needs: people with their tokens, things to act on, and the state of the farm as one text.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Id, MAX_PAGE, Role};
use repository::{
    AccountChange, AuditFilter, Bin, CheckWork, Client, JobRequest, NewAccount, NewLock, NewStore, Session, Sort,
    StoreState, StoreStatus, Work,
};
use serde_json::{Value, json};

use super::super::{Farm, PASSWORD};
use super::rows::Row;

/// Who asks.
pub struct People {
    /// Name of the column, and the token that is sent.
    pub tokens: Vec<(&'static str, Option<String>)>,
    /// The same people as they are signed in to the pages: name of the column, and the secret of the session.
    pub sessions: Vec<(&'static str, Option<String>)>,
    /// Identifier of somebody whom nothing is granted to.
    nobody: Id,
    admin: Session,
    admin_token: String,
    site: String,
}

impl People {
    /// Makes all columns of the matrix. Each signs every request with a token that once worked.
    pub async fn gather(farm: &Farm) -> Self {
        let admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
        let site = farm.id("").await;
        let root: Id = site.parse().unwrap();
        let mut tokens = vec![("anonymous", None), ("wrong token", Some("srt_0000000000000000".to_owned()))];
        let mut nobody = Id::NONE;
        let client = Client { address: IpAddr::V4(Ipv4Addr::LOCALHOST), agent: String::new() };
        let mut sessions = vec![("anonymous", None), ("wrong session", Some("srs_0000000000000000".to_owned()))];
        for (who, login, role) in [
            ("no access", "none", None),
            ("read", "read", Some(Role::READ)),
            ("contribute", "contribute", Some(Role::CONTRIBUTE)),
            ("full control", "full", Some(Role::FULL_CONTROL)),
            ("revoked", "revoked", Some(Role::FULL_CONTROL)),
            ("disabled", "disabled", Some(Role::FULL_CONTROL)),
        ] {
            let new = NewAccount { login: login.into(), password: Some(PASSWORD.into()), ..NewAccount::default() };
            let account = admin.create_account(new).await.unwrap().id;
            let token = admin.create_token(account, "matrix", None).await.unwrap().secret;
            let signed_in = farm.repository.sign_in(login, PASSWORD, &client).await.unwrap();
            sessions.push((who, Some(signed_in.secret)));
            if let Some(role) = role {
                admin.grant(&root.into(), account, role).await.unwrap();
            }
            let bearer = format!("Bearer {token}");
            let reads = farm.send_as("", "GET", "/api/v1/me", &[("authorization", &bearer)], "").await;
            assert_eq!(reads.status, 200, "the token works before");
            match who {
                "revoked" => admin.revoke(&root.into(), account, Role::FULL_CONTROL).await.unwrap(),
                "disabled" => {
                    let change = AccountChange { disabled: Some(true), ..AccountChange::default() };
                    admin.update_account(account, change).await.unwrap();
                }
                "no access" => nobody = account,
                _ => {}
            }
            tokens.push((who, Some(token)));
        }
        let admin_token = admin.create_token(admin.principal().id, "matrix", None).await.unwrap().secret;
        tokens.push(("administrator", Some(admin_token.clone())));
        sessions
            .push(("administrator", Some(farm.repository.sign_in("admin", PASSWORD, &client).await.unwrap().secret)));
        Self { tokens, sessions, nobody, admin, admin_token, site }
    }
}

/// One operation by one person, with things of its own to act on.
pub struct Case {
    words: HashMap<&'static str, String>,
    people: HashMap<&'static str, Id>,
    admin: Session,
    speaks_of_storage: bool,
}

impl Case {
    /// Makes what the row speaks of.
    pub async fn prepare(farm: &Farm, people: &People, row: &Row, n: usize) -> Self {
        let admin = farm.repository.as_caller(people.admin.principal().clone());
        let mut case = Self { words: HashMap::new(), people: HashMap::new(), admin, speaks_of_storage: false };
        case.words.insert("n", n.to_string());
        case.words.insert("site", people.site.clone());
        case.words.insert("nobody", people.nobody.to_string());
        case.words.insert("number", "1.0".into());
        case.words.insert("view", "999999".into());
        case.words.insert("link", "999999".into());
        for word in ["main", "database", "collection", "directory", "migrate"] {
            case.words.insert(word, word.into());
        }
        case.words.insert("of-library", "library".into());
        case.words.insert("digest", "ab".repeat(32));
        case.words.insert("path", format!("Documents/case-{n}/a.txt"));
        let text = format!("{}{}{}", row.route, row.query, row.body);
        let speaks_of = |words: &[&str]| {
            words.iter().any(|word| text.contains(&format!("{{{word}}}")) || text.contains(&format!("={word}}}")))
        };
        if speaks_of(&["path", "document", "folder", "target", "held", "locked", "own", "entry", "principal"])
            || row.route.ends_with("/uploads")
        {
            case.make_items(farm, people, n, &text).await;
        }
        if speaks_of(&["library", "column", "type", "filed", "draft"]) {
            case.make_library(farm, n).await;
        }
        if speaks_of(&["user", "token", "session", "group", "member", "role"]) || row.route.contains("{id=user}") {
            case.make_people(farm, n, row.route.contains("/sessions")).await;
        }
        case.speaks_of_storage = row.route.contains("/farm/");
        if speaks_of(&["store", "closed", "job", "paused"]) {
            case.make_storage(n).await;
        }
        if text.contains("{id=upload}") {
            case.make_upload(farm, people, n).await;
        }
        case
    }

    async fn make_items(&mut self, farm: &Farm, people: &People, n: usize, text: &str) {
        let path = format!("Documents/case-{n}/a.txt");
        farm.put(&path, "one").await.expect(201);
        farm.put(&path, "two").await.expect(200);
        farm.put(&format!("Documents/target-{n}/x.txt"), "x").await.expect(201);
        let document = farm.id(&path).await;
        self.words.insert("document", document.clone());
        self.words.insert("folder", farm.id(&format!("Documents/case-{n}")).await);
        self.words.insert("target", farm.id(&format!("Documents/target-{n}")).await);
        let id: Id = document.parse().unwrap();
        if text.contains("{id=held}") {
            self.admin.check_out(&id.into()).await.unwrap();
            self.words.insert("held", document.clone());
        }
        if text.contains("{id=locked}") {
            let wish = NewLock { exclusive: true, deep: false, owner: String::new(), seconds: 3_600 };
            let lock = self.admin.lock(&id.into(), wish).await.unwrap();
            self.words.insert("lock", lock.token);
            self.words.insert("locked", document.clone());
        }
        if text.contains("{id=own}") {
            self.admin.break_inheritance(&id.into(), true).await.unwrap();
            let table = self.admin.permissions(&id.into()).await.unwrap();
            let reader = table.grants.iter().find(|grant| grant.role == Role::READ).unwrap().principal;
            self.words.insert("own", document.clone());
            self.words.insert("principal", reader.to_string());
            self.words.insert("reading", Role::READ.to_string());
        }
        if text.contains("{entry}") {
            let deleted = farm.send("DELETE", &format!("/api/v1/items/{document}"), &[], "").await.expect(200);
            self.words.insert("entry", deleted.json()["entry"].as_str().unwrap().to_owned());
        }
        self.words.insert("nobody", people.nobody.to_string());
    }

    async fn make_library(&mut self, farm: &Farm, n: usize) {
        let name = format!("Lib-{n}");
        let body = json!({"name": name, "settings": {"versioning": "major-minor"}});
        let url = format!("/api/v1/items/{}/libraries", self.words["site"]);
        let library = word(&farm.json("POST", &url, body).await.expect(201).json(), "id");
        let made = |tail: &str, body: Value| {
            let url = format!("/api/v1/items/{library}/{tail}");
            async move { word(&farm.json("POST", &url, body).await.expect(201).json(), "id") }
        };
        self.words.insert("column", made("columns", json!({"name": "Words", "kind": "text"})).await);
        self.words.insert("type", made("content-types", json!({"name": "Offer"})).await);
        farm.put(&format!("{name}/draft.txt"), "draft").await.expect(201);
        farm.put(&format!("{name}/filed.txt?publish=true"), "filed").await.expect(201);
        self.words.insert("draft", farm.id(&format!("{name}/draft.txt")).await);
        self.words.insert("filed", farm.id(&format!("{name}/filed.txt")).await);
        self.words.insert("library", library);
    }

    async fn make_people(&mut self, farm: &Farm, n: usize, signed_in: bool) {
        let login = format!("victim{n}");
        // Hashing passwords takes long; only who signs in needs one.
        let password = signed_in.then(|| PASSWORD.to_owned());
        let new = NewAccount { login: login.clone(), password, ..NewAccount::default() };
        let user = self.admin.create_account(new).await.unwrap().id;
        if signed_in {
            let client = Client { address: IpAddr::V4(Ipv4Addr::LOCALHOST), agent: String::new() };
            farm.repository.sign_in(&login, PASSWORD, &client).await.unwrap();
            let session = self.admin.web_sessions(user).await.unwrap()[0].id;
            self.words.insert("session", session.to_string());
        }
        let token = self.admin.create_token(user, "theirs", None).await.unwrap().token.id;
        let group = self.admin.create_group(&format!("Group {n}"), "").await.unwrap().id;
        self.admin.add_member(group, user).await.unwrap();
        let rights = std::iter::once(model::Right::View).collect();
        let role = self.admin.create_role(&format!("Role {n}"), rights).await.unwrap().id;
        for (word, id) in [("user", user), ("member", user), ("token", token), ("group", group), ("role", role)] {
            self.words.insert(word, id.to_string());
        }
        self.people.extend([("user", user), ("group", group)]);
    }

    async fn make_storage(&mut self, n: usize) {
        for (word, state) in [("store", StoreState::Active), ("closed", StoreState::ReadOnly)] {
            let (name, location) = (format!("{word} {n}"), format!("stores/{word}-{n}"));
            let new = NewStore { name: name.clone(), kind: "directory".into(), location, ..NewStore::default() };
            self.admin.add_store(new).await.unwrap();
            self.admin.set_store_state(&name, state).await.unwrap();
            self.words.insert(word, name.replace(' ', "%20"));
        }
        for word in ["job", "paused"] {
            let job = self.admin.start_job(Work::Check(CheckWork::default())).await.unwrap().id;
            self.words.insert(word, job.to_string());
            if word == "paused" {
                self.admin.ask_job(job, JobRequest::Pause).await.unwrap();
            }
        }
    }

    async fn make_upload(&mut self, farm: &Farm, people: &People, n: usize) {
        let said = format!("path {}", STANDARD.encode(format!("Documents/upload-{n}.txt")));
        let bearer = format!("Bearer {}", people.admin_token);
        let fields = [
            ("tus-resumable", "1.0.0"),
            ("upload-length", "6"),
            ("upload-metadata", &said),
            ("authorization", &bearer),
        ];
        let begun = farm.send_as("", "POST", "/api/v1/uploads", &fields, "").await.expect(201);
        self.words.insert("upload", begun.header("location").rsplit('/').next().unwrap().to_owned());
    }

    /// The text with each `{word}` or `{name=word}` replaced by what the case has made.
    pub fn fill(&self, text: &str) -> String {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, tail)) = rest.split_once('{') {
            filled += before;
            let word = tail.split_once('}').and_then(|(inside, after)| {
                Some((self.words.get(inside.rsplit('=').next().unwrap_or_default())?, after))
            });
            // Other braces are those of JSON.
            rest = match word {
                Some((value, after)) => {
                    filled += value;
                    after
                }
                None => {
                    filled.push('{');
                    tail
                }
            };
        }
        filled + rest
    }

    /// Sends the operation; for a bulk operation the status is that of its one item.
    pub async fn ask(&self, farm: &Farm, row: &Row, token: Option<&str>) -> u16 {
        let (url, body) = (self.fill(&format!("{}{}", row.route, row.query)), self.fill(row.body));
        assert!(!url.contains('{'), "{url} speaks of what the case does not make");
        let bearer = token.map(|token| format!("Bearer {token}"));
        let said = format!("path {}", STANDARD.encode(self.words["path"].as_bytes()));
        let mut fields = Vec::new();
        fields.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        if row.route.starts_with("/api/v1/uploads") {
            fields.push(("tus-resumable", "1.0.0"));
            match row.method {
                "POST" => fields.extend([("upload-length", "3"), ("upload-metadata", said.as_str())]),
                "PATCH" => {
                    fields.extend([("upload-offset", "0"), ("content-type", "application/offset+octet-stream")]);
                }
                _ => {}
            }
        } else if body.starts_with('{') {
            fields.push(("content-type", "application/json"));
        }
        let reply = farm.send_as("", row.method, &url, &fields, body).await;
        if reply.status == 207 {
            return reply.json()["items"][0]["status"].as_u64().unwrap() as u16;
        }
        reply.status.as_u16()
    }

    /// Everything that the operation could have changed, as one text.
    pub async fn state(&self, farm: &Farm) -> String {
        let admin = &self.admin;
        let mut lines = Vec::new();
        for collection in admin.site_collections().await.unwrap() {
            lines.push(format!("{collection:?}"));
            for bin in [Bin::Mine, Bin::Site] {
                lines.push(format!("{:?}", admin.recycled(collection.id, bin, None, MAX_PAGE).await.unwrap()));
            }
            let log = admin.audit_log(collection.id, AuditFilter::default(), None, 1).await.unwrap();
            lines.push(format!("{log:?}"));
        }
        for word in ["site", "folder", "target", "library"] {
            let Some(id) = self.words.get(word) else { continue };
            let target = id.parse::<Id>().unwrap().into();
            // A folder that a permitted operation has deleted is compared no more.
            let Ok(listed) = admin.list(&target, Sort::Name, false, None, MAX_PAGE).await else { continue };
            lines.push(format!("{listed:?}"));
            lines.push(format!("{:?}", admin.permissions(&target).await.unwrap()));
            lines.push(format!("{:?} {:?}", admin.columns(&target).await, admin.library_settings(&target).await.ok()));
        }
        for word in ["document", "draft", "filed"] {
            let Some(id) = self.words.get(word) else { continue };
            let target = id.parse::<Id>().unwrap().into();
            let Ok(item) = admin.item(&target).await else { continue };
            lines.push(format!("{item:?} {:?}", admin.versions(&target, None, MAX_PAGE).await.unwrap()));
            lines.push(format!("{:?} {:?}", admin.permissions(&target).await, admin.values(&target).await));
            lines.push(format!("{:?} {:?}", admin.locks(&target).await, admin.links(&target).await));
        }
        lines.push(format!("{:?} {:?}", admin.groups("", MAX_PAGE).await, admin.roles().await));
        lines.push(format!("{:?}", logins(admin).await));
        if let Some(user) = self.people.get("user") {
            let sessions = admin.web_sessions(*user).await.unwrap();
            lines.push(format!("{:?} {}", admin.tokens(*user).await, sessions.len()));
            lines.push(format!("{:?}", admin.members(self.people["group"], "", MAX_PAGE).await));
        }
        if self.speaks_of_storage {
            lines.push(format!("{:?}", admin.jobs(None, MAX_PAGE).await));
            lines.push(format!("{:?}", admin.storage_policies().await));
            let stores = admin.storage_status().await.unwrap().1;
            let told = |store: &StoreStatus| format!("{} {} {:?}", store.name, store.state, store.settings);
            lines.extend(stores.iter().map(told));
        }
        lines.push(format!("{:?}", uploads(farm)));
        lines.join("\n")
    }
}

/// Accounts without the times of their last sign-in.
async fn logins(admin: &Session) -> Vec<(String, bool, bool)> {
    let accounts = admin.accounts("", MAX_PAGE).await.unwrap();
    accounts.into_iter().map(|account| (account.login, account.disabled, account.farm_administrator)).collect()
}

/// Names and lengths of partial uploads.
fn uploads(farm: &Farm) -> Vec<(String, u64)> {
    let Ok(entries) = std::fs::read_dir(farm.data().join("uploads")) else { return Vec::new() };
    let entry = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())
    };
    let mut found: Vec<_> = entries.map(entry).collect();
    found.sort();
    found
}

fn word(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap().to_owned()
}
