//! Planning of responses with stored bytes: conditional responses, ranges, and header fields that keep a browser from
//! running stored content. No I/O; the caller supplies the bytes.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, Result, Timestamp};

use crate::protocol::conditional::{self, Present, Verdict};
use crate::protocol::range::{self, RequestedRange};
use crate::protocol::{content_type, disposition};
use crate::server::secure;

/// The content to send.
pub struct Content<'a> {
    /// The file name of the download.
    pub name: &'a str,
    /// The stored media type.
    pub media_type: &'a str,
    /// Length of the whole content in bytes.
    pub length: u64,
    /// The strong entity tag, with its quotes.
    pub etag: &'a str,
    /// Time at which this content was stored.
    pub modified: Timestamp,
    /// True if the caller requested inline display.
    pub inline: bool,
}

/// A response without its body.
pub struct Plan {
    /// Status and header fields.
    pub response: Response,
    /// The first byte to send and the number of bytes; `None` when the response has no body.
    pub bytes: Option<(u64, u64)>,
}

/// Plans the response to a GET or HEAD request for this content.
pub fn plan(method: &Method, headers: &HeaderMap, content: &Content<'_>) -> Result<Plan> {
    let present = Present { etag: content.etag, modified: content.modified };
    if conditional::evaluate(method, headers, Some(present))? == Verdict::NotModified {
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        identify(response.headers_mut(), content);
        return Ok(Plan { response, bytes: None });
    }
    let field = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let stale = field(header::IF_RANGE).is_some_and(|f| !range::if_range_holds(f, content.etag, content.modified));
    let asked = field(header::RANGE).filter(|_| method == Method::GET && !stale);
    let (status, start, count) = match range::wanted(asked, content.length) {
        RequestedRange::Whole => (StatusCode::OK, 0, content.length),
        RequestedRange::Part { start, end } => (StatusCode::PARTIAL_CONTENT, start, end - start + 1),
        RequestedRange::Unsatisfiable => return Ok(unsatisfiable(content.length)),
    };
    let mut response = status.into_response();
    let fields = response.headers_mut();
    identify(fields, content);
    protect(fields, content)?;
    fields.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    fields.insert(header::CONTENT_LENGTH, count.into());
    if status == StatusCode::PARTIAL_CONTENT {
        let value = range::content_range(start, start + count - 1, content.length);
        fields.insert(header::CONTENT_RANGE, text(&value)?);
    }
    Ok(Plan { response, bytes: (method == Method::GET).then_some((start, count)) })
}

fn unsatisfiable(length: u64) -> Plan {
    let error = Error::invalid("the document has no bytes in the requested range").with_code(Code::RangeNotSatisfiable);
    let mut response = crate::server::error::Problem::from(error).into_response();
    if let Ok(value) = HeaderValue::from_str(&range::unsatisfied_range(length)) {
        response.headers_mut().insert(header::CONTENT_RANGE, value);
    }
    Plan { response, bytes: None }
}

fn identify(fields: &mut HeaderMap, content: &Content<'_>) {
    if let Ok(tag) = HeaderValue::from_str(content.etag) {
        fields.insert(header::ETAG, tag);
    }
    if let Ok(date) = HeaderValue::from_str(&conditional::format_date(content.modified)) {
        fields.insert(header::LAST_MODIFIED, date);
    }
    // Only this browser may cache it, and must revalidate each time, since permissions may have changed.
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}

fn protect(fields: &mut HeaderMap, content: &Content<'_>) -> Result<()> {
    let shown = content_type::shown_as(content.media_type).filter(|_| content.inline);
    let value = match shown {
        Some(kind) => {
            fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
            disposition::inline(content.name)
        }
        None => {
            let kind = HeaderValue::from_str(content.media_type)
                .unwrap_or(HeaderValue::from_static("application/octet-stream"));
            fields.insert(header::CONTENT_TYPE, kind);
            disposition::attachment(content.name)
        }
    };
    fields.insert(header::CONTENT_DISPOSITION, text(&value)?);
    fields.insert(header::CONTENT_SECURITY_POLICY, secure::CONTENT_POLICY);
    Ok(())
}

fn text(value: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(value).map_err(|e| Error::corrupt("a header field cannot be written").with_source(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: Method, fields: &[(&'static str, &'static str)], media_type: &str, inline: bool) -> Plan {
        let headers = fields.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect();
        let modified = Timestamp::from_micros(784_111_777_000_000);
        let content = Content { name: "a\u{202e}.html", media_type, length: 100, etag: "\"t\"", modified, inline };
        plan(&method, &headers, &content).unwrap()
    }

    #[test]
    fn stored_script_is_never_shown_in_place() {
        for kind in ["text/html", "image/svg+xml", "application/xhtml+xml", "", "text/html;x"] {
            let plan = ask(Method::GET, &[], kind, true);
            let fields = plan.response.headers();
            assert!(fields[header::CONTENT_DISPOSITION].to_str().unwrap().starts_with("attachment;"), "{kind}");
            assert!(fields[header::CONTENT_SECURITY_POLICY].to_str().unwrap().starts_with("sandbox;"), "{kind}");
        }
        let image = ask(Method::GET, &[], "image/png", true);
        assert!(image.response.headers()[header::CONTENT_DISPOSITION].to_str().unwrap().starts_with("inline;"));
        let kept = ask(Method::GET, &[], "image/png", false);
        assert!(kept.response.headers()[header::CONTENT_DISPOSITION].to_str().unwrap().starts_with("attachment;"));
    }

    #[test]
    fn ranges_and_conditions_have_their_status() {
        type Fields = &'static [(&'static str, &'static str)];
        type Case = (Method, Fields, u16, Option<(u64, u64)>);
        let cases: &[Case] = &[
            (Method::GET, &[], 200, Some((0, 100))),
            (Method::HEAD, &[], 200, None),
            (Method::HEAD, &[("range", "bytes=0-1")], 200, None),
            (Method::GET, &[("range", "bytes=10-19")], 206, Some((10, 10))),
            (Method::GET, &[("range", "bytes=10-19"), ("if-range", "\"t\"")], 206, Some((10, 10))),
            (Method::GET, &[("range", "bytes=10-19"), ("if-range", "\"old\"")], 200, Some((0, 100))),
            (Method::GET, &[("range", "bytes=100-")], 416, None),
            (Method::GET, &[("if-none-match", "\"t\"")], 304, None),
            (Method::GET, &[("if-none-match", "\"t\""), ("range", "bytes=0-1")], 304, None),
        ];
        for (method, fields, status, bytes) in cases {
            let plan = ask(method.clone(), fields, "text/plain", false);
            assert_eq!((plan.response.status().as_u16(), plan.bytes), (*status, *bytes), "{method} {fields:?}");
        }
        let part = ask(Method::GET, &[("range", "bytes=-10")], "text/plain", false);
        assert_eq!(part.response.headers()[header::CONTENT_RANGE], "bytes 90-99/100");
        let beyond = ask(Method::GET, &[("range", "bytes=200-")], "text/plain", false);
        assert_eq!(beyond.response.headers()[header::CONTENT_RANGE], "bytes */100");
    }
}
