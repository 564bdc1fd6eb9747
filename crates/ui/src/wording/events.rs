//! Names of events in the user's language.

use std::collections::HashMap;

use model::Id;
use repository::PrincipalName;

use super::names;
use crate::frame::form::Choice;
use crate::frame::page::Page;

/// Returns the name of an action.
pub fn words(page: &Page, action: &str) -> &'static str {
    page.language.text(&key(action))
}

/// Returns the name of the event's user. An event without a user came through a sharing link.
pub fn who(page: &Page, names: &HashMap<Id, PrincipalName>, actor: Id) -> String {
    if actor.is_none() { page.s("audit.by-link").to_owned() } else { names::name_of(names, actor) }
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
