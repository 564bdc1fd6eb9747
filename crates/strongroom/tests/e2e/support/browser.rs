//! A browser without scripts: pages, forms and cookies, from an address chosen by the test.

use reqwest::header::{COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Method, RequestBuilder, StatusCode};

/// A page as received by the browser.
#[derive(Debug)]
pub struct Page {
    pub status: StatusCode,
    /// Target of a redirect, otherwise empty.
    pub location: String,
    pub text: String,
}

impl Page {
    /// The token of the forms on the page.
    pub fn form_token(&self) -> &str {
        let (_, rest) = self.text.split_once("name=\"form_token\" value=\"").expect("a page with a form");
        rest.split('"').next().unwrap_or_default()
    }
}

/// A browser for one server, optionally behind a proxy that reports the client's address.
pub struct Browser {
    http: reqwest::Client,
    address: String,
    /// Header fields that a proxy adds to each request.
    pub fields: Vec<(String, String)>,
    /// Scheme and host as typed by the user.
    pub origin: String,
    cookies: Vec<(String, String)>,
}

impl Browser {
    /// A browser that accesses the server directly.
    pub fn at(address: &str) -> Self {
        let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        Self {
            http: builder.build().unwrap(),
            address: address.to_owned(),
            fields: Vec::new(),
            origin: address.to_owned(),
            cookies: Vec::new(),
        }
    }

    /// The value of a cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Takes over the cookies of another instance, as the same browser at another time.
    pub fn take_cookies(&mut self, other: &Self) {
        self.cookies.clone_from(&other.cookies);
    }

    /// Drops a cookie.
    pub fn forget(&mut self, name: &str) {
        self.cookies.retain(|(key, _)| key != name);
    }

    /// Opens a page.
    pub async fn get(&mut self, path: &str) -> Page {
        let request = self.http.request(Method::GET, format!("{}{path}", self.address));
        self.send(request).await
    }

    /// Sends a form with the form token of `page`.
    pub async fn post(&mut self, page: &Page, path: &str, fields: &[(&str, &str)]) -> Page {
        let mut all = vec![("form_token", page.form_token())];
        all.extend_from_slice(fields);
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(all).finish();
        let request = self.http.request(Method::POST, format!("{}{path}", self.address));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
        let request = request.header(ORIGIN, self.origin.clone());
        self.send(request).await
    }

    /// Signs in. The response is a redirect if the sign-in succeeded.
    pub async fn sign_in(&mut self, login: &str, password: &str) -> Page {
        let form = self.get("/sign-in").await;
        self.post(&form, "/sign-in", &[("login", login), ("password", password), ("next", "/")]).await
    }

    async fn send(&mut self, request: RequestBuilder) -> Page {
        let host = self.origin.split_once("://").map(|(_, host)| host.to_owned()).unwrap_or_default();
        let mut request = request.header(HOST, host);
        for (name, value) in &self.fields {
            request = request.header(name, value);
        }
        let jar: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !jar.is_empty() {
            request = request.header(COOKIE, jar.join("; "));
        }
        let answer = request.send().await.unwrap();
        for field in answer.headers().get_all(SET_COOKIE) {
            let (name, value) = field.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(key, _)| key != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        let location = answer.headers().get(LOCATION).map(|value| value.to_str().unwrap().to_owned());
        Page { status: answer.status(), location: location.unwrap_or_default(), text: answer.text().await.unwrap() }
    }
}
