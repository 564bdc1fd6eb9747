//! The `Idempotency-Key` field: a client's own key for one change, so that a repeated request cannot apply it twice.

use axum::http::HeaderMap;
use model::{Code, Error, Result};

/// Name of the field.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Returns the key of a request, if it has one: 1 to 128 printable ASCII characters, with or without the quotes of a
/// structured field.
pub fn key(headers: &HeaderMap) -> Result<Option<String>> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(first) = values.next() else { return Ok(None) };
    let bad = || Error::invalid("Idempotency-Key must be given once, as 1 to 128 printable ASCII characters");
    let text = first.to_str().map_err(|_| bad().with_code(Code::InvalidIdempotencyKey))?.trim();
    let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    let fits = (1..=128).contains(&text.len()) && text.bytes().all(|b| (0x20..0x7f).contains(&b));
    if !fits || values.next().is_some() {
        return Err(bad().with_code(Code::InvalidIdempotencyKey));
    }
    Ok(Some(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_short_plain_and_single() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(IDEMPOTENCY_KEY, value.parse().unwrap());
            }
            key(&headers)
        };
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&["\"8e03978e\""]).unwrap().as_deref(), Some("8e03978e"));
        assert_eq!(read(&["8e03978e"]).unwrap().as_deref(), Some("8e03978e"));
        let long = "x".repeat(129);
        for bad in [&["", "a"][..], &[""], &["\"\""], &["a", "b"], &[long.as_str()]] {
            assert_eq!(read(bad).unwrap_err().code(), "invalid_idempotency_key", "{bad:?}");
        }
    }
}
