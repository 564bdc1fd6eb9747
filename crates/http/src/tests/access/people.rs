//! The columns of the matrix: callers with their credentials and rights.

use std::time::Duration;

use model::{Id, Limits, Right, Rights, Role, Timestamp, TokenScope, TokenScopes};
use repository::{AccountChange, LinkRule, NewAccount, NewLink, NewTokenRequest, Session};

use super::ground::Node;
use super::table::{Need, Row};
use crate::tests::{Farm, PASSWORD};

/// A caller with one set of credentials.
pub struct Column {
    pub name: String,
    /// Bearer token for REST and WebDAV.
    pub token: Option<String>,
    /// Session cookie for the pages, and for REST and WebDAV when there is no token.
    pub session: Option<String>,
    /// Login for Basic authentication with REST and WebDAV.
    pub login: Option<String>,
    /// Account to which the credential belongs or belonged.
    pub account: Id,
    /// True if the credential is invalid.
    pub is_invalid: bool,
    /// True if this caller may see hidden content.
    pub sees_all: bool,
    grants: Vec<(Node, Rights)>,
    limits: Limits,
    within: Option<Node>,
    administers: bool,
    recently_authenticated: bool,
    holder: bool,
}

impl Column {
    /// Returns the expected status of a row for this column.
    pub fn expected(&self, row: &Row) -> u16 {
        if let Some(status) = row.exception(&self.name) {
            return status;
        }
        if self.is_invalid {
            return if row.method == "OPTIONS" { row.status } else { 401 };
        }
        if !self.limits.scopes.allows_changes() && !row.only_reads() {
            return 403;
        }
        row.needs.iter().find_map(|need| self.refusal(need)).unwrap_or(row.status)
    }

    fn refusal(&self, need: &Need) -> Option<u16> {
        match *need {
            Need::Right(node, right, lacking, absent) => {
                let rights = self.rights(node);
                // An item that the caller may not view does not exist for the caller, whatever other rights there are.
                if !rights.has(Right::View) {
                    return Some(absent);
                }
                (!rights.has(right)).then_some(lacking)
            }
            Need::Known(node, absent) => (!self.knows(node)).then_some(absent),
            Need::Drafts(node, lacking) => {
                let rights = self.rights(node);
                // The drafts were created by the administrator, who therefore sees them.
                let sees = rights.has(Right::Edit) || rights.has(Right::Publish) || self.holder;
                let missing = if rights.has(Right::View) { lacking } else { 404 };
                (!sees || !rights.has(Right::View)).then_some(missing)
            }
            Need::Farm => (!self.administers).then_some(403),
            Need::Fresh => (!self.recently_authenticated).then_some(403),
            Need::Proof => (self.holder && !self.recently_authenticated).then_some(403),
            Need::Own => {
                let whole = self.within.is_none() && self.limits.scopes.has(TokenScope::Manage);
                (!whole && !self.administers).then_some(403)
            }
            Need::Holder(status) => (!self.holder).then_some(status),
        }
    }

    /// Returns the caller's rights on a node.
    pub fn rights(&self, node: Node) -> Rights {
        if self.within.is_some_and(|place| !node.is_in(place)) {
            return Rights::NONE;
        }
        let granted = self.grants.iter().filter(|(place, _)| node.is_in(*place));
        let rights = granted.fold(Rights::NONE, |all, (_, rights)| all.union(*rights));
        rights.intersection(self.limits.scopes.rights())
    }

    /// Returns whether the column has grants on the case's own items.
    pub fn is_local(&self) -> bool {
        self.grants.iter().any(|(node, _)| matches!(node, Node::Folder | Node::Leaf))
    }

    /// Returns whether the caller may know of the node: it is viewable, or an ancestor of something viewable.
    fn knows(&self, node: Node) -> bool {
        let leads = |(place, rights): &(Node, Rights)| place.is_in(node) && rights.has(Right::View);
        let masked = self.limits.scopes.rights().has(Right::View);
        let within = self.within.is_none_or(|place| node.is_in(place));
        within && masked && (self.rights(node).has(Right::View) || self.grants.iter().any(leads))
    }
}

/// All callers.
pub struct People {
    pub columns: Vec<Column>,
    pub admin: Session,
    /// Identifier of an account without any grant.
    pub nobody: Id,
    /// Identifier of a role.
    pub role: Id,
    /// Identifier of an account that may read everything and sends no requests.
    pub reader: Id,
    /// Node, account and role for each grant on a case's own items.
    local: Vec<(Node, Id, Id)>,
}

struct Maker<'a> {
    farm: &'a Farm,
    admin: Session,
    columns: Vec<Column>,
    local: Vec<(Node, Id, Id)>,
    root: Id,
    sub: Id,
}

fn wish(scopes: &[TokenScope], places: Vec<Id>) -> NewTokenRequest {
    let scopes = if scopes.is_empty() { TokenScopes::ALL } else { scopes.iter().copied().collect() };
    NewTokenRequest { scopes, places, ..NewTokenRequest::from("matrix") }
}

impl Maker<'_> {
    async fn account(&self, name: &str) -> Id {
        let login = name.replace(' ', "-");
        self.admin.create_account(NewAccount { login, ..NewAccount::default() }).await.unwrap().id
    }

    async fn token(&self, account: Id, wish: NewTokenRequest) -> String {
        self.admin.create_token(account, wish).await.unwrap().secret
    }

    async fn session(&self, account: Id, minutes: u64) -> String {
        let at = Timestamp::now().before(Duration::from_secs(60 * minutes));
        self.farm.repository.begin_session_at(account, at).await.unwrap()
    }

    fn blank(name: &str) -> Column {
        Column {
            name: name.to_owned(),
            token: None,
            session: None,
            login: None,
            account: Id::new(1),
            is_invalid: false,
            sees_all: false,
            grants: Vec::new(),
            limits: Limits::NONE,
            within: None,
            administers: false,
            recently_authenticated: false,
            holder: false,
        }
    }

    /// Adds a caller with a token, a session and at most one grant.
    async fn person(&mut self, name: &str, grant: Option<(Node, Rights, Id)>) -> Id {
        let account = self.account(name).await;
        let mut column = Self::blank(name);
        column.account = account;
        column.token = Some(self.token(account, wish(&[], Vec::new())).await);
        column.session = Some(self.session(account, 0).await);
        if let Some((node, rights, role)) = grant {
            column.grants.push((node, rights));
            let twins = match node {
                Node::Folder => vec![Node::Library, Node::List],
                Node::Leaf => vec![Node::Filed, Node::Row],
                _ => Vec::new(),
            };
            if !twins.is_empty() {
                column.grants.extend(twins.iter().map(|twin| (*twin, rights)));
                let all = std::iter::once(node).chain(twins);
                self.local.extend(all.map(|node| (node, account, role)));
            } else {
                let at = if node == Node::Root { self.root } else { self.sub };
                self.admin.grant(&at.into(), account, role).await.unwrap();
            }
        }
        self.columns.push(column);
        account
    }

    async fn role(&self, name: &str, rights: Rights) -> Id {
        self.admin.create_role(name, rights).await.unwrap().id
    }

    /// Adds a caller with full rights whose credential is no longer valid.
    async fn add_invalid_credential(&mut self, name: &str, end: &str) {
        let account = self.account(name).await;
        self.admin.grant(&self.root.into(), account, Role::FULL_CONTROL).await.unwrap();
        let mut column = Self::blank(name);
        column.is_invalid = true;
        match end {
            "expired" => {
                let end = Timestamp::now().after(Duration::from_millis(300));
                let wish = NewTokenRequest { expires_at: Some(end), ..NewTokenRequest::from("matrix") };
                column.token = Some(self.token(account, wish).await);
                column.session = Some(self.session(account, 60 * 24 * 30).await);
                // sleep: the token expires by its own time, and nothing signals the expiry.
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
            "revoked" => {
                let made = self.admin.create_token(account, "matrix".into()).await.unwrap();
                self.admin.revoke_token(account, made.token.id).await.unwrap();
                let session = self.session(account, 0).await;
                self.farm.repository.sign_out(&session).await.unwrap();
                (column.token, column.session) = (Some(made.secret), Some(session));
            }
            _ => {
                column.token = Some(self.token(account, wish(&[], Vec::new())).await);
                column.session = Some(self.session(account, 0).await);
                let change = AccountChange { disabled: Some(true), ..AccountChange::default() };
                self.admin.update_account(account, change).await.unwrap();
            }
        }
        self.columns.push(column);
    }

    /// Adds a token with fewer rights than its owner, who has full control of the root site.
    async fn limited(&mut self, name: &str, scopes: &[TokenScope], within: Option<(Node, Id)>) {
        let account = self.account(name).await;
        self.admin.grant(&self.root.into(), account, Role::FULL_CONTROL).await.unwrap();
        let wish = wish(scopes, within.map(|(_, id)| id).into_iter().collect());
        let mut column = Self::blank(name);
        column.account = account;
        column.limits.scopes = wish.scopes;
        column.token = Some(self.token(account, wish).await);
        column.grants.push((Node::Root, Rights::ALL));
        column.within = within.map(|(node, _)| node);
        self.columns.push(column);
    }

    /// Adds two callers with Basic credentials: a contributor and the administrator.
    async fn by_password(&mut self) {
        let reader = NewAccount { login: "basic".into(), password: Some(PASSWORD.into()), ..NewAccount::default() };
        let mut column = Self::blank("basic");
        column.account = self.admin.create_account(reader).await.unwrap().id;
        self.admin.grant(&self.root.into(), column.account, Role::CONTRIBUTE).await.unwrap();
        column.login = Some("basic".into());
        column.grants.push((Node::Root, Role::built_in()[2].rights));
        self.columns.push(column);
        self.administrator("farm-basic", None, 0).await;
        let column = self.columns.last_mut().unwrap();
        (column.session, column.login) = (None, Some("admin".into()));
    }

    /// Adds the holder of a valid sharing link who sends its secret as a token or session.
    async fn holder_of_a_link(&mut self) {
        let body = serde_json::json!({"path": "open", "title": "Open"});
        let open = self.farm.json("POST", "/api/v1/site-collections", body).await.expect(201).json();
        let open: Id = open["id"].as_str().unwrap().parse().unwrap();
        let url = format!("/api/v1/items/{open}/libraries");
        self.farm.json("POST", &url, serde_json::json!({"name": "Given"})).await.expect(201);
        self.farm.put("open/Given/given.txt", "given").await.expect(201);
        self.admin.set_link_rule(open, Some(LinkRule { most_days: 7 })).await.unwrap();
        let document: Id = self.farm.id("open/Given/given.txt").await.parse().unwrap();
        let new = NewLink { days: 7, ..NewLink::default() };
        let (_, secret) = self.admin.share(&document.into(), new).await.unwrap();
        let mut column = Self::blank("link");
        column.is_invalid = true;
        (column.token, column.session) = (Some(secret.clone()), Some(secret));
        self.columns.push(column);
    }

    async fn administrator(&mut self, name: &str, token: Option<NewTokenRequest>, minutes: u64) {
        let account = self.admin.principal().id;
        let mut column = Self::blank(name);
        column.account = account;
        column.holder = true;
        column.sees_all = true;
        column.grants.push((Node::Root, Rights::ALL));
        column.administers = token.as_ref().is_none_or(|wish| wish.scopes.has(TokenScope::Farm));
        column.recently_authenticated = token.is_none() && minutes < 10;
        column.limits.scopes = token.as_ref().map_or(TokenScopes::ALL, |wish| wish.scopes);
        match token {
            Some(wish) => column.token = Some(self.token(account, wish).await),
            None => column.session = Some(self.session(account, minutes).await),
        }
        self.columns.push(column);
    }
}

impl People {
    /// Creates all columns. `sub` is a site that gets unique permissions.
    pub async fn create(farm: &Farm, root: Id, sub: Id, documents: Id, admin: &Session) -> Self {
        let mut maker = Maker { farm, admin: admin.clone(), columns: Vec::new(), local: Vec::new(), root, sub };
        let mut anonymous = Maker::blank("anonymous");
        anonymous.is_invalid = true;
        let mut wrong = Maker::blank("wrong");
        wrong.is_invalid = true;
        wrong.token = Some("srt_0000000000000000".to_owned());
        wrong.session = Some("srs_0000000000000000".to_owned());
        maker.columns.extend([anonymous, wrong]);
        for end in ["expired", "revoked", "disabled"] {
            maker.add_invalid_credential(end, end).await;
        }
        let nobody = maker.person("none", None).await;
        let former = maker.person("former", None).await;
        maker.admin.grant(&root.into(), former, Role::FULL_CONTROL).await.unwrap();
        maker.admin.revoke(&root.into(), former, Role::FULL_CONTROL).await.unwrap();
        let seen = Rights::NONE.with(Right::View);
        let mut roles = Vec::new();
        for right in Right::ALL {
            let with = maker.role(&format!("View and {}", right.as_str()), seen.with(right)).await;
            roles.push((right.as_str().to_owned(), seen.with(right), with));
            if right != Right::View {
                let only = Rights::NONE.with(right);
                let role = maker.role(&format!("Only {}", right.as_str()), only).await;
                roles.push((format!("{}-unseen", right.as_str()), only, role));
            }
        }
        // A session sees the roles as of the directory version of its principal, so a new session is needed for the
        // roles made above.
        maker.admin = farm.repository.as_caller(farm.repository.farm_administrator().await.unwrap());
        let role = roles[0].2;
        for (name, rights, role) in roles {
            maker.person(&name, Some((Node::Root, rights, role))).await;
        }
        let built_in = Role::built_in();
        let named = [("full", 0), ("design", 1), ("contribute", 2), ("read", 3)];
        for (name, index) in named {
            let role: &Role = &built_in[index];
            maker.person(name, Some((Node::Root, role.rights, role.id))).await;
        }
        maker.limited("token-read", &[TokenScope::Read], None).await;
        maker.limited("token-write", &[TokenScope::Write], None).await;
        maker.limited("token-manage", &[TokenScope::Manage], None).await;
        let content = [TokenScope::Read, TokenScope::Write, TokenScope::Manage];
        maker.limited("token-place", &content, Some((Node::Documents, documents))).await;
        let reader = maker.account("granted").await;
        maker.admin.grant(&root.into(), reader, Role::READ).await.unwrap();
        maker.by_password().await;
        // Breaking inheritance copies the grants, so every grant on the root site also holds on the subsite.
        maker.admin.break_inheritance(&sub.into(), true).await.unwrap();
        for (suffix, node) in [("-sub", Node::Sub), ("-folder", Node::Folder), ("-item", Node::Leaf)] {
            for (name, index) in named.into_iter().filter(|(name, _)| *name != "design") {
                let role: &Role = &built_in[index];
                maker.person(&format!("{name}{suffix}"), Some((node, role.rights, role.id))).await;
            }
        }
        maker.administrator("farm-read", Some(wish(&[TokenScope::Read], Vec::new())), 0).await;
        maker.administrator("farm-content", Some(wish(&content, Vec::new())), 0).await;
        maker.administrator("farm-only", Some(wish(&[TokenScope::Farm], Vec::new())), 0).await;
        maker.administrator("farm-token", Some(wish(&[], Vec::new())), 0).await;
        maker.administrator("farm-stale", None, 11).await;
        maker.holder_of_a_link().await;
        maker.administrator("farm", None, 0).await;
        Self { columns: maker.columns, admin: maker.admin, nobody, role, reader, local: maker.local }
    }

    /// Applies the local grants to an item of a case.
    pub async fn grant_on(&self, node: Node, id: Id) {
        self.admin.break_inheritance(&id.into(), true).await.unwrap();
        for (_, account, role) in self.local.iter().filter(|(place, ..)| *place == node) {
            self.admin.grant(&id.into(), *account, *role).await.unwrap();
        }
    }
}
