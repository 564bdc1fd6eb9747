//! Byte ranges (RFC 9110, section 14).

use model::Timestamp;

use super::conditional::{parse_date, strong_tag};

/// Which bytes of a document a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of them, with 200.
    Whole,
    /// From `start` up to and including `end`, with 206.
    Part {
        /// First byte.
        start: u64,
        /// Last byte; at least `start` and below the length.
        end: u64,
    },
    /// None that the document has: 416.
    Unsatisfiable,
}

/// Reads a `Range` field for a document of `length` bytes.
///
/// Fields that are malformed, of another unit or that name several ranges are ignored, as the RFC allows.
pub fn wanted(field: Option<&str>, length: u64) -> Wanted {
    let Some(spec) = field.and_then(|f| f.trim().strip_prefix("bytes=")) else { return Wanted::Whole };
    let Some((first, last)) = spec.trim().split_once('-') else { return Wanted::Whole };
    if first.is_empty() {
        return match number(last) {
            None => Wanted::Whole,
            Some(0) => Wanted::Unsatisfiable,
            Some(_) if length == 0 => Wanted::Unsatisfiable,
            Some(count) => Wanted::Part { start: length.saturating_sub(count), end: length - 1 },
        };
    }
    let (Some(start), Some(end)) = (number(first), if last.is_empty() { Some(u64::MAX) } else { number(last) }) else {
        return Wanted::Whole;
    };
    if end < start {
        Wanted::Whole
    } else if start >= length {
        Wanted::Unsatisfiable
    } else {
        Wanted::Part { start, end: end.min(length - 1) }
    }
}

/// Whether an `If-Range` field still names what is stored; when not, the whole document is sent.
///
/// `etag` is the present strong tag with its quotes.
pub fn if_range_holds(field: &str, etag: &str, modified: Timestamp) -> bool {
    match strong_tag(field.trim()) {
        Some(tag) => tag == etag,
        None => parse_date(field).is_some_and(|seconds| seconds == modified.seconds()),
    }
}

/// The value of `Content-Range` for a part.
pub fn content_range(start: u64, end: u64, length: u64) -> String {
    format!("bytes {start}-{end}/{length}")
}

/// The value of `Content-Range` for an answer with 416.
pub fn unsatisfied_range(length: u64) -> String {
    format!("bytes */{length}")
}

/// Digits only, since `parse` would take a plus sign; a number beyond 64 bits is as good as the largest.
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
        let part = |start, end| Wanted::Part { start, end };
        let cases = [
            ("bytes=0-0", part(0, 0)),
            ("bytes=0-499", part(0, 99)),
            ("bytes=5-9", part(5, 9)),
            ("bytes=99-", part(99, 99)),
            ("bytes=-1", part(99, 99)),
            ("bytes=-500", part(0, 99)),
            ("bytes=0-99999999999999999999999", part(0, 99)),
            ("bytes=100-", Wanted::Unsatisfiable),
            ("bytes=-0", Wanted::Unsatisfiable),
            ("bytes=9-5", Wanted::Whole),
            ("bytes=0-1,5-6", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("", Wanted::Whole),
        ];
        for (field, expected) in cases {
            assert_eq!(wanted(Some(field), 100), expected, "{field}");
        }
        assert_eq!(wanted(None, 100), Wanted::Whole);
        assert_eq!(wanted(Some("bytes=0-"), 0), Wanted::Unsatisfiable);
        assert_eq!(wanted(Some("bytes=-5"), 0), Wanted::Unsatisfiable);
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
