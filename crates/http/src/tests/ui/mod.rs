//! Tests of the pages on the real router and a real farm, used like a browser.

mod columns;
mod entrance;
mod farm_audit;
mod grid;
mod hidden_entries;
mod home;
mod pages;
mod preview;
mod safety;
mod search;
mod several_values;
mod storage;
mod web_pages;
mod words;

use std::cell::RefCell;
use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use repository::{Client, Options, Repository, Session};
use tower::ServiceExt;

use http_core::server::state::AppState;

const PASSWORD: &str = "correct horse battery";

struct Farm {
    router: Router,
    repository: Repository,
    directory: tempfile::TempDir,
}

impl Farm {
    async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// Starts a farm whose server has other options than the default.
    async fn with(change: impl FnOnce(&mut crate::Options)) -> Self {
        Self::start(tempfile::tempdir().unwrap(), change).await
    }

    async fn start(directory: tempfile::TempDir, change: impl FnOnce(&mut crate::Options)) -> Self {
        let options = Options {
            directory: directory.path().join("farm"),
            configuration: None,
            content: None,
            administrator_password: Some(PASSWORD.to_owned()),
            create: true,
        };
        let (repository, _) = Repository::open(&options).await.unwrap();
        let mut options = crate::Options::new("127.0.0.1:0".parse().unwrap());
        change(&mut options);
        let router = crate::router::router(AppState::new(repository.clone(), &options));
        Self { router, repository, directory }
    }

    /// Closes the farm, damages every document of equal bytes in its file store, and opens it again.
    async fn damaged(self) -> Self {
        let Self { router, repository, directory } = self;
        drop(router);
        repository.close().await;
        drop(repository);
        crate::tests::damage::damage(&directory.path().join("farm/blobs"));
        Self::start(directory, |_| ()).await
    }

    async fn administrator(&self) -> Session {
        let client = Client { address: [127, 0, 0, 1].into(), agent: String::new(), device: None };
        let caller = self.repository.caller_from_password("admin", PASSWORD, &client).await.unwrap().unwrap();
        self.repository.as_caller(caller.principal)
    }

    fn browser(&self) -> Browser<'_> {
        Browser { farm: self, cookies: RefCell::default() }
    }

    async fn signed_in(&self, login: &str) -> Browser<'_> {
        let browser = self.browser();
        browser.sign_in(login, PASSWORD, "/").await.expect(303);
        browser
    }
}

/// A client that keeps cookies and submits forms with the token of their page.
struct Browser<'a> {
    farm: &'a Farm,
    cookies: RefCell<BTreeMap<String, String>>,
}

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Reply {
    #[track_caller]
    fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    fn header(&self, name: impl header::AsHeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    fn form_token(&self) -> String {
        let after = self.text.split("name=\"form_token\" value=\"").nth(1).unwrap_or_default();
        after.split('"').next().unwrap_or_default().to_owned()
    }
}

impl Browser<'_> {
    fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.borrow().get(name).cloned()
    }

    async fn send(&self, request: axum::http::request::Builder, body: impl Into<Body>) -> Reply {
        let jar: Vec<String> = self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = request.header(header::COOKIE, jar.join("; ")).header(header::HOST, "farm.example");
        let response = self.farm.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        for field in response.headers().get_all(header::SET_COOKIE) {
            let pair = field.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 24).await.unwrap();
        Reply { status, headers, text: String::from_utf8_lossy(&bytes).into_owned() }
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(Request::get(path).header(header::ACCEPT, "text/html"), Body::empty()).await
    }

    /// Opens `page` for its form token and submits the fields to `action`.
    async fn post(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> Reply {
        let token = self.get(page).await.form_token();
        self.post_with(&token, action, fields, &[]).await
    }

    async fn post_with(&self, token: &str, action: &str, fields: &[(&str, &str)], heads: &[(&str, &str)]) -> Reply {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.append_pair("form_token", token).extend_pairs(fields);
        let mut request = Request::post(action).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        for (name, value) in heads {
            request = request.header(*name, *value);
        }
        self.send(request, body.finish()).await
    }

    async fn sign_in(&self, login: &str, password: &str, next: &str) -> Reply {
        self.post("/sign-in", "/sign-in", &[("login", login), ("password", password), ("next", next)]).await
    }

    /// Uploads a file with the plain form.
    async fn upload(&self, action: &str, name: &str, kind: &str, content: impl AsRef<[u8]>) -> Reply {
        let token = self.get("/account").await.form_token();
        let head = format!(
            "--cut\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{token}\r\n--cut\r\n\
             Content-Disposition: form-data; name=\"comment\"\r\n\r\nsaid so\r\n--cut\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n"
        );
        let body = [head.as_bytes(), content.as_ref(), b"\r\n--cut--\r\n"].concat();
        self.send(Request::post(action).header(header::CONTENT_TYPE, "multipart/form-data; boundary=cut"), body).await
    }
}
