//! Names of events in the user's language.

use std::collections::HashMap;

use model::{Id, NodeKind};
use repository::{ItemEvent, PrincipalName};

use super::names;
use crate::frame::address;
use crate::frame::form::Choice;
use crate::frame::format::Icon;
use crate::frame::page::Page;

/// Returns the name of an action.
pub fn words(page: &Page, action: &str) -> &'static str {
    page.language.text(&key(action))
}

/// Returns the name of the event's user. An event without a user came through a sharing link.
pub fn who(page: &Page, names: &HashMap<Id, PrincipalName>, actor: Id) -> String {
    if actor.is_none() { page.s("audit.by-link").to_owned() } else { names::name_of(names, actor) }
}

/// An event, or documents that one person added to one folder in succession.
pub struct GroupedEvent {
    /// The event, of several the newest.
    pub event: ItemEvent,
    /// Number of documents that were added.
    documents: usize,
}

/// Joins documents that one person added to one folder in succession.
pub fn grouped(events: Vec<ItemEvent>) -> Vec<GroupedEvent> {
    let mut found: Vec<GroupedEvent> = Vec::new();
    for event in events {
        match found.last_mut() {
            Some(last) if last.takes(&event) => last.documents += 1,
            _ => found.push(GroupedEvent { event, documents: 1 }),
        }
    }
    found
}

impl GroupedEvent {
    fn takes(&self, other: &ItemEvent) -> bool {
        let one = &self.event;
        one.action == "document.create"
            && other.action == one.action
            && other.actor == one.actor
            && other.item.kind == one.item.kind
            && other.item.parent_id == one.item.parent_id
    }

    fn place(&self) -> Option<&str> {
        let (above, _) = self.event.item.path.rsplit_once('/')?;
        Some(above).filter(|_| self.documents > 1)
    }

    /// Returns the address of the item, or of the folder of several documents.
    pub fn href(&self) -> String {
        address::browse(self.place().unwrap_or(&self.event.item.path))
    }

    /// Returns the symbol of the item, or of the folder of several documents.
    pub fn icon(&self) -> Icon {
        match self.place() {
            Some(_) => names::icon_of_kind(NodeKind::Folder),
            None => names::icon_of(&self.event.item),
        }
    }

    /// Returns the name of the item, or of the folder of several documents.
    pub fn name(&self) -> &str {
        self.place().map_or(self.event.item.shown_name(), |place| place.rsplit('/').next().unwrap_or(place))
    }

    /// Returns the path of what is linked.
    pub fn path(&self) -> &str {
        self.place().unwrap_or(&self.event.item.path)
    }

    /// Says what was done.
    pub fn words(&self, page: &Page) -> String {
        let ItemEvent { action, items, are_more, .. } = &self.event;
        if self.documents > 1 {
            return page.n("happenings.documents-added", self.documents);
        }
        match (*items as u64, action.as_str()) {
            (1, action) => words(page, action).to_owned(),
            (rows, "row.create") if *are_more => page.f1("happenings.many-rows-added", rows),
            (rows, _) if *are_more => page.f1("happenings.many-rows-changed", rows),
            (rows, "row.create") => page.n("happenings.rows-added", rows),
            (rows, _) => page.n("happenings.rows-changed", rows),
        }
    }
}

fn key(action: &str) -> String {
    format!("did.{}", action.replace(['.', '_'], "-"))
}

/// Returns all actions of a log as choices, ordered by name.
pub fn choices(page: &Page, actions: &[&str], chosen: &str) -> Vec<Choice> {
    let choice = |action: &&str| Choice::new(*action, words(page, action), chosen == *action);
    let mut choices: Vec<Choice> = actions.iter().map(choice).collect();
    choices.sort_by(|a, b| a.label.cmp(&b.label));
    choices
}

#[cfg(test)]
mod tests {
    use repository::{AUDIT_ACTIONS, FARM_ACTIONS};

    use super::*;
    use crate::frame::texts::Language;

    #[test]
    fn every_action_has_words() {
        for action in AUDIT_ACTIONS.iter().chain(&FARM_ACTIONS) {
            for language in Language::all() {
                assert!(language.find(&key(action)).is_some(), "{action}");
            }
        }
    }
}
