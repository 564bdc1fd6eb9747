//! The page's user and form data, recorded for the layer that renders errors.

use std::sync::{Arc, OnceLock};

use model::{Theme, Zone};

use super::page::{Page, Who};
use super::texts::Language;

/// Records the user once a handler has authenticated the request, so that error pages look like all other pages.
#[derive(Clone, Default)]
pub struct PageUser {
    known: Arc<OnceLock<UserData>>,
    kept: Arc<OnceLock<KeptForm>>,
}

/// Data of an authenticated user.
pub struct UserData {
    /// Name and login.
    pub who: Who,
    /// Token for the page's forms.
    pub form_token: String,
    /// Language of the account or browser.
    pub language: Language,
    /// Theme of the account.
    pub theme: Theme,
    /// Time zone of the account or browser.
    pub zone: Zone,
}

impl PageUser {
    /// Records the user. Only the first call counts.
    pub fn note(&self, known: UserData) {
        let _ = self.known.set(known);
    }

    /// Returns the user, if known.
    pub fn known(&self) -> Option<&UserData> {
        self.known.get()
    }

    /// Returns the submitted form, if there was one.
    pub fn kept(&self) -> Option<&KeptForm> {
        self.kept.get()
    }

    /// Keeps the submitted form, to be sent again after re-authentication.
    pub fn keep(&self, kept: KeptForm) {
        let _ = self.kept.set(kept);
    }
}

impl UserData {
    /// Copies the data into the page.
    pub fn apply(&self, page: &mut Page) {
        page.who = Some(self.who.clone());
        page.form_token.clone_from(&self.form_token);
        page.language = self.language;
        page.theme = self.theme;
        page.zone = self.zone.clone();
    }
}

/// A submitted form that needs re-authentication first.
#[derive(Clone, Debug, Default)]
pub struct KeptForm {
    /// Path of the request; empty when no form was submitted.
    pub to: String,
    /// Form-encoded fields.
    pub fields: String,
}
