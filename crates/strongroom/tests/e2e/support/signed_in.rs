//! A signed-in browser.

use std::sync::Arc;

use reqwest::StatusCode;
use reqwest::cookie::{CookieStore, Jar};

use super::{PASSWORD, Server};

/// A client that keeps cookies as browsers do.
pub struct SignedIn {
    http: reqwest::Client,
    jar: Arc<Jar>,
    address: String,
}

impl SignedIn {
    /// Signs in with the tests' password.
    pub async fn sign_in(server: &Server, login: &str) -> Self {
        let jar = Arc::new(Jar::default());
        let http = reqwest::Client::builder().cookie_provider(Arc::clone(&jar)).no_proxy().build().unwrap();
        let browser = Self { http, jar, address: server.address.clone() };
        let (_, form) = browser.get("/sign-in").await;
        let (_, rest) = form.split_once("name=\"form_token\" value=\"").expect("the page has a form");
        let token = rest.split('"').next().unwrap();
        let fields = format!("form_token={token}&login={login}&password={}&next=/", PASSWORD.replace(' ', "+"));
        let request = browser.http.post(format!("{}/sign-in", server.address)).header("origin", &server.address);
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(fields);
        let home = request.send().await.unwrap();
        assert!(home.status().is_success(), "{} {}", home.status(), home.url());
        assert!(home.url().path() == "/", "{} {}", home.status(), home.url());
        browser
    }

    /// Fetches a page. Returns its status and text.
    pub async fn get(&self, path: &str) -> (StatusCode, String) {
        let response = self.request(path).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    /// The first bytes of an HTTP/2 connection, with a request for a page on the first stream.
    pub fn http2(&self, path: &str) -> Vec<u8> {
        let cookies = self.jar.cookies(&self.address.parse().unwrap()).unwrap();
        // A number that exceeds the prefix continues in the next byte (RFC 7541, 5.1).
        let text = |text: &[u8]| {
            let mut bytes = match text.len() {
                short @ 0..127 => vec![short as u8],
                long => vec![127, ((long - 127) % 128) as u8 | 128, ((long - 127) / 128) as u8],
            };
            bytes.extend_from_slice(text);
            bytes
        };
        // GET and http as indexed fields; then path, authority and cookie with indexed names.
        let mut fields = vec![0x82, 0x86, 0x04];
        fields.extend(text(path.as_bytes()));
        fields.push(0x01);
        fields.extend(text(b"x"));
        fields.extend([0x0f, 32 - 15]);
        fields.extend(text(cookies.as_bytes()));
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
        bytes.extend([0, (fields.len() >> 8) as u8, fields.len() as u8, 0x01, 0x05, 0, 0, 0, 1]);
        bytes.extend(fields);
        bytes
    }

    /// Prepares a request for a page, which the caller can modify.
    pub fn request(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(format!("{}{path}", self.address))
    }
}
