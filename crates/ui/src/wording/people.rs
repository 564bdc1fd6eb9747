//! Lookup of users and groups by typed names.

use model::Result;
use repository::{PrincipalName, Session};

/// Number of suggestions for a user or group field.
const SUGGESTED: usize = 50;

/// Returns suggestions for a field.
pub async fn suggestions(session: &Session) -> Result<Vec<String>> {
    let found = session.search_principals("", SUGGESTED).await?;
    Ok(found.into_iter().map(|name| typed(&name)).collect())
}

/// Returns the text to type for a user or group: a login, or a group's name.
pub fn typed(name: &PrincipalName) -> String {
    name.login.clone().unwrap_or_else(|| name.name.clone())
}
