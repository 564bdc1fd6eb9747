//! Fixture of a case: its own items and accounts, and the state of the farm as one text.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Id, MAX_PAGE, Role, StoreState, Timestamp};
use repository::{
    AuditFilter, Bin, CheckWork, JobRequest, NewAccount, NewLock, NewStore, SearchToSave, Session, Sort, StoreStatus,
    Target, Template, TemplateOrigin, Work,
};
use serde_json::{Value, json};

use super::Farm;
use super::canary;
use super::ground::{Ground, Node};
use super::people::People;
use super::table::Row;

/// Items, accounts and stores for one operation.
pub struct Case {
    words: HashMap<&'static str, String>,
    people: HashMap<&'static str, Id>,
    admin: Session,
    speaks_of_storage: bool,
}

impl Case {
    /// Creates everything that the row mentions.
    pub async fn prepare(farm: &Farm, ground: &Ground, row: &Row, n: usize) -> Self {
        Self::prepare_for(farm, ground, row, n, true).await
    }

    /// Variant of [`Self::prepare`]. Creating `local` grants is slow, and columns without grants on the case's own
    /// items do not need them.
    pub async fn prepare_for(farm: &Farm, ground: &Ground, row: &Row, n: usize, local: bool) -> Self {
        let local = local || ["/permissions/", "/share/"].iter().any(|part| row.route.contains(part));
        let people = &ground.people;
        let admin = people.admin.clone();
        let mut case = Self { words: HashMap::new(), people: HashMap::new(), admin, speaks_of_storage: false };
        for (word, value) in [
            ("n", n.to_string()),
            ("site", ground.site.to_string()),
            ("sub", ground.sub.to_string()),
            ("documents", ground.documents.to_string()),
            ("lair", ground.lair.to_string()),
            ("nobody", people.nobody.to_string()),
            ("principal", people.reader.to_string()),
            ("reading", Role::READ.to_string()),
            ("number", "1.0".into()),
            ("latest", "2.0".into()),
            ("view", "999999".into()),
            ("link", "999999".into()),
            ("absent", "999999".into()),
            ("of-library", "library".into()),
            ("digest", "ab".repeat(32)),
            ("path", format!("Documents/case-{n}/a.txt")),
            ("fresh", format!("Documents/case-{n}/new.txt")),
            ("deep", format!("Documents/case-{n}/x/y/new.txt")),
            ("draft-path", format!("Team/Lib-{n}/draft.txt")),
            ("elsewhere", format!("sites/{}/Elsewhere/new.txt", canary::NAME)),
            ("documents-path", "Documents".into()),
            ("lair-path", "Documents/lair".into()),
            ("sub-path", "Team".into()),
        ] {
            case.words.insert(word, value);
        }
        for word in ["team", "tasks", "main", "database", "collection", "directory", "migrate", "collect", "crawl"] {
            case.words.insert(word, word.into());
        }
        let fields: String = row.fields.iter().map(|(_, value)| *value).collect();
        let text = format!("{}{}{}{fields}", row.route, row.query, row.body);
        let speaks_of = |words: &[&str]| {
            words.iter().any(|word| text.contains(&format!("{{{word}}}")) || text.contains(&format!("={word}}}")))
        };
        let items = [
            "path", "fresh", "deep", "document", "plain", "folder", "target", "held", "locked", "entry", "lock", "den",
            "page",
        ];
        let case_of = text.contains("/case-{n}") || text.contains("/target-{n}") || text.contains("/den-{n}");
        if case_of || speaks_of(&items) || row.route.ends_with("/uploads") {
            case.make_items(farm, people, n, &text, local).await;
        }
        if speaks_of(&["library", "column", "type", "filed", "draft", "draft-path", "shared", "private", "submitted"]) {
            case.make_library(farm, people, n, local).await;
        }
        if speaks_of(&["draft-tag"]) {
            let draft: Id = case.words["draft"].parse().unwrap();
            case.words.insert("draft-tag", case.admin.item(&draft.into()).await.unwrap().etag());
        }
        if speaks_of(&["submitted"]) {
            let draft: Id = case.words["draft"].parse().unwrap();
            case.admin.submit(&draft.into(), None, "").await.unwrap();
            case.words.insert("submitted", case.words["draft"].clone());
        }
        if speaks_of(&["list", "row", "line", "field"]) {
            case.make_list(farm, people, n, local).await;
        }
        if speaks_of(&["user", "token", "session", "group", "member", "role"]) {
            case.make_people(farm, n).await;
        }
        case.speaks_of_storage = row.route.contains("/farm/");
        if speaks_of(&["store", "closed", "job", "paused"]) {
            case.make_storage(n).await;
        }
        if speaks_of(&["search"]) {
            case.make_search(n).await;
        }
        if speaks_of(&["kept"]) {
            case.make_templates(n).await;
        }
        if text.contains("{id=upload}") {
            case.make_upload(farm, n).await;
        }
        case
    }

    /// Returns the value of a placeholder word.
    pub fn word(&self, word: &str) -> &str {
        &self.words[word]
    }

    /// Replaces the value of a placeholder word.
    pub fn replace(&mut self, word: &'static str, value: String) {
        self.words.insert(word, value);
    }

    async fn make_items(&mut self, farm: &Farm, people: &People, n: usize, text: &str, local: bool) {
        let path = format!("Documents/case-{n}/a.txt");
        farm.put(&path, "one").await.expect(201);
        farm.put(&path, "two").await.expect(200);
        farm.put(&format!("Documents/case-{n}/plain.txt"), "plain").await.expect(201);
        farm.put(&format!("Documents/target-{n}/x.txt"), "x").await.expect(201);
        let document = farm.id(&path).await;
        self.words.insert("document", document.clone());
        self.words.insert("plain", farm.id(&format!("Documents/case-{n}/plain.txt")).await);
        self.words.insert("folder", farm.id(&format!("Documents/case-{n}")).await);
        self.words.insert("target", farm.id(&format!("Documents/target-{n}")).await);
        let id: Id = document.parse().unwrap();
        if local {
            people.grant_on(Node::Folder, self.words["folder"].parse().unwrap()).await;
            people.grant_on(Node::Leaf, id).await;
        }
        if text.contains("{den}") || text.contains("=den}") || text.contains("/den-{n}") {
            farm.put(&format!("Documents/den-{n}/visible.txt"), "seen").await.expect(201);
            farm.put(&format!("Documents/den-{n}/unseen.txt"), "unseen").await.expect(201);
            let unseen: Id = farm.id(&format!("Documents/den-{n}/unseen.txt")).await.parse().unwrap();
            self.admin.break_inheritance(&unseen.into(), false).await.unwrap();
            self.words.insert("den", farm.id(&format!("Documents/den-{n}")).await);
        }
        if text.contains("page}") {
            farm.put(&format!("Documents/case-{n}/page.md"), "# Page").await.expect(201);
            self.words.insert("page", farm.id(&format!("Documents/case-{n}/page.md")).await);
        }
        if text.contains("held}") {
            self.admin.check_out(&id.into()).await.unwrap();
            self.words.insert("held", document.clone());
        }
        if text.contains("{id=locked}") || text.contains("{lock}") {
            let wish = NewLock { exclusive: true, deep: false, owner: String::new(), seconds: 3_600 };
            let lock = self.admin.lock(&id.into(), wish).await.unwrap();
            self.words.insert("lock", lock.secret().to_owned());
            self.words.insert("locked", document.clone());
        }
        if text.contains("{entry}") {
            let entry = self.admin.delete(&id.into()).await.unwrap();
            self.words.insert("entry", entry.to_string());
        }
    }

    async fn make_library(&mut self, farm: &Farm, people: &People, n: usize, local: bool) {
        let name = format!("Lib-{n}");
        let body = json!({"name": name, "settings": {"versioning": "major-minor"}});
        let url = format!("/api/v1/items/{}/libraries", self.words["sub"]);
        let library = word(&farm.json("POST", &url, body).await.expect(201).json(), "id");
        let made = |tail: &str, body: Value| {
            let url = format!("/api/v1/items/{library}/{tail}");
            async move {
                let reply = farm.json("POST", &url, body).await;
                assert!(reply.status.is_success(), "{}", reply.text());
                word(&reply.json(), "id")
            }
        };
        self.words.insert("column", made("columns", json!({"name": "Words", "kind": "text"})).await);
        self.words.insert("type", made("content-types", json!({"name": "Offer"})).await);
        self.words.insert("shared", made("views", json!({"name": "For all", "shared": true})).await);
        self.words.insert("private", made("views", json!({"name": "Own"})).await);
        farm.put(&format!("Team/{name}/draft.txt"), "draft").await.expect(201);
        farm.put(&format!("Team/{name}/filed.txt?publish=true"), "filed").await.expect(201);
        self.words.insert("draft", farm.id(&format!("Team/{name}/draft.txt")).await);
        self.words.insert("filed", farm.id(&format!("Team/{name}/filed.txt")).await);
        if local {
            people.grant_on(Node::Library, library.parse().unwrap()).await;
            people.grant_on(Node::Filed, self.words["filed"].parse().unwrap()).await;
        }
        self.words.insert("library", library);
    }

    async fn make_list(&mut self, farm: &Farm, people: &People, n: usize, local: bool) {
        let url = format!("/api/v1/items/{}/lists", self.words["sub"]);
        let list = word(&farm.json("POST", &url, json!({"name": format!("List-{n}")})).await.expect(201).json(), "id");
        let url = format!("/api/v1/items/{list}");
        let body = json!({"name": "State", "kind": "text"});
        let field = word(&farm.json("POST", &format!("{url}/columns"), body).await.expect(201).json(), "id");
        let mut rows = Vec::new();
        for title in ["apart", "line", canary::NAME] {
            let body = json!({"values": {"Title": title, "State": "new"}});
            rows.push(word(&farm.json("POST", &format!("{url}/rows"), body).await.expect(201).json(), "id"));
        }
        let hidden: Id = rows.pop().unwrap().parse().unwrap();
        self.admin.break_inheritance(&hidden.into(), false).await.unwrap();
        let line = rows.pop().unwrap();
        let row = rows.pop().unwrap();
        if local {
            people.grant_on(Node::List, list.parse().unwrap()).await;
            people.grant_on(Node::Row, row.parse().unwrap()).await;
        }
        for (word, id) in [("list", list), ("field", field), ("row", row), ("line", line)] {
            self.words.insert(word, id);
        }
    }

    async fn make_people(&mut self, farm: &Farm, n: usize) {
        let login = format!("victim{n}");
        let user = self.admin.create_account(NewAccount { login, ..NewAccount::default() }).await.unwrap().id;
        farm.repository.begin_session_at(user, Timestamp::now()).await.unwrap();
        let session = self.admin.web_sessions(user).await.unwrap()[0].id;
        self.words.insert("session", session.to_string());
        let token = self.admin.create_token(user, "theirs".into()).await.unwrap().token.id;
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

    /// Saves a search of the administrator. The one of the case before is deleted, because their number is limited.
    async fn make_search(&mut self, n: usize) {
        for search in self.admin.saved_searches().await.unwrap() {
            self.admin.delete_saved_search(search.id).await.unwrap();
        }
        let new = SearchToSave { name: format!("Search {n}"), query: "case".into(), ..SearchToSave::default() };
        self.words.insert("search", self.admin.save_search(new).await.unwrap().to_string());
    }

    /// Saves a template for the farm and one of the same name for the site collection. Those of the case before are
    /// deleted, because their number is limited.
    async fn make_templates(&mut self, n: usize) {
        let site = Target::Id(self.words["site"].parse().unwrap());
        for place in [None, Some(&site)] {
            for template in self.admin.templates(place).await.unwrap() {
                let own = if place.is_some() { TemplateOrigin::SiteCollection } else { TemplateOrigin::Farm };
                if template.origin == own {
                    self.admin.delete_template(place, &template.name).await.unwrap();
                }
            }
            let text = template_text(&format!("kept-{n}"));
            self.admin.save_template(place, Template::parse(&text).unwrap()).await.unwrap();
        }
        self.words.insert("kept", format!("kept-{n}"));
    }

    async fn make_upload(&mut self, farm: &Farm, n: usize) {
        let said = format!("path {}", STANDARD.encode(format!("Documents/upload-{n}.txt")));
        let fields = [("tus-resumable", "1.0.0"), ("upload-length", "6"), ("upload-metadata", &said)];
        let begun = farm.send_as("admin", "POST", "/api/v1/uploads", &fields, "").await.expect(201);
        self.words.insert("upload", begun.header("location").rsplit('/').next().unwrap().to_owned());
    }

    /// Returns the text with each `{word}` or `{name=word}` replaced by its value in this case.
    pub fn fill(&self, text: &str) -> String {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, tail)) = rest.split_once('{') {
            filled += before;
            let word = tail.split_once('}').and_then(|(inside, after)| {
                Some((self.words.get(inside.rsplit('=').next().unwrap_or_default())?, after))
            });
            // Any other brace belongs to JSON.
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

    /// Returns everything that the operation could have changed, as one text.
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
        for word in ["site", "sub", "folder", "target", "den", "library"] {
            let Some(id) = self.words.get(word) else { continue };
            let target = id.parse::<Id>().unwrap().into();
            // A folder that a permitted operation has deleted is no longer compared.
            let Ok(listed) = admin.list(&target, Sort::Name, false, None, MAX_PAGE).await else { continue };
            lines.push(format!("{listed:?}"));
            lines.push(format!("{:?}", admin.permissions(&target).await.unwrap()));
            lines.push(format!("{:?} {:?}", admin.columns(&target).await, admin.library_settings(&target).await.ok()));
        }
        for word in ["document", "plain", "draft", "filed"] {
            let Some(id) = self.words.get(word) else { continue };
            let target = id.parse::<Id>().unwrap().into();
            let Ok(item) = admin.item(&target).await else { continue };
            lines.push(format!("{item:?} {:?}", admin.versions(&target, None, MAX_PAGE).await.unwrap()));
            lines.push(format!("{:?} {:?}", admin.permissions(&target).await, admin.values(&target).await));
            lines.push(format!("{:?} {:?}", admin.locks(&target).await, admin.links(&target).await));
        }
        lines.push(format!("{:?}", admin.saved_searches().await));
        let site = Target::Id(self.words["site"].parse().unwrap());
        lines.push(format!("{:?} {:?}", admin.templates(Some(&site)).await, admin.templates(None).await));
        lines.push(format!("{:?}", admin.site_look(&site).await));
        lines.push(format!("{:?} {:?}", admin.groups("", MAX_PAGE).await, admin.roles().await));
        lines.push(format!("{:?}", logins(admin).await));
        if let Some(user) = self.people.get("user") {
            let sessions = admin.web_sessions(*user).await.unwrap();
            lines.push(format!("{:?} {}", admin.tokens(*user).await, sessions.len()));
            lines.push(format!("{:?}", admin.members(self.people["group"], "", MAX_PAGE).await));
        }
        if self.speaks_of_storage {
            // The progress of a job changes without a request, so it is left out.
            let jobs = admin.jobs(None, MAX_PAGE).await.unwrap();
            lines.extend(jobs.iter().map(|job| format!("{} {}", job.id, job.wish)));
            lines.push(format!("{:?}", admin.storage_policies().await));
            let stores = admin.storage_status().await.unwrap().1;
            let told = |store: &StoreStatus| format!("{} {} {:?}", store.name, store.state, store.settings);
            lines.extend(stores.iter().map(told));
        }
        lines.push(format!("{:?}", uploads(farm)));
        lines.join("\n")
    }
}

/// Accounts, without the times of their last sign-in.
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

/// Returns a template of one list.
pub fn template_text(name: &str) -> String {
    format!(
        "format = 1\nkind = \"list\"\nname = \"{name}\"\ntitle = \"Kept\"\n[list]\nname = \"Kept\"\nholds = \"rows\"\n\
         columns = [{{ name = \"T\", kind = \"text\", role = \"title\" }}]\n"
    )
}

fn word(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap().to_owned()
}
