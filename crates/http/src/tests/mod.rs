//! Tests on the real router and a real farm in a private directory.

mod access;
mod answers;
mod api_walkthrough;
mod attachments;
mod bodies;
mod collaboration;
mod content;
#[cfg(test)]
pub mod damage;
pub(crate) mod description;
mod extremes;
mod listing;
mod lists;
mod permits;
mod private_connections;
mod rights;
mod search;
mod several_values;
mod storage;
mod ui;
mod uploads;
mod webdav;
mod wopi;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use repository::{Options, Repository};
use serde_json::Value;
use tower::ServiceExt;

use http_core::server::state::AppState;

/// A farm with its router. Its directory is deleted when the test ends.
pub struct Farm {
    pub router: Router,
    pub repository: Repository,
    directory: tempfile::TempDir,
}

/// A response, read completely.
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Returns the stable code of a problem response.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Asserts a status and returns the reply.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        self
    }
}

pub const PASSWORD: &str = "correct horse battery";

impl Farm {
    pub async fn new() -> Self {
        Self::start(tempfile::tempdir().unwrap(), |_| ()).await
    }

    /// Starts a farm whose server has other options than the default.
    pub async fn with(change: impl FnOnce(&mut crate::Options)) -> Self {
        Self::start(tempfile::tempdir().unwrap(), change).await
    }

    /// Closes the farm and opens it again on the same directory.
    pub async fn again(self) -> Self {
        let Self { router, repository, directory } = self;
        drop(router);
        repository.close().await;
        drop(repository);
        Self::start(directory, |_| ()).await
    }

    /// Closes the farm, damages every document of equal bytes in its file store, and opens it again.
    pub async fn damaged(self) -> Self {
        let Self { router, repository, directory } = self;
        drop(router);
        repository.close().await;
        drop(repository);
        damage::damage(&directory.path().join("farm/blobs"));
        Self::start(directory, |_| ()).await
    }

    /// Data directory.
    pub fn data(&self) -> std::path::PathBuf {
        self.directory.path().join("farm")
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
        options.behind_tls_proxy = true;
        // A directly called router has no peer address. Its placeholder address is trusted as the TLS proxy.
        options.trust = crate::Trust::new(["0.0.0.0"], crate::AddressSource::Peer).unwrap();
        change(&mut options);
        let router = crate::router::router(AppState::new(repository.clone(), &options));
        Self { router, repository, directory }
    }

    /// Sends a request as the administrator.
    pub async fn send(&self, method: &str, path: &str, fields: &[(&str, &str)], body: impl Into<Body>) -> Reply {
        self.send_as("admin", method, path, fields, body).await
    }

    /// Sends a request as the user with this login and the common test password, or without credentials when `login` is
    /// empty.
    pub async fn send_as(
        &self,
        login: &str,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        if !login.is_empty() {
            let pair = STANDARD.encode(format!("{login}:{PASSWORD}"));
            request = request.header("authorization", format!("Basic {pair}"));
        }
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let response = self.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Reply { status: parts.status, headers: parts.headers, body }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], Body::empty()).await
    }

    pub async fn put(&self, path: &str, bytes: impl Into<Body>) -> Reply {
        self.send("PUT", &format!("/api/v1/content/{path}"), &[], bytes).await
    }

    /// Sends a request with a JSON body.
    pub async fn json(&self, method: &str, path: &str, body: Value) -> Reply {
        self.send(method, path, &[("content-type", "application/json")], body.to_string()).await
    }

    /// Creates an account with the common test password and returns its identifier.
    pub async fn account(&self, login: &str) -> String {
        let body = serde_json::json!({"login": login, "password": PASSWORD});
        let reply = self.json("POST", "/api/v1/users", body).await.expect(201);
        reply.json()["id"].as_str().unwrap().to_owned()
    }

    /// Returns the item at a path.
    pub async fn item(&self, path: &str) -> Value {
        let path = http_core::protocol::segments::encode_query(path);
        self.get(&format!("/api/v1/items/by-path?path={path}")).await.expect(200).json()
    }

    /// Returns the identifier of the item at a path.
    pub async fn id(&self, path: &str) -> String {
        self.item(path).await["id"].as_str().unwrap().to_owned()
    }
}
