//! Finding users and groups by what somebody typed.

use model::{Code, Error, Id, Result, fold};
use repository::{PrincipalName, Session};

/// Suggestions offered with a field for a user or group.
const SUGGESTED: usize = 50;

/// Names to suggest in a field.
pub async fn suggestions(session: &Session) -> Result<Vec<String>> {
    let found = session.search_principals("", SUGGESTED).await?;
    Ok(found.into_iter().map(|name| typed(&name)).collect())
}

/// What one types for a user or group: the login, or the name of a group.
fn typed(name: &PrincipalName) -> String {
    name.login.clone().unwrap_or_else(|| name.name.clone())
}

/// What one would have typed for this user or group.
pub async fn login_or_name(session: &Session, id: Id) -> Result<String> {
    let names = session.principal_names(&[id]).await?;
    Ok(names.get(&id).map(typed).unwrap_or_default())
}

/// The user or group with this login or name, compared without case. A login wins over a name.
pub async fn find(session: &Session, text: &str) -> Result<Id> {
    let wanted = fold(text.trim());
    let found = session.search_principals(text.trim(), SUGGESTED).await?;
    let by_login = found.iter().find(|name| name.login.as_deref().is_some_and(|login| fold(login) == wanted));
    let mut by_name = found.iter().filter(|name| fold(&name.name) == wanted);
    match (by_login, by_name.next(), by_name.next()) {
        (Some(name), _, _) | (None, Some(name), None) => Ok(name.id),
        (None, Some(_), Some(_)) => {
            Err(Error::invalid(format!("several people are called \"{text}\"; type the login instead"))
                .with_code(Code::AmbiguousPerson))
        }
        (None, None, _) => {
            Err(Error::invalid(format!("there is no user or group \"{text}\"")).with_code(Code::UnknownPerson))
        }
    }
}
