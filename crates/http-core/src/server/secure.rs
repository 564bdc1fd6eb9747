//! Header fields that protect browsers from harmful responses.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use model::{Code, Error, Result};

/// Policy for our own pages: nothing inline, nothing from other origins, no frames.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; \
     media-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// Returns the policy of a page that shows a frame of another origin and submits a form to it.
///
/// # Errors
/// `Invalid` for an origin that cannot be in a policy.
pub fn policy_with_frame_of(origin: &str) -> Result<HeaderValue> {
    let policy = PAGE_POLICY;
    let text = policy
        .to_str()
        .unwrap_or_default()
        .replace("form-action 'self'", &format!("form-action 'self' {origin}; frame-src {origin}"));
    let is_plain = !origin.contains([' ', ';', ',']);
    let value = HeaderValue::from_str(&text).ok().filter(|_| is_plain);
    value.ok_or_else(|| Error::invalid("the address of the office server cannot be used"))
}

/// Policy for stored bytes: whatever they are, they run and load nothing.
pub const CONTENT_POLICY: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'");

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");

/// Policy for scripts and style sheets. It holds for scripts that run as workers.
const ASSET_POLICY: HeaderValue = HeaderValue::from_static("default-src 'self'");

/// Adds the fields that every response needs. Fields that a handler has set are kept.
pub fn add_headers(headers: &mut HeaderMap) {
    if is_asset(headers) {
        headers.entry(CONTENT_SECURITY_POLICY).or_insert(ASSET_POLICY);
        headers.entry(X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
        headers.entry(RESOURCE).or_insert(HeaderValue::from_static("same-origin"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        return;
    }
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

/// Returns whether a response is a script or a style sheet of ours. They need fewer header fields, because they are no
/// documents. Stored bytes have a policy of their own.
fn is_asset(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_asset = ["text/javascript", "text/css"].iter().any(|known| kind.starts_with(known));
    is_asset && !headers.contains_key(CONTENT_SECURITY_POLICY)
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
        assert!(headers.contains_key(X_FRAME_OPTIONS));
        let mut script = HeaderMap::new();
        script.insert(CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"));
        add_headers(&mut script);
        assert_eq!(script[CONTENT_SECURITY_POLICY], ASSET_POLICY);
        assert_eq!(
            (script.contains_key(X_FRAME_OPTIONS), &script[X_CONTENT_TYPE_OPTIONS]),
            (false, &HeaderValue::from_static("nosniff"))
        );
    }

    #[test]
    fn a_frame_is_allowed_for_one_origin() {
        let policy = policy_with_frame_of("https://office.example.org:9980").unwrap();
        let text = policy.to_str().unwrap();
        assert!(text.contains(
            "form-action 'self' https://office.example.org:9980; frame-src https://office.example.org:9980;"
        ));
        assert!(text.contains("frame-ancestors 'none'") && !text.contains("unsafe"));
        for bad in ["https://a; script-src *", "https://a\n", "https://a https://b"] {
            assert!(policy_with_frame_of(bad).is_err(), "{bad:?}");
        }
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
