//! The confirmation message after an action, carried over one redirect by a cookie.

use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};

use http_core::identity::cookies::{self, Cookie};

/// Name of the cookie.
const FLASH: &str = "strongroom_flash";
/// Allowed text keys. The cookie can only select one of them.
const KNOWN: &[&str] = &[
    "toast.saved",
    "toast.created",
    "toast.renamed",
    "toast.deleted",
    "toast.deleted-many",
    "toast.some-failed",
    "toast.moved",
    "toast.copied",
    "toast.restored",
    "toast.restored-many",
    "toast.purged",
    "toast.uploaded",
    "toast.skipped",
    "toast.checked-out",
    "toast.checked-in",
    "toast.discarded",
    "toast.unlocked",
    "toast.published",
    "toast.version-restored",
    "toast.version-deleted",
    "toast.granted",
    "toast.revoked",
    "toast.permissions",
    "toast.removed",
    "toast.password",
    "toast.session-ended",
    "toast.job-started",
    "toast.job-paused",
    "toast.job-resumed",
    "toast.job-aborted",
    "toast.policy-place",
    "toast.repaired",
    "toast.accepted",
    "toast.key-rotated",
    "toast.followed",
    "toast.left",
];

/// Redirects to a page with a message.
pub fn done(next: &str, flash: &Flash) -> Response {
    let mut response = Redirect::to(next).into_response();
    flash.set(&mut response);
    response
}

/// A confirmation message, with the data for an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flash {
    /// Text key.
    pub key: &'static str,
    /// Name inserted into the text; may be empty.
    pub name: String,
    /// Site collection and its recycle-bin entries, separated by commas. Empty when there is nothing to undo.
    pub undo: String,
}

impl Flash {
    /// Creates a message without undo.
    pub fn new(key: &'static str, name: impl Into<String>) -> Self {
        Self { key, name: name.into(), undo: String::new() }
    }

    /// Reads the message from the request's cookie.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let text = cookies::get(headers, FLASH)?;
        let mut parts = text.splitn(3, '\n');
        let word = parts.next()?;
        let key = KNOWN.iter().find(|key| **key == word)?;
        let (undo, name) = (parts.next()?, parts.next()?);
        let plain = undo.bytes().all(|b| b.is_ascii_digit() || b == b',');
        Some(Self {
            key,
            name: name.chars().take(80).collect(),
            undo: if plain { undo.to_owned() } else { String::new() },
        })
    }

    /// Sets the cookie, so that the next page shows the message. An undo list of more than 1,500 bytes is left out.
    pub fn set(&self, response: &mut Response) {
        let name: String = self.name.chars().take(80).collect();
        let undo = if self.undo.len() <= 1_500 { self.undo.as_str() } else { "" };
        let value = format!("{}\n{undo}\n{name}", self.key);
        Cookie { name: FLASH, value: &value, seconds: Some(30), secure: false }.set(response);
    }

    /// Removes the cookie after a page has shown the message.
    pub fn clear(response: &mut Response) {
        Cookie { name: FLASH, value: "", seconds: Some(0), secure: false }.set(response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header;

    fn carried(value: &str) -> Option<Flash> {
        let mut response = ().into_response();
        Cookie { name: FLASH, value, seconds: None, secure: false }.set(&mut response);
        let field = response.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
        Flash::of(&[(header::COOKIE, field.parse().unwrap())].into_iter().collect())
    }

    #[test]
    fn a_note_says_only_what_is_known() {
        let note = carried("toast.saved\n1,2\na\nb").unwrap();
        assert_eq!((note.key, note.undo.as_str(), note.name.as_str()), ("toast.saved", "1,2", "a\nb"));
        assert_eq!(carried("sign.title\n\nx"), None);
        assert_eq!(carried("toast.saved\n1;2\nx").unwrap().undo, "");
        assert_eq!(carried("toast.saved"), None);
    }
}
