//! Byte ranges (RFC 9110, section 14).

use model::Timestamp;

use super::conditional::{parse_date, strong_tag};

/// The bytes of a document that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// All bytes, with 200.
    Whole,
    /// The bytes from `start` up to and including `end`, with 206.
    Part {
        /// Offset of the first byte.
        start: u64,
        /// Last byte; at least `start` and below the length.
        end: u64,
    },
    /// No byte that the document has: 416.
    Unsatisfiable,
}

/// Parses a `Range` field for a document of `length` bytes.
///
/// Malformed fields, fields with another unit and fields with several ranges are ignored, as the RFC allows.
pub fn wanted(field: Option<&str>, length: u64) -> RequestedRange {
    let Some(spec) = field.and_then(|f| f.trim().strip_prefix("bytes=")) else { return RequestedRange::Whole };
    let Some((first, last)) = spec.trim().split_once('-') else { return RequestedRange::Whole };
    if first.is_empty() {
        return match number(last) {
            None => RequestedRange::Whole,
            Some(0) => RequestedRange::Unsatisfiable,
            Some(_) if length == 0 => RequestedRange::Unsatisfiable,
            Some(count) => RequestedRange::Part { start: length.saturating_sub(count), end: length - 1 },
        };
    }
    let (Some(start), Some(end)) = (number(first), if last.is_empty() { Some(u64::MAX) } else { number(last) }) else {
        return RequestedRange::Whole;
    };
    if end < start {
        RequestedRange::Whole
    } else if start >= length {
        RequestedRange::Unsatisfiable
    } else {
        RequestedRange::Part { start, end: end.min(length - 1) }
    }
}

/// Returns whether an `If-Range` field still matches the stored document. If not, the whole document is sent.
///
/// `etag` is the current strong tag with its quotes.
pub fn if_range_holds(field: &str, etag: &str, modified: Timestamp) -> bool {
    match strong_tag(field.trim()) {
        Some(tag) => tag == etag,
        None => parse_date(field).is_some_and(|seconds| seconds == modified.seconds()),
    }
}

/// The value of `Content-Range` for a partial response.
pub fn content_range(start: u64, end: u64, length: u64) -> String {
    format!("bytes {start}-{end}/{length}")
}

/// The value of `Content-Range` for a 416 response.
pub fn unsatisfied_range(length: u64) -> String {
    format!("bytes */{length}")
}

/// Parses digits only, since `parse` would accept a plus sign. A number beyond 64 bits counts as the largest one.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_mean_what_the_rfc_says() {
        let part = |start, end| RequestedRange::Part { start, end };
        let cases = [
            ("bytes=0-0", part(0, 0)),
            ("bytes=0-499", part(0, 99)),
            ("bytes=5-9", part(5, 9)),
            ("bytes=99-", part(99, 99)),
            ("bytes=-1", part(99, 99)),
            ("bytes=-500", part(0, 99)),
            ("bytes=0-99999999999999999999999", part(0, 99)),
            ("bytes=100-", RequestedRange::Unsatisfiable),
            ("bytes=-0", RequestedRange::Unsatisfiable),
            ("bytes=9-5", RequestedRange::Whole),
            ("bytes=0-1,5-6", RequestedRange::Whole),
            ("bytes=+1-2", RequestedRange::Whole),
            ("bytes=-", RequestedRange::Whole),
            ("bytes=a-b", RequestedRange::Whole),
            ("lines=0-1", RequestedRange::Whole),
            ("", RequestedRange::Whole),
        ];
        for (field, expected) in cases {
            assert_eq!(wanted(Some(field), 100), expected, "{field}");
        }
        assert_eq!(wanted(None, 100), RequestedRange::Whole);
        assert_eq!(wanted(Some("bytes=0-"), 0), RequestedRange::Unsatisfiable);
        assert_eq!(wanted(Some("bytes=-5"), 0), RequestedRange::Unsatisfiable);
    }

    #[test]
    fn if_range_needs_the_same_strong_tag_or_date() {
        let time = Timestamp::from_micros(784_111_777_123_456);
        assert!(if_range_holds("\"a\"", "\"a\"", time));
        assert!(!if_range_holds("\"b\"", "\"a\"", time));
        assert!(!if_range_holds("W/\"a\"", "\"a\"", time));
        assert!(if_range_holds("Sun, 06 Nov 1994 08:49:37 GMT", "\"a\"", time));
        assert!(!if_range_holds("Sun, 06 Nov 1994 08:49:38 GMT", "\"a\"", time));
        assert!(!if_range_holds("rubbish", "\"a\"", time));
    }
}
