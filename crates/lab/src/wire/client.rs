//! The HTTP client of one virtual user: sends requests over one connection, keeps cookies and counts the traffic.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};

use super::link::Connection;
use super::{Fault, FaultKind, RequestBody, Target, excerpt};
use crate::corpus::Verifier;

/// Limit on the bytes of a response that is read into memory.
const MAX_TEXT: usize = 8 << 20;
/// Timeout for the next data of a line-by-line response.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(15);
/// Idle time after which a server may close a connection at any moment. Closing a connection in steady use is a fault.
const UNUSED: std::time::Duration = std::time::Duration::from_secs(1);
/// Limits on the cookies that a user keeps, and on the bytes of each, as in browsers.
const MAX_COOKIES: usize = 50;
const MAX_COOKIE: usize = 4096;
/// Limits on the characters of a response, and of a redirect's target, that a fault quotes.
const MAX_QUOTED_CHARS: usize = 160;
const MAX_LOCATION: usize = 200;

/// A request.
#[derive(Clone, Debug)]
pub struct RequestBuilder {
    method: Method,
    path: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: RequestBody,
    credentials: bool,
}

impl RequestBuilder {
    /// Creates a request for a path that is already encoded.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: RequestBody::Empty, credentials: true }
    }

    /// Creates a GET request.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Makes the request like that of a browser: with cookies instead of credentials.
    #[must_use]
    pub fn like_browser(mut self) -> Self {
        self.credentials = false;
        self.with(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")
    }

    /// Adds a header. A value that is not allowed in a request is left out.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: RequestBody) -> Self {
        self.body = body;
        self
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, value: &serde_json::Value) -> Self {
        let body = RequestBody::Bytes(value.to_string().into());
        self.body(body).with(header::CONTENT_TYPE, "application/json")
    }

    /// Sets a body with form fields.
    #[must_use]
    pub fn form(self, fields: &[(&str, &str)]) -> Self {
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let body = RequestBody::Bytes(text.into());
        self.body(body).with(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
    }
}

/// A response that has been read completely.
#[derive(Debug)]
pub struct ReadResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    what: String,
}

impl ReadResponse {
    /// Returns the response if it has one of these statuses.
    ///
    /// # Errors
    /// A fault with the actual status, the redirect's target if any, and the beginning of the body.
    pub fn expect(self, statuses: &[u16]) -> Result<Self, Fault> {
        if statuses.contains(&self.status.as_u16()) {
            return Ok(self);
        }
        let leads = match self.header(header::LOCATION) {
            to if self.status.is_redirection() => format!(", a redirect to {}", excerpt(to, MAX_LOCATION)),
            _ => String::new(),
        };
        let said = excerpt(&self.text(), MAX_QUOTED_CHARS);
        Err(Fault::new(FaultKind::Status, format!("{} answered {}{leads}: {said}", self.what, self.status)))
    }

    /// Parses the body as JSON.
    ///
    /// # Errors
    /// If the body is not JSON.
    pub fn json(&self) -> Result<serde_json::Value, Fault> {
        serde_json::from_slice(&self.body)
            .map_err(|_| Fault::content(format!("{} did not answer with JSON", self.what)))
    }

    /// The body as text.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// Returns a header as text; empty if there is none.
    pub fn header(&self, name: HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Counters of the traffic.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireCounts {
    /// Number of requests sent.
    pub requests: u64,
    /// Bytes of request bodies sent.
    pub sent: u64,
    /// Bytes of response bodies received.
    pub received: u64,
}

/// The HTTP client of one virtual user.
pub struct Client {
    target: Arc<Target>,
    link: Option<Connection>,
    cookies: Vec<(String, String)>,
    /// Traffic so far.
    pub counted: WireCounts,
}

impl Client {
    /// Creates a client that is not connected yet.
    pub fn new(target: Arc<Target>) -> Self {
        Self { target, link: None, cookies: Vec::new(), counted: WireCounts::default() }
    }

    /// Its target.
    pub fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// Drops the connection, together with a response that is in flight.
    pub fn disconnect(&mut self) {
        self.link = None;
    }

    /// Forgets everything, like the browser of a new person.
    pub fn reset(&mut self) {
        self.link = None;
        self.cookies.clear();
    }

    /// Sends a request and reads the response into memory.
    pub async fn send(&mut self, ask: RequestBuilder) -> Result<ReadResponse, Fault> {
        let what = format!("{} {}", ask.method, ask.path);
        let (status, headers, mut incoming) = self.begin(ask, &what).await?;
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk(&mut incoming, &what).await? {
            if body.len() + chunk.len() > MAX_TEXT {
                self.disconnect();
                return Err(Fault::content(format!("{what} was answered with more than {} MB", MAX_TEXT >> 20)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(ReadResponse { status, headers, body: body.freeze(), what })
    }

    /// Sends a request and compares the response body with a document while it arrives.
    pub async fn verify(&mut self, ask: RequestBuilder, mut verifier: Verifier) -> Result<(), Fault> {
        let what = format!("{} {}", ask.method, ask.path);
        let (status, headers, mut incoming) = self.begin(ask, &what).await?;
        if status != StatusCode::OK {
            let first = self.chunk(&mut incoming, &what).await?.unwrap_or_default();
            self.disconnect();
            return Err(ReadResponse { status, headers, body: first, what }
                .expect(&[200])
                .err()
                .unwrap_or_else(|| Fault::new(FaultKind::Status, "an unexpected status")));
        }
        while let Some(chunk) = self.chunk(&mut incoming, &what).await? {
            if let Err(why) = verifier.feed(&chunk) {
                self.disconnect();
                return Err(Fault::content(format!("{what}: {why}")));
            }
        }
        verifier.end().map_err(|why| Fault::content(format!("{what}: {why}")))
    }

    /// Sends a request and passes on the lines of the response as they arrive.
    pub async fn stream_lines(
        &mut self,
        ask: RequestBuilder,
        mut take: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let what = format!("{} {}", ask.method, ask.path);
        let silent = |_| Fault::new(FaultKind::Timeout, format!("{what}: nothing arrived for {} s", SILENCE.as_secs()));
        let begun = tokio::time::timeout(SILENCE, self.begin(ask, &what)).await;
        let (status, headers, mut incoming) = begun.map_err(silent)??;
        if status != StatusCode::OK {
            let body = self.chunk(&mut incoming, &what).await?.unwrap_or_default();
            self.disconnect();
            return ReadResponse { status, headers, body, what }.expect(&[200]).map(drop);
        }
        let mut kept = BytesMut::new();
        loop {
            let chunk = tokio::time::timeout(SILENCE, self.chunk(&mut incoming, &what)).await;
            let Some(chunk) = chunk.map_err(silent)?? else { return Ok(()) };
            kept.extend_from_slice(&chunk);
            while let Some(end) = kept.iter().position(|byte| *byte == b'\n') {
                let line = kept.split_to(end + 1);
                take(&line[..end])?;
            }
            if kept.len() > MAX_TEXT {
                return Err(Fault::content(format!("{what}: a line is too long")));
            }
        }
    }

    async fn begin(&mut self, ask: RequestBuilder, what: &str) -> Result<(StatusCode, HeaderMap, Incoming), Fault> {
        let usable = match &mut self.link {
            Some(link) => link.is_usable().await,
            None => false,
        };
        if !usable {
            self.link = None;
        }
        let idle = self.link.as_ref().map(Connection::idle);
        let safe = ask.method.is_safe();
        let first = self.attempt(ask.clone(), what).await;
        let first = match (first, idle) {
            // The server closed the connection before it received anything of the request; or a safe request was in
            // flight when the server closed a connection that had been idle. RFC 9112, section 9.3.1, allows clients to
            // retry in these cases, as browsers do.
            (Err((fault, not_taken)), Some(idle))
                if fault.kind == FaultKind::Closed && (not_taken || safe && idle >= UNUSED) =>
            {
                self.attempt(ask, what).await
            }
            (other, _) => other,
        };
        first.map_err(|(fault, _)| fault)
    }

    /// Makes one attempt. A fault is returned together with a flag that is true if the server never took the request.
    async fn attempt(
        &mut self,
        ask: RequestBuilder,
        what: &str,
    ) -> Result<(StatusCode, HeaderMap, Incoming), (Fault, bool)> {
        let sent = ask.body.length();
        let request = self.request(ask).map_err(|fault| (fault, false))?;
        let link = match &mut self.link {
            Some(link) => link,
            none => none.insert(Connection::open(&self.target).await.map_err(|fault| (fault, false))?),
        };
        self.counted.requests += 1;
        let answer = match link.send(request).await {
            Ok(answer) => answer,
            Err(error) => {
                self.link = None;
                return Err((self.explain(&error, what), error.is_canceled()));
            }
        };
        self.counted.sent += sent;
        let (head, body) = answer.into_parts();
        self.keep_cookies(&head.headers);
        Ok((head.status, head.headers, body))
    }

    async fn chunk(&mut self, body: &mut Incoming, what: &str) -> Result<Option<Bytes>, Fault> {
        let closed =
            || Fault::new(FaultKind::Closed, format!("{what}: the connection ended in the middle of the response"));
        loop {
            let link = self.link.as_mut().ok_or_else(closed)?;
            match link.wait(body.frame()).await {
                None => {
                    link.mark_idle();
                    return Ok(None);
                }
                Some(Err(error)) => {
                    self.link = None;
                    return Err(self.explain(&error, what));
                }
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.counted.received += bytes.len() as u64;
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    fn request(&self, ask: RequestBuilder) -> Result<Request<RequestBody>, Fault> {
        let impossible = |_| Fault::new(FaultKind::Protocol, "this path cannot be requested");
        let empty = matches!(ask.body, RequestBody::Empty);
        let length = ask.body.length();
        let carries = !empty || ask.method == Method::POST || ask.method == Method::PUT;
        let mut request = Request::builder().method(ask.method).uri(ask.path).body(ask.body).map_err(impossible)?;
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.target.authority.clone());
        headers.insert(header::USER_AGENT, HeaderValue::from_static("strongroom-lab"));
        if carries {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        for (name, value) in ask.headers {
            headers.append(name, value);
        }
        if ask.credentials {
            if let Some(value) = &self.target.authorization {
                headers.insert(header::AUTHORIZATION, value.clone());
            }
        } else if !self.cookies.is_empty() {
            let pairs: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            if let Ok(value) = HeaderValue::from_str(&pairs.join("; ")) {
                headers.insert(header::COOKIE, value);
            }
        }
        Ok(request)
    }

    fn keep_cookies(&mut self, headers: &HeaderMap) {
        for value in headers.get_all(header::SET_COOKIE) {
            let Some((name, rest)) = value.to_str().ok().and_then(|text| text.split_once('=')) else { continue };
            let mut parts = rest.split(';');
            let content = parts.next().unwrap_or_default();
            let over = parts.any(|part| part.trim().eq_ignore_ascii_case("max-age=0"));
            self.cookies.retain(|(known, _)| known != name);
            let fits = name.len() + content.len() <= MAX_COOKIE && self.cookies.len() < MAX_COOKIES;
            if fits && !over {
                self.cookies.push((name.to_owned(), content.to_owned()));
            }
        }
    }

    fn explain(&self, error: &hyper::Error, what: &str) -> Fault {
        let mut said = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            said = format!("{said}: {inner}");
            cause = inner.source();
        }
        let closed = error.is_canceled() || error.is_closed() || error.is_incomplete_message() || !error.is_parse();
        if closed {
            return Fault::new(FaultKind::Closed, format!("{what}: {said}"));
        }
        let may_be_tls = self.target.tls.is_none() && !error.is_parse_too_large();
        let hint = if may_be_tls { ": if the server speaks TLS, write https://" } else { "" };
        Fault::new(FaultKind::Protocol, format!("{what}: {said}{hint}"))
    }
}
