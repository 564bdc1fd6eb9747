//! The search server of a farm, and how its answers are read.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderValue;
use model::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::http::{Answer, Body, Http};
use super::limits::Limits;

/// Limit on the time of requests for which nobody waits.
pub(super) const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(60);

/// An OpenSearch server that holds the search indexes of a farm. Clones share its connections.
#[derive(Clone)]
pub struct SearchServer(Arc<Inner>);

struct Inner {
    http: Http,
    /// Scheme, host and port.
    address: String,
    /// Beginning of the names of all indexes.
    prefix: String,
}

impl fmt::Debug for SearchServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SearchServer").field("address", &self.0.address).finish_non_exhaustive()
    }
}

impl SearchServer {
    /// Prepares for a server: `http://HOST:PORT` or `https://HOST:PORT`, with `USER:PASSWORD@` before the host if it
    /// asks for them. A password in `password` takes the place of one in the address. `certificates` has certificate
    /// authorities in PEM format that are trusted beside those of the system. The names of indexes begin with `prefix`.
    /// Asks the server nothing.
    ///
    /// # Errors
    /// `Invalid` if the address, the prefix or a certificate cannot be used, or a user and a password would be sent to
    /// another machine without encryption.
    pub fn new(url: &str, prefix: &str, password: Option<&str>, certificates: Option<&str>) -> Result<Self> {
        let unusable = |why: &str| {
            Error::invalid(format!(
                "the address of the search server {why}: write http://HOST:PORT or https://USER@HOST:PORT"
            ))
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| unusable("has no scheme"))?;
        if !matches!(scheme, "http" | "https") {
            return Err(unusable("has another scheme than http and https"));
        }
        let (person, host) = rest.rsplit_once('@').map_or((None, rest), |(person, host)| (Some(person), host));
        let host = host.trim_end_matches('/');
        if host.is_empty() || host.contains(['/', '?', '#']) {
            return Err(unusable("has no host, or something behind host and port"));
        }
        let is_usable = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins = prefix.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || prefix.len() > 60 || !prefix.chars().all(is_usable) {
            return Err(Error::invalid(
                "search_index_prefix must begin with a letter from a to z, and have at most 60 letters, digits and \
                 hyphens",
            ));
        }
        let (name, known) = match person.map(|person| person.split_once(':').unwrap_or((person, ""))) {
            Some((name, known)) => (Some(decoded(name)), decoded(known)),
            None => (None, String::new()),
        };
        if scheme == "http" && (name.is_some() || password.is_some()) && !is_loopback(host) {
            return Err(Error::invalid(
                "search_server sends its user and password to another machine without encryption: write https, and \
                 name the certificate authority with search_server_certificates if it is an own one",
            ));
        }
        let authorization = match (&name, password.unwrap_or(&known)) {
            (Some(name), password) => Some(basic(name, password)?),
            (None, "") => None,
            (None, _) => return Err(unusable("names no user for the password")),
        };
        let address = format!("{scheme}://{host}");
        let http = Http::new(address.clone(), authorization, certificates)?;
        Ok(Self(Arc::new(Inner { http, address, prefix: prefix.to_owned() })))
    }

    /// Scheme, host and port, without user and password.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// Beginning of the names of all indexes.
    pub(super) fn prefix(&self) -> &str {
        &self.0.prefix
    }

    /// Asks for something in JSON, within limits; `None` if what the path names does not exist. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer in time, refuses the request, or answers something else or too much.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        limits: Limits,
    ) -> Result<Option<T>> {
        let answer = self.send(method, path, body.map_or(Body::None, Body::Json), limits)?;
        match answer.status {
            404 => self.error_type(&answer).map(|_| None),
            _ => self.accepted(&answer).map(Some),
        }
    }

    /// Sends lines of JSON; `None` if they are more than the server, or a proxy before it, takes at once. Blocks.
    ///
    /// # Errors
    /// Those of [`Self::ask`].
    pub(super) fn send_lines<T: DeserializeOwned>(
        &self,
        path: &str,
        lines: Bytes,
        limits: Limits,
    ) -> Result<Option<T>> {
        let answer = self.send(Method::POST, path, Body::Lines(lines), limits)?;
        if answer.status == 413 { Ok(None) } else { self.accepted(&answer).map(Some) }
    }

    /// Changes something only if nobody else has; `None` if somebody has. Blocks.
    ///
    /// # Errors
    /// Those of [`Self::ask`].
    pub(super) fn put_unless_changed(&self, path: &str, body: Value, limits: Limits) -> Result<Option<Value>> {
        let answer = self.send(Method::PUT, path, Body::Json(body), limits)?;
        if answer.status == 409 { Ok(None) } else { self.accepted(&answer).map(Some) }
    }

    fn send(&self, method: Method, path: &str, body: Body, limits: Limits) -> Result<Answer> {
        let answer = self.0.http.send(method, path, body, limits);
        let result = match &answer {
            Ok(answer) if answer.status < 400 || answer.status == 404 => "answered",
            Ok(_) => "refused",
            Err(_) => "failed",
        };
        metrics::counter!("strongroom_search_server_requests_total", "result" => result).increment(1);
        answer
    }

    fn accepted<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T> {
        let address = &self.0.address;
        match answer.status {
            200..=299 => self.read(answer),
            401 | 403 => Err(Error::unavailable(format!(
                "the search server at {address} refuses the user or the password, or the user may not use the indexes \
                 {}-*: check search_server, its password and the user's role",
                self.0.prefix
            ))),
            status => {
                // The reason may repeat what was searched, so only the kind of the error is told.
                let text = format!("the search server at {address} answers {status}, {}", self.error_type(answer)?);
                Err(if status == 404 { Error::corrupt(text) } else { Error::unavailable(text) })
            }
        }
    }

    /// Returns the type of an error, as it can be shown.
    fn error_type(&self, answer: &Answer) -> Result<String> {
        let answer: Value = self.read(answer)?;
        Ok(shown_type(answer["error"]["type"].as_str().unwrap_or("no type")))
    }

    fn read<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T> {
        // Arrays would be taken for structures.
        let is_object = answer.bytes.trim_ascii_start().first() == Some(&b'{');
        let read = is_object.then(|| serde_json::from_slice(&answer.bytes).ok()).flatten();
        read.ok_or_else(|| {
            Error::unavailable(format!(
                "{} did not answer like OpenSearch (status {}): check the address and any proxy",
                self.0.address, answer.status
            ))
        })
    }
}

/// Returns the type of an error of the server as it can be shown: 64 characters of a to z, digits and underscores.
pub(super) fn shown_type(kind: &str) -> String {
    let is_usual = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | ' ');
    kind.chars().filter(is_usual).take(64).collect()
}

/// Returns whether a host, with or without a port, is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the header that names a user.
fn basic(name: &str, password: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))))
        .map_err(|error| Error::invalid("the user of the search server cannot be sent").with_source(error))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns a text with its percent-encoded bytes decoded.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.filter(|_| *first == b'%').and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_and_passwords_not_shown() {
        let server = SearchServer::new("https://us%40er:pa:ss@search:9200/", "farm", None, None).unwrap();
        assert_eq!(server.address(), "https://search:9200");
        assert!(!format!("{server:?}").contains("pa:ss"));
        for wrong in ["search:9200", "ftp://search", "http://", "http://a/b", "http://u@", "https://x?y"] {
            let error = SearchServer::new(wrong, "farm", None, None).unwrap_err();
            assert!(error.message().contains("write http://HOST:PORT"), "{wrong}: {error}");
        }
        for wrong in ["", "1x", "Farm", "a_b", "a*", &"a".repeat(61)] {
            SearchServer::new("http://a", wrong, None, None).unwrap_err();
        }
        SearchServer::new("https://a", "farm", Some("secret"), None).unwrap_err();
        SearchServer::new("http://a", "farm", None, Some("no certificate")).unwrap_err();
        assert_eq!(decoded("a%40b%zz%"), "a@b%zz%");
    }

    #[test]
    fn passwords_do_not_leave_the_machine_in_the_clear() {
        for here in ["localhost", "LOCALHOST:9200", "127.0.0.1:9200", "127.8.0.1", "[::1]:9200"] {
            SearchServer::new(&format!("http://user@{here}"), "farm", Some("secret"), None).unwrap();
        }
        for there in ["search:9200", "10.0.0.1", "[fe80::1]:9200", "localhost.example.org", "127.0.0.1.example.org"] {
            let error = SearchServer::new(&format!("http://user@{there}"), "farm", Some("secret"), None).unwrap_err();
            assert!(error.message().contains("write https"), "{there}: {error}");
            SearchServer::new(&format!("http://user:secret@{there}"), "farm", None, None).unwrap_err();
            SearchServer::new(&format!("https://user@{there}"), "farm", Some("secret"), None).unwrap();
            SearchServer::new(&format!("http://{there}"), "farm", None, None).unwrap();
        }
    }

    #[test]
    fn types_of_errors_are_cut() {
        assert_eq!(shown_type("x_content_parse_exception"), "x_content_parse_exception");
        assert_eq!(shown_type("a\u{1b}[31m\nb<script>Ä"), "a31mbscript");
        assert_eq!(shown_type(&"a".repeat(1_000)).len(), 64);
    }
}
