//! Context of the current request: its identifier, its user, and the permits that it holds.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use axum::http::HeaderMap;
use model::Result;

use super::concurrency::{ConcurrencyLimits, KeyedPermit};

/// Identity of one request, in the response (`x-request-id`), in error documents and in every log line.
#[derive(Clone, Debug)]
pub struct RequestContext(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: String,
    principal: OnceLock<String>,
    /// The concurrency limits, and the permit of the address.
    limits: OnceLock<(ConcurrencyLimits, Option<KeyedPermit<IpAddr>>)>,
    user: OnceLock<KeyedPermit<String>>,
}

tokio::task_local! {
    static CURRENT: RequestContext;
}

/// Name of the header that carries the identifier.
pub const REQUEST_ID: &str = "x-request-id";

impl RequestContext {
    /// Takes the identifier from a proxy in front, if it is short and plain; otherwise creates a new one.
    pub fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|id| is_plain(id));
        let id = given.map_or_else(fresh, ToOwned::to_owned);
        Self(Arc::new(Inner { id, principal: OnceLock::new(), limits: OnceLock::new(), user: OnceLock::new() }))
    }

    /// The identifier.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The login of the user, once known.
    pub fn principal(&self) -> Option<&str> {
        self.0.principal.get().map(String::as_str)
    }

    /// Runs a future as part of this request.
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(self, future).await
    }
}

/// Returns the identifier of the current request; empty outside of one.
pub fn current_id() -> String {
    CURRENT.try_with(|context| context.id().to_owned()).unwrap_or_default()
}

/// Stores the permit of the request's address until the response was sent, and the limits from which the user's permit
/// is taken.
pub fn set_limits(limits: ConcurrencyLimits, address: Option<KeyedPermit<IpAddr>>) {
    // Only the edge calls this, once and inside of the request.
    let _ = CURRENT.try_with(|context| context.0.limits.set((limits, address)));
}

/// Records the user of the request, for the log and for the limit on concurrent requests. Only the first call has an
/// effect.
///
/// # Errors
/// Exhausted with code `too_many_requests`.
pub fn note_principal(login: &str) -> Result<()> {
    let noted = CURRENT.try_with(|context| {
        if context.0.principal.set(login.to_owned()).is_ok()
            && let Some((limits, _)) = context.0.limits.get()
        {
            // No other code sets it.
            let _ = context.0.user.set(limits.user(login)?);
        }
        Ok(())
    });
    // Outside of a request there is no log line and nothing to count.
    noted.unwrap_or(Ok(()))
}

/// Returns a permit for a costly request of the current user; `None` where nothing is counted.
///
/// # Errors
/// Exhausted with code `too_many_requests`.
pub fn acquire_costly() -> Result<Option<KeyedPermit<String>>> {
    let permit = CURRENT.try_with(|context| {
        let known = context.principal().zip(context.0.limits.get());
        known.map(|(login, (limits, _))| limits.costly(login)).transpose()
    });
    permit.unwrap_or(Ok(None))
}

/// Returns the user and the counted address of the current request, as far as known.
pub fn senders() -> (Option<String>, Option<IpAddr>) {
    let known = CURRENT.try_with(|context| {
        let address = context.0.limits.get().and_then(|(_, permit)| permit.as_ref()?.key().copied());
        (context.principal().map(str::to_owned), address)
    });
    known.unwrap_or_default()
}

fn is_plain(id: &str) -> bool {
    (8..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// 96 random bits in hexadecimal.
fn fresh() -> String {
    let mut bytes = [0u8; 12];
    // An identifier only has to distinguish requests; without random bytes, all zeros must do.
    let _ = getrandom::fill(&mut bytes);
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_identifiers_are_taken_over() {
        let id = |value: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, axum::http::HeaderValue::from_bytes(value).unwrap());
            RequestContext::of(&headers).id().to_owned()
        };
        assert_eq!(id(b"abc-123_X.9"), "abc-123_X.9");
        for bad in [&b"short"[..], b"has space in it", b"quote\"inside", "ümläutig".as_bytes(), &[b'a'; 65]] {
            let taken = id(bad);
            assert!(taken.len() == 24, "{taken}");
            assert!(taken.bytes().all(|b| b.is_ascii_hexdigit()), "{taken}");
        }
        assert_ne!(RequestContext::of(&HeaderMap::new()).id(), RequestContext::of(&HeaderMap::new()).id());
    }

    #[tokio::test]
    async fn the_request_under_way_is_known_inside_of_its_scope_only() {
        let context = RequestContext::of(&HeaderMap::new());
        let seen = context.clone().scope(async {
            note_principal("anna").unwrap();
            note_principal("bert").unwrap();
            current_id()
        });
        assert_eq!(seen.await, context.id());
        assert_eq!((context.principal(), current_id().as_str()), (Some("anna"), ""));
    }
}
