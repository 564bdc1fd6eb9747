//! Header fields that protect browsers from harmful responses.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use model::{Code, Error, Result};

/// Policy for our own pages: nothing inline, nothing from other origins, no frames.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; \
     media-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// Policy for stored bytes: whatever they are, they run and load nothing.
pub const CONTENT_POLICY: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'");

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");

/// Adds the fields that every response needs. Fields that a handler has set are kept.
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

/// Two years, as the operators of HSTS preload lists require.
const ONLY_TLS: HeaderValue = HeaderValue::from_static("max-age=63072000");

/// Tells browsers to use only TLS from now on. Called where they reach the server over TLS.
pub fn add_hsts(headers: &mut HeaderMap) {
    headers.entry(STRICT_TRANSPORT_SECURITY).or_insert(ONLY_TLS);
}

/// Fetch destinations that stored bytes are never used for, whichever page of this site requests them.
const FORBIDDEN_DESTINATIONS: [&str; 9] =
    ["script", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet", "style", "xslt", "manifest"];

/// Refuses stored bytes to a browser that would run them or use them to render a page.
///
/// # Errors
/// Forbidden with code `not_as_script`.
pub fn require_harmless_use(headers: &HeaderMap) -> Result<()> {
    let used_as = headers.get("sec-fetch-dest").and_then(|value| value.to_str().ok());
    match used_as.filter(|used_as| FORBIDDEN_DESTINATIONS.contains(used_as)) {
        None => Ok(()),
        Some(used_as) => Err(Error::forbidden(format!(
            "stored content is never served as {used_as}: download it, or open it by itself"
        ))
        .with_code(Code::NotAsScript)),
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
    fn content_is_refused_as_anything_that_runs() {
        let used_as = |value: &'static str| {
            let headers = [("sec-fetch-dest".parse().unwrap(), HeaderValue::from_static(value))].into_iter().collect();
            require_harmless_use(&headers).map_err(|error| error.code().as_str())
        };
        for harmless in ["document", "image", "video", "empty", "object"] {
            assert_eq!(used_as(harmless), Ok(()), "{harmless}");
        }
        for harmful in FORBIDDEN_DESTINATIONS {
            assert_eq!(used_as(harmful), Err("not_as_script"), "{harmful}");
        }
    }

    #[test]
    fn pages_allow_nothing_inline() {
        let policy = PAGE_POLICY;
        let text = policy.to_str().unwrap();
        assert!(!text.contains("unsafe"));
        assert!(!text.contains("data:"));
        assert!(text.contains("frame-ancestors 'none'"));
    }
}
