//! A client of the REST API: content by path, and JSON.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::Value;

/// A complete response.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    async fn read(response: reqwest::Response) -> Result<Self, reqwest::Error> {
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Self { status, headers, body: response.bytes().await?.to_vec() })
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.text()))
    }

    /// A header field as text, empty if absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A client of one server with one token.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    address: String,
    token: String,
}

impl Client {
    /// A client of the server at `address`.
    pub fn new(address: &str, token: &str) -> Self {
        // No request of a test takes longer. A request that hangs fails.
        let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).no_proxy().build().unwrap();
        Self { http, address: address.to_owned(), token: token.to_owned() }
    }

    /// Sends a request. An error means that no complete response arrived. A GET request is sent a second time before
    /// that, since the pool may have used a connection that the server was just closing.
    pub async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Answer, reqwest::Error> {
        let is_read = method == Method::GET;
        let request = self.http.request(method, format!("{}{path}", self.address)).bearer_auth(&self.token).body(body);
        let again = request.try_clone().filter(|_| is_read);
        let answer = match (request.send().await, again) {
            (Err(error), Some(again)) if error.is_request() && !error.is_timeout() => again.send().await?,
            (answer, _) => answer?,
        };
        Answer::read(answer).await
    }

    /// Sends a request with additional header fields.
    pub async fn send_with(
        &self,
        method: Method,
        path: &str,
        fields: &[(&'static str, &str)],
        body: Vec<u8>,
    ) -> Result<Answer, reqwest::Error> {
        let mut request = self.http.request(method, format!("{}{path}", self.address)).bearer_auth(&self.token);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        Answer::read(request.body(body).send().await?).await
    }

    /// Sends a request with a JSON body.
    pub async fn send_json(
        &self,
        method: Method,
        path: &str,
        body: &serde_json::Value,
    ) -> Result<Answer, reqwest::Error> {
        let request = self.http.request(method, format!("{}{path}", self.address)).bearer_auth(&self.token);
        Answer::read(request.json(body).send().await?).await
    }

    /// Sends a request with a JSON body as the administrator, with the password. This is a fresh proof of identity,
    /// which a token never is.
    pub async fn prove_json(
        &self,
        method: Method,
        path: &str,
        body: &serde_json::Value,
    ) -> Result<Answer, reqwest::Error> {
        let request = self.http.request(method, format!("{}{path}", self.address));
        Answer::read(request.basic_auth("admin", Some(super::PASSWORD)).json(body).send().await?).await
    }

    /// Uploads a document to a path below the library Documents.
    pub async fn put(&self, path: &str, body: Vec<u8>) -> Result<Answer, reqwest::Error> {
        self.send(Method::PUT, &format!("/api/v1/content/Documents/{path}"), body).await
    }

    /// Downloads a document by its path below the library Documents.
    pub async fn get(&self, path: &str) -> Result<Answer, reqwest::Error> {
        self.send(Method::GET, &format!("/api/v1/content/Documents/{path}"), Vec::new()).await
    }

    /// Downloads `count` bytes of a document from `from` on.
    pub async fn get_range(&self, path: &str, from: usize, count: usize) -> Result<Answer, reqwest::Error> {
        let request = self.http.get(format!("{}/api/v1/content/Documents/{path}", self.address));
        let range = format!("bytes={from}-{}", from + count - 1);
        Answer::read(request.bearer_auth(&self.token).header(reqwest::header::RANGE, range).send().await?).await
    }

    /// Deletes a document by its path below the library Documents.
    pub async fn delete(&self, path: &str) -> Result<Answer, reqwest::Error> {
        self.send(Method::DELETE, &format!("/api/v1/content/Documents/{path}"), Vec::new()).await
    }
}

/// Disables versioning for the library Documents, so that replaced content becomes unreferenced.
pub async fn keep_no_versions(client: &Client) {
    let found = client.send(Method::GET, "/api/v1/items/by-path?path=Documents", Vec::new()).await.unwrap();
    let library: Value = serde_json::from_slice(&found.body).unwrap();
    let path = format!("/api/v1/items/{}/settings", library["id"].as_str().unwrap());
    let answer = client.send_json(Method::PATCH, &path, &serde_json::json!({ "versioning": "none" })).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
}
