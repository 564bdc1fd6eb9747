//! Lookup of users and groups by typed names.

use model::{Code, Error, Id, Result, fold};
use repository::{PrincipalName, Session};

/// Number of suggestions for a user or group field.
const SUGGESTED: usize = 50;

/// Returns suggestions for a field.
pub async fn suggestions(session: &Session) -> Result<Vec<String>> {
    let found = session.search_principals("", SUGGESTED).await?;
    Ok(found.into_iter().map(|name| typed(&name)).collect())
}

/// Returns the text to type for a user or group: a login, or a group's name.
fn typed(name: &PrincipalName) -> String {
    name.login.clone().unwrap_or_else(|| name.name.clone())
}

/// Returns the text to type for this user or group.
pub async fn login_or_name(session: &Session, id: Id) -> Result<String> {
    let names = session.principal_names(&[id]).await?;
    Ok(names.get(&id).map(typed).unwrap_or_default())
}

/// Finds the user or group with this login or name, ignoring case. A login takes precedence over a name.
pub async fn find(session: &Session, text: &str) -> Result<Id> {
    let wanted = fold(text.trim());
    let found = session.search_principals(text.trim(), SUGGESTED).await?;
    let by_login = found.iter().find(|name| name.login.as_deref().is_some_and(|login| fold(login) == wanted));
    let mut by_name = found.iter().filter(|name| fold(&name.name) == wanted);
    match (by_login, by_name.next(), by_name.next()) {
        (Some(name), _, _) | (None, Some(name), None) => Ok(name.id),
        (None, Some(_), Some(_)) => {
            Err(Error::invalid(format!("several people have the name \"{text}\"; type the login instead"))
                .with_code(Code::AmbiguousPerson))
        }
        (None, None, _) => {
            Err(Error::invalid(format!("there is no user or group \"{text}\"")).with_code(Code::UnknownPerson))
        }
    }
}
