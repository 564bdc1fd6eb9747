//! Public links to documents and folders.

use repository::{LinkRule, NewLink, ShareLink};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::item::{Names, PersonJson};
use http_core::protocol::time;

/// A link to a document, folder or library, without its secret.
#[derive(Serialize, ToSchema)]
pub struct LinkJson {
    /// Identifier.
    pub id: String,
    /// Time of creation.
    pub created_at: String,
    /// User who created it.
    pub created_by: PersonJson,
    /// End of its life.
    pub expires_at: String,
    /// Set when a password is needed.
    pub has_password: bool,
    /// Maximum number of downloads, or of files that are sent; null for no limit.
    pub most_downloads: Option<u64>,
    /// Downloads so far, or files that were sent.
    pub downloads: u64,
    /// True if the link takes files, false if it gives documents.
    pub takes_uploads: bool,
    /// Message of its creator to the recipients; may be empty.
    pub message: String,
    /// Returns whether the link has expired or has no downloads left.
    pub ended: bool,
}

impl LinkJson {
    /// Creates the JSON form of a link, with the name of the user who made it.
    pub fn new(link: &ShareLink, names: &Names) -> Self {
        Self {
            id: link.id.to_string(),
            created_at: time::format(link.created_at),
            created_by: names.person(link.created_by),
            expires_at: time::format(link.expires_at),
            has_password: link.has_password,
            most_downloads: link.most_downloads,
            downloads: link.downloads,
            takes_uploads: link.takes_uploads,
            message: link.message.clone(),
            ended: link.has_ended(),
        }
    }
}

/// A newly created link.
#[derive(Serialize, ToSchema)]
pub struct NewLinkJson {
    /// Identifier.
    pub id: String,
    /// Path of the link on this server. It contains the secret, which is not stored and cannot be shown again.
    pub path: String,
    /// End of its life.
    pub expires_at: String,
}

/// A link to be created.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkForm {
    /// Lifetime in days, up to the maximum of the site collection.
    #[schema(minimum = 1, maximum = 3650)]
    pub days: u32,
    /// The password that the link requires; absent for none.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::LinkPassword>)]
    pub password: Option<String>,
    /// Maximum number of downloads, or of files that are sent; absent for no limit. Required for a link that takes
    /// files, at most 1,000.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub most_downloads: Option<u32>,
    /// True for a link that takes files into a folder or library.
    #[serde(default)]
    pub takes_uploads: bool,
    /// Message to the recipients.
    #[serde(default)]
    #[schema(max_length = 1000)]
    pub message: String,
}

impl From<LinkForm> for NewLink {
    fn from(form: LinkForm) -> Self {
        let LinkForm { days, password, most_downloads, takes_uploads, message } = form;
        Self { days, password, most_downloads, takes_uploads, message }
    }
}

/// The rule of a site collection for links.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRuleJson {
    /// Maximum lifetime of a link in days, 1 to 3,650; null when links are not allowed.
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
