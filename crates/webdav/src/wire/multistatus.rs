//! Writing answers with many statuses (RFC 4918, 13) piece by piece.

use axum::http::StatusCode;

use super::bodies::PropertyName;
use super::xml;

/// What every answer begins with.
pub const HEAD: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
/// The beginning of an answer with many statuses.
pub const BEGIN: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">";
/// Its end.
pub const END: &str = "\n</D:multistatus>\n";

/// Properties of one resource, by whether they were found.
#[derive(Debug, Default)]
pub struct Properties {
    /// Elements of properties that are there.
    pub found: String,
    /// Elements with the names of others.
    pub missing: String,
}

impl Properties {
    /// Adds a property of WebDAV with this content, which is XML.
    pub fn live(&mut self, name: &str, content: &str) {
        self.found.push_str(&format!("<D:{name}>{content}</D:{name}>"));
    }

    /// Adds a property of WebDAV with this text.
    pub fn text(&mut self, name: &str, text: &str) {
        let mut content = String::with_capacity(text.len());
        xml::escape(&mut content, text);
        self.live(name, &content);
    }

    /// Adds a property that is not there.
    pub fn lacks(&mut self, name: &PropertyName) {
        xml::write_empty(&mut self.missing, &name.namespace, &name.name);
    }

    /// The answer for the resource at an address.
    pub fn response(&self, out: &mut String, href: &str) {
        begin(out, href);
        if !self.found.is_empty() || self.missing.is_empty() {
            propstat(out, &self.found, StatusCode::OK, "");
        }
        if !self.missing.is_empty() {
            propstat(out, &self.missing, StatusCode::NOT_FOUND, "");
        }
        out.push_str("</D:response>");
    }
}

/// Begins the answer for one resource, which `</D:response>` ends.
pub fn begin(out: &mut String, href: &str) {
    out.push_str("\n<D:response><D:href>");
    xml::escape(out, href);
    out.push_str("</D:href>");
}

/// The status of some properties; `inner` is further XML about it.
pub fn propstat(out: &mut String, properties: &str, status: StatusCode, inner: &str) {
    out.push_str(&format!("<D:propstat><D:prop>{properties}</D:prop>{}{inner}</D:propstat>", self::status(status)));
}

/// A status as an element.
pub fn status(status: StatusCode) -> String {
    format!("<D:status>HTTP/1.1 {} {}</D:status>", status.as_u16(), status.canonical_reason().unwrap_or_default())
}
