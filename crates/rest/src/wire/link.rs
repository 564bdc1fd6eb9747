//! Links by which anybody can download a document.

use repository::{LinkRule, NewLink, ShareLink};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::item::{Names, PersonJson};
use http_core::protocol::time;

/// A link to a document, without its secret.
#[derive(Serialize, ToSchema)]
pub struct LinkJson {
    /// Identifier.
    pub id: String,
    /// When it was made.
    pub created_at: String,
    /// By whom.
    pub created_by: PersonJson,
    /// When it ends.
    pub expires_at: String,
    /// Whether it asks for a password.
    pub has_password: bool,
    /// How often the document can be downloaded; null for any number.
    pub most_downloads: Option<u64>,
    /// How often it was.
    pub downloads: u64,
    /// Whether it gives nothing any more.
    pub ended: bool,
}

impl LinkJson {
    /// A link with the name of who made it.
    pub fn new(link: &ShareLink, names: &Names) -> Self {
        Self {
            id: link.id.to_string(),
            created_at: time::format(link.created_at),
            created_by: names.person(link.created_by),
            expires_at: time::format(link.expires_at),
            has_password: link.has_password,
            most_downloads: link.most_downloads,
            downloads: link.downloads,
            ended: link.has_ended(),
        }
    }
}

/// A link that was just made.
#[derive(Serialize, ToSchema)]
pub struct NewLinkJson {
    /// Identifier.
    pub id: String,
    /// Path of the link on this server. It holds the secret, which is not stored: it cannot be shown again.
    pub path: String,
    /// When it ends.
    pub expires_at: String,
}

/// What a link is to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkForm {
    /// Its life in days, at most as many as the site collection allows.
    #[schema(minimum = 1, maximum = 3650)]
    pub days: u32,
    /// The password that it asks for; absent for none.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::LinkPassword>)]
    pub password: Option<String>,
    /// How often the document can be downloaded; absent for any number.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub most_downloads: Option<u32>,
}

impl From<LinkForm> for NewLink {
    fn from(form: LinkForm) -> Self {
        Self { days: form.days, password: form.password, most_downloads: form.most_downloads }
    }
}

/// What a site collection allows.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRuleJson {
    /// For how many days a link may live, 1 to 3,650; null when no links are allowed.
    #[schema(minimum = 1, maximum = 3650)]
    pub most_days: Option<u32>,
}

impl From<Option<LinkRule>> for LinkRuleJson {
    fn from(rule: Option<LinkRule>) -> Self {
        Self { most_days: rule.map(|rule| rule.most_days) }
    }
}

impl From<LinkRuleJson> for Option<LinkRule> {
    fn from(json: LinkRuleJson) -> Self {
        json.most_days.map(|most_days| LinkRule { most_days })
    }
}
