//! Activity and audit logs.

use repository::{Event, FarmEvent};
use serde::Serialize;
use utoipa::ToSchema;

use super::item::{Names, PersonJson};
use http_core::protocol::time;

/// Who did what to which item.
#[derive(Serialize, ToSchema)]
pub struct EventJson {
    /// When.
    pub at: String,
    /// Who; null for somebody who used a link.
    pub actor: Option<PersonJson>,
    /// The item.
    pub item: String,
    /// What, such as `document.replace`.
    pub action: String,
    /// Particulars as far as the caller's rights reach: the item's path at that time only for who manages the site
    /// collection.
    pub detail: String,
}

impl EventJson {
    /// An event with the name of who did it.
    pub fn new(event: Event, names: &Names) -> Self {
        Self {
            at: time::format(event.at),
            actor: names.somebody(event.actor),
            item: event.item.to_string(),
            action: event.action,
            detail: event.detail,
        }
    }
}

/// Who did what in the farm, outside of content.
#[derive(Serialize, ToSchema)]
pub struct FarmEventJson {
    /// When.
    pub at: String,
    /// Who; null for somebody who was not signed in.
    pub actor: Option<PersonJson>,
    /// What, such as `account.create`.
    pub action: String,
    /// To what: the kind and the identifier.
    pub subject: String,
    /// Particulars, or empty.
    pub detail: String,
}

impl FarmEventJson {
    /// An event with the name of who did it.
    pub fn new(event: FarmEvent, names: &Names) -> Self {
        Self {
            at: time::format(event.at),
            actor: names.somebody(event.actor),
            action: event.action,
            subject: event.subject,
            detail: event.detail,
        }
    }
}
