//! Activity and audit logs.

use repository::{Event, FarmEvent};
use serde::Serialize;
use utoipa::ToSchema;

use super::item::{Names, PersonJson};
use http_core::protocol::time;

/// An event of the audit log: an actor, an action and the item that it concerned.
#[derive(Serialize, ToSchema)]
pub struct EventJson {
    /// Time at which it happened.
    pub at: String,
    /// The acting user; null for someone who used a link.
    pub actor: Option<PersonJson>,
    /// The item.
    pub item: String,
    /// The action, such as `document.replace`.
    pub action: String,
    /// Details, as far as the caller's rights allow. The item's path at that time is given only to callers who manage
    /// the site collection.
    pub detail: String,
}

impl EventJson {
    /// Creates the JSON form of an event, with the name of the acting user.
    pub fn new(event: Event, names: &Names) -> Self {
        Self {
            at: time::format(event.at),
            actor: names.optional_person(event.actor),
            item: event.item.to_string(),
            action: event.action,
            detail: event.detail,
        }
    }
}

/// An action in the farm, outside of content, with the user who performed it.
#[derive(Serialize, ToSchema)]
pub struct FarmEventJson {
    /// Time at which it happened.
    pub at: String,
    /// The acting user; null for someone who was not signed in.
    pub actor: Option<PersonJson>,
    /// The action, such as `account.create`.
    pub action: String,
    /// The object of the action: kind and identifier.
    pub subject: String,
    /// Details, or empty.
    pub detail: String,
}

impl FarmEventJson {
    /// Creates the JSON form of an event, with the name of the acting user.
    pub fn new(event: FarmEvent, names: &Names) -> Self {
        Self {
            at: time::format(event.at),
            actor: names.optional_person(event.actor),
            action: event.action,
            subject: event.subject,
            detail: event.detail,
        }
    }
}
