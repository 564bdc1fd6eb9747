//! Conditional requests (RFC 9110, section 13) and the header fields they use.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, HeaderName, Method, header};
use model::{Code, Error, Result, Timestamp};

/// Outcome of a request's preconditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request is processed.
    Proceed,
    /// The client's copy is current: 304.
    NotModified,
}

/// The document that is stored now.
#[derive(Clone, Copy, Debug)]
pub struct Present<'a> {
    /// The strong entity tag, with its quotes.
    pub etag: &'a str,
    /// Time of the last change.
    pub modified: Timestamp,
}

/// Evaluates the preconditions in the order of section 13.2.2. `present` is `None` when nothing is stored at the
/// address.
///
/// # Errors
/// Conflict with code `precondition_failed` when a precondition does not hold.
pub fn evaluate(method: &Method, headers: &HeaderMap, present: Option<Present<'_>>) -> Result<Verdict> {
    let reading = method == Method::GET || method == Method::HEAD;
    if let Some(field) = joined(headers, header::IF_MATCH) {
        if !present.is_some_and(|p| lists(&field, p.etag, strong_tag)) {
            return Err(failed("the document no longer has a tag that If-Match names; read it again first"));
        }
    } else if let Some(limit) = date(headers, header::IF_UNMODIFIED_SINCE)
        && present.is_some_and(|p| p.modified.seconds() > limit)
    {
        return Err(failed("the document was changed after the time in If-Unmodified-Since; read it again first"));
    }
    if let Some(field) = joined(headers, header::IF_NONE_MATCH) {
        if present.is_some_and(|p| lists(&field, p.etag, any_tag)) {
            if reading {
                return Ok(Verdict::NotModified);
            }
            return Err(failed("the document exists already, or has a tag that If-None-Match excludes"));
        }
    } else if reading
        && let Some(limit) = date(headers, header::IF_MODIFIED_SINCE)
        && present.is_some_and(|p| p.modified.seconds() <= limit)
    {
        return Ok(Verdict::NotModified);
    }
    Ok(Verdict::Proceed)
}

/// Returns the tag with its quotes if the whole text is one strong entity tag.
pub fn strong_tag(text: &str) -> Option<&str> {
    let opaque = text.strip_prefix('"')?.strip_suffix('"')?;
    opaque.bytes().all(|b| b == 0x21 || (0x23..=0x7e).contains(&b) || b >= 0x80).then_some(text)
}

/// Like [`strong_tag`], but accepts a weak tag too and strips its prefix.
fn any_tag(text: &str) -> Option<&str> {
    strong_tag(text.strip_prefix("W/").unwrap_or(text))
}

/// Parses an HTTP date in any of its three forms. Returns seconds since the epoch.
pub fn parse_date(text: &str) -> Option<i64> {
    let time = httpdate::parse_http_date(text.trim()).ok()?;
    Some(Timestamp::from(time).seconds())
}

/// Formats a time for `Last-Modified`. Times before 1970 are written as 1970.
pub fn format_date(time: Timestamp) -> String {
    httpdate::fmt_http_date(SystemTime::from(time).max(UNIX_EPOCH))
}

fn failed(message: &'static str) -> Error {
    Error::conflict(message).with_code(Code::PreconditionFailed)
}

fn date(headers: &HeaderMap, name: HeaderName) -> Option<i64> {
    parse_date(headers.get(name)?.to_str().ok()?)
}

/// Joins all values of a field into one list. Bytes that are not UTF-8 are replaced; none of our tags contains them.
fn joined(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter().peekable();
    values.peek()?;
    Some(values.map(|v| String::from_utf8_lossy(v.as_bytes())).collect::<Vec<_>>().join(","))
}

/// Returns whether a list of tags is `*` or contains `etag`. A comma may occur inside the quotes.
fn lists(field: &str, etag: &str, read: fn(&str) -> Option<&str>) -> bool {
    if field.trim() == "*" {
        return true;
    }
    let mut inside = false;
    field
        .split(|c| {
            inside ^= c == '"';
            c == ',' && !inside
        })
        .any(|tag| read(tag.trim()) == Some(etag))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Timestamp = Timestamp::from_micros(784_111_777_123_456);
    const AT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    fn verdict(method: Method, fields: &[(&'static str, &str)], exists: bool) -> &'static str {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        let present = exists.then_some(Present { etag: "\"a,b\"", modified: TIME });
        match evaluate(&method, &headers, present) {
            Ok(Verdict::Proceed) => "go",
            Ok(Verdict::NotModified) => "304",
            Err(error) => {
                assert_eq!(error.code(), "precondition_failed");
                "412"
            }
        }
    }

    #[test]
    fn conditions_have_their_order_and_meaning() {
        type Case<'a> = (Method, &'a [(&'static str, &'a str)], bool, &'a str);
        let cases: &[Case<'_>] = &[
            (Method::GET, &[], true, "go"),
            (Method::PUT, &[("if-match", "\"a,b\"")], true, "go"),
            (Method::PUT, &[("if-match", "\"x\", \"a,b\"")], true, "go"),
            (Method::PUT, &[("if-match", "\"x\""), ("if-match", "\"a,b\"")], true, "go"),
            (Method::PUT, &[("if-match", "W/\"a,b\"")], true, "412"),
            (Method::PUT, &[("if-match", "*")], true, "go"),
            (Method::PUT, &[("if-match", "*")], false, "412"),
            (Method::PUT, &[("if-match", "\"x\"")], true, "412"),
            (Method::PUT, &[("if-match", "rubbish")], true, "412"),
            (Method::PUT, &[("if-none-match", "*")], false, "go"),
            (Method::PUT, &[("if-none-match", "*")], true, "412"),
            (Method::GET, &[("if-none-match", "W/\"a,b\"")], true, "304"),
            (Method::GET, &[("if-none-match", "\"x\""), ("if-modified-since", AT)], true, "go"),
            (Method::GET, &[("if-modified-since", AT)], true, "304"),
            (Method::HEAD, &[("if-modified-since", AT)], true, "304"),
            (Method::GET, &[("if-modified-since", BEFORE)], true, "go"),
            (Method::GET, &[("if-modified-since", "yesterday")], true, "go"),
            (Method::PUT, &[("if-modified-since", AT)], true, "go"),
            (Method::PUT, &[("if-unmodified-since", AT)], true, "go"),
            (Method::PUT, &[("if-unmodified-since", BEFORE)], true, "412"),
            (Method::PUT, &[("if-match", "\"a,b\""), ("if-unmodified-since", BEFORE)], true, "go"),
        ];
        for (method, fields, exists, expected) in cases {
            assert_eq!(verdict(method.clone(), fields, *exists), *expected, "{method} {fields:?}");
        }
    }

    #[test]
    fn dates_round_trip_and_do_not_panic_on_odd_times() {
        assert_eq!(format_date(TIME), AT);
        assert_eq!(parse_date(AT), Some(TIME.seconds()));
        assert_eq!(format_date(Timestamp::from_micros(-1)), "Thu, 01 Jan 1970 00:00:00 GMT");
    }
}
