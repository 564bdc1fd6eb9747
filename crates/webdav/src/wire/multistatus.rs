//! Incremental writing of multi-status responses (RFC 4918, 13).

use axum::http::StatusCode;

use super::bodies::PropertyName;
use super::xml;

/// XML declaration of every response.
pub const HEAD: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
/// Beginning of a multi-status response.
pub const BEGIN: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">";
/// End of a multi-status response.
pub const END: &str = "\n</D:multistatus>\n";

/// Properties of one resource, separated into found and missing ones.
#[derive(Debug, Default)]
pub struct Properties {
    /// Elements of the properties found.
    pub found: String,
    /// Empty elements of the missing properties.
    pub missing: String,
}

impl Properties {
    /// Adds a `DAV:` property with XML content.
    pub fn live(&mut self, name: &str, content: &str) {
        self.found.push_str(&format!("<D:{name}>{content}</D:{name}>"));
    }

    /// Adds a `DAV:` property with text content.
    pub fn text(&mut self, name: &str, text: &str) {
        let mut content = String::with_capacity(text.len());
        xml::escape(&mut content, text);
        self.live(name, &content);
    }

    /// Adds a missing property.
    pub fn lacks(&mut self, name: &PropertyName) {
        xml::write_empty(&mut self.missing, &name.namespace, &name.name);
    }

    /// Writes the response element for a URL.
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

/// Begins the response element for one resource. The caller ends it with `</D:response>`.
pub fn begin(out: &mut String, href: &str) {
    out.push_str("\n<D:response><D:href>");
    xml::escape(out, href);
    out.push_str("</D:href>");
}

/// Writes the status of some properties, followed by the XML in `inner`.
pub fn propstat(out: &mut String, properties: &str, status: StatusCode, inner: &str) {
    out.push_str(&format!("<D:propstat><D:prop>{properties}</D:prop>{}{inner}</D:propstat>", self::status(status)));
}

/// Returns a status element.
pub fn status(status: StatusCode) -> String {
    format!("<D:status>HTTP/1.1 {} {}</D:status>", status.as_u16(), status.canonical_reason().unwrap_or_default())
}
