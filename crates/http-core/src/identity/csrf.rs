//! Protection against cross-site request forgery. The origin of every change is checked, and the forms of the pages
//! also carry a token.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{Code, Error, Result};

use crate::server::origin::RequestOrigin;

/// Refuses changes that a browser marks as coming from another site, whatever credentials they carry.
///
/// # Errors
/// Forbidden with code `foreign_origin`.
pub fn require_same_origin(request: &Request) -> Result<()> {
    let set = RequestOrigin::of(request.extensions()).filter(|request_origin| request_origin.origin_is_set);
    if is_reading(request.method())
        || is_ours(request.headers(), set.map(|request_origin| request_origin.origin.as_str()))
    {
        return Ok(());
    }
    Err(foreign())
}

/// Returns whether a method changes nothing.
pub fn is_reading(method: &Method) -> bool {
    matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS" | "PROPFIND" | "REPORT" | "SEARCH" | "TRACE")
}

/// Returns whether the request comes from our own pages or from a program. `Sec-Fetch-Site` decides where a browser
/// sends it. Otherwise `Origin` must equal the configured origin or, without one, name this host. Clients that are not
/// browsers send neither field.
fn is_ours(headers: &HeaderMap, set: Option<&str>) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let origin = origin.to_str().unwrap_or_default();
    if let Some(set) = set {
        return origin.eq_ignore_ascii_case(set);
    }
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
    let origin_host = origin.split_once("://").map(|(_, host)| host);
    !host.is_empty() && origin_host.is_some_and(|o| o.eq_ignore_ascii_case(host))
}

fn foreign() -> Error {
    Error::forbidden("this change was requested by another site; open the page here and try again")
        .with_code(Code::ForeignOrigin)
}

/// Returns a form token for the holder of `key`. Each call returns another text, so that compression of the page cannot
/// leak the token bit by bit (BREACH).
pub fn token(key: &[u8; 32]) -> String {
    let mut mask = [0u8; 32];
    if getrandom::fill(&mut mask).is_err() {
        return String::new();
    }
    let masked = key.iter().zip(mask).map(|(a, b)| a ^ b);
    let bytes: Vec<u8> = mask.into_iter().chain(masked).collect();
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Refuses a token that was not made by [`token`] for the same key.
pub fn check(key: &[u8; 32], token: &str) -> Result<()> {
    let wrong = || {
        Error::forbidden("the form has expired; go back, load the page again and repeat the change")
            .with_code(Code::FormExpired)
    };
    let bytes: [u8; 64] =
        URL_SAFE_NO_PAD.decode(token).ok().and_then(|bytes| bytes.try_into().ok()).ok_or_else(wrong)?;
    let (mask, masked) = bytes.split_at(32);
    // No early exit: the comparison takes constant time.
    let difference = key.iter().zip(mask).zip(masked).fold(0, |sum, ((a, b), c)| sum | (a ^ b ^ c));
    if difference == 0 { Ok(()) } else { Err(wrong()) }
}

/// Derives the key for forms filled in before sign-in, from a random value in a cookie.
pub fn visitor_key(secret: &str) -> [u8; 32] {
    blake3::derive_key("strongroom 2026-11 form tokens of a visitor", secret.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_belong_to_their_secret() {
        let (key, other) = (visitor_key("one"), visitor_key("two"));
        let (one, two) = (token(&key), token(&key));
        assert_ne!(one, two);
        assert!(check(&key, &one).is_ok());
        assert!(check(&key, &two).is_ok());
        for (key, bad) in [(other, one.as_str()), (key, ""), (key, "AAAA"), (key, "!"), (key, &one[1..])] {
            assert_eq!(check(&key, bad).unwrap_err().code(), "form_expired");
        }
    }

    #[test]
    fn only_our_own_pages_and_programs_may_change() {
        let ours = |fields: &[(&'static str, &'static str)]| {
            is_ours(&fields.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect(), None)
        };
        assert!(ours(&[("host", "a.example")]));
        assert!(ours(&[("host", "a.example:8080"), ("origin", "http://a.example:8080")]));
        assert!(ours(&[("host", "inner"), ("origin", "https://outer"), ("sec-fetch-site", "same-origin")]));
        for bad in [
            &[("host", "a.example"), ("origin", "http://evil.example")][..],
            &[("host", "a.example"), ("origin", "null")],
            &[("host", "a.example"), ("origin", "http://a.example.evil")],
            &[("host", "a.example"), ("origin", "http://evil/a.example")],
            &[("origin", "http://")],
            &[("host", "a.example"), ("sec-fetch-site", "cross-site")],
            &[("host", "a.example"), ("origin", "http://a.example"), ("sec-fetch-site", "same-site")],
        ] {
            assert!(!ours(bad), "{bad:?}");
        }
    }

    #[test]
    fn where_the_public_address_is_set_the_host_decides_nothing() {
        let ours = |origin: &str| {
            let fields = [("host", "evil.example"), ("origin", origin)];
            let headers = fields.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect();
            is_ours(&headers, Some("https://a.example"))
        };
        assert!(ours("https://a.example"));
        assert!(ours("https://A.example"));
        for bad in ["https://evil.example", "http://a.example", "https://a.example:8443", "null"] {
            assert!(!ours(bad), "{bad}");
        }
    }
}
