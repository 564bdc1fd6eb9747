//! Who reads a page and what they sent, noted for the layer that draws errors.

use std::sync::{Arc, OnceLock};

use model::Theme;

use super::page::{Page, Who};
use super::texts::Language;

/// Who reads the page, once a handler has found out; so that an error looks like all other pages.
#[derive(Clone, Default)]
pub struct Reader {
    known: Arc<OnceLock<Known>>,
    kept: Arc<OnceLock<Kept>>,
}

/// What is known of a reader.
pub struct Known {
    /// Name and login.
    pub who: Who,
    /// Token for the forms of the page.
    pub form_token: String,
    /// Language of the account or browser.
    pub language: Language,
    /// Theme of the account.
    pub theme: Theme,
}

impl Reader {
    /// Notes the reader; the first note counts.
    pub fn note(&self, known: Known) {
        let _ = self.known.set(known);
    }

    /// Who reads, as far as that is known.
    pub fn known(&self) -> Option<&Known> {
        self.known.get()
    }

    /// What a form brought, if it was one.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.get()
    }

    /// Keeps what a form brought, to be sent again after a fresh proof.
    pub fn keep(&self, kept: Kept) {
        let _ = self.kept.set(kept);
    }
}

impl Known {
    /// Puts it into the page.
    pub fn apply(&self, page: &mut Page) {
        page.who = Some(self.who.clone());
        page.form_token.clone_from(&self.form_token);
        page.language = self.language;
        page.theme = self.theme;
    }
}

/// What a form brought that needs a fresh proof first: where it was sent, and its fields.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The path that it was sent to; empty when a page was asked for.
    pub to: String,
    /// The fields, as a form sends them.
    pub fields: String,
}
