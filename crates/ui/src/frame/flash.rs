//! The note after something was done, carried over one redirect by a cookie.

use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};

use http_core::identity::cookies::{self, Cookie};

/// The cookie's name.
const FLASH: &str = "strongroom_flash";
/// What a note may say: keys below `toast.` in the texts. The cookie can only choose among them.
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

/// Back to a page, with a note.
pub fn done(next: &str, flash: &Flash) -> Response {
    let mut response = Redirect::to(next).into_response();
    flash.set(&mut response);
    response
}

/// What was just done, and how to undo it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flash {
    /// Key of the text.
    pub key: &'static str,
    /// The name in the text; may be empty.
    pub name: String,
    /// The site collection and the entries of its recycle bin, separated by commas; empty when there is nothing to undo.
    pub undo: String,
}

impl Flash {
    /// A note without undo.
    pub fn new(key: &'static str, name: impl Into<String>) -> Self {
        Self { key, name: name.into(), undo: String::new() }
    }

    /// The note that the request's cookie holds.
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

    /// Lets the next page show the note.
    pub fn set(&self, response: &mut Response) {
        let name: String = self.name.chars().take(80).collect();
        let undo = if self.undo.len() <= 1_500 { self.undo.as_str() } else { "" };
        let value = format!("{}\n{undo}\n{name}", self.key);
        Cookie { name: FLASH, value: &value, seconds: Some(30), secure: false }.set(response);
    }

    /// Forgets the note, once a page has shown it.
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
