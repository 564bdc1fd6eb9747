//! Lookup of users and groups by typed names.

use model::Result;
use repository::{PrincipalName, Session};

use crate::frame::form::Suggestion;

/// Number of suggestions for a user or group field.
const SUGGESTED: usize = 50;

/// Returns suggestions for a field.
pub async fn suggestions(session: &Session) -> Result<Vec<Suggestion>> {
    let found = session.search_principals("", SUGGESTED).await?;
    Ok(found.into_iter().map(|name| Suggestion { value: typed(&name), label: name.name }).collect())
}

/// Returns what is suggested for a field that takes several users and groups.
pub async fn typed_names(session: &Session) -> Result<Vec<String>> {
    Ok(suggestions(session).await?.into_iter().map(|suggestion| suggestion.value).collect())
}

/// Returns the text to type for a user or group: a login, or a group's name.
pub fn typed(name: &PrincipalName) -> String {
    name.login.clone().unwrap_or_else(|| name.name.clone())
}
