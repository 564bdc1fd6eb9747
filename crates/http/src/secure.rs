//! Header fields that keep answers from doing harm in a browser.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};

/// For our own pages: nothing inline, nothing foreign, no frames.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; \
     media-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// For bytes that people have stored: whatever they are, they run and load nothing.
pub const CONTENT_POLICY: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'");

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");

/// Adds what every answer needs, leaving what a handler has set itself.
pub fn add_headers(headers: &mut HeaderMap) {
    let defaults = [
        (CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (OPENER, HeaderValue::from_static("same-origin")),
        (RESOURCE, HeaderValue::from_static("same-origin")),
        (PERMISSIONS, HeaderValue::from_static("camera=(), geolocation=(), microphone=()")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    for (name, value) in defaults {
        headers.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_handler_has_set_stays() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_SECURITY_POLICY, CONTENT_POLICY);
        add_headers(&mut headers);
        assert_eq!(headers[CONTENT_SECURITY_POLICY], CONTENT_POLICY);
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[CACHE_CONTROL], "no-store");
    }

    #[test]
    fn pages_allow_nothing_inline() {
        let policy = PAGE_POLICY;
        let text = policy.to_str().unwrap();
        assert!(!text.contains("unsafe") && !text.contains("data:") && text.contains("frame-ancestors 'none'"));
    }
}
