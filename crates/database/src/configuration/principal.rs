//! Statements over users and groups alike: what a people picker searches, and names of identifiers.

use model::{Id, PrincipalKind, Result};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_TERM = "INSERT INTO principal_term (term, principal_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    DELETE_TERMS = "DELETE FROM principal_term WHERE principal_id = $1";
    FIND_TERMS = "SELECT principal_id FROM principal_term WHERE term >= $1 AND term < $2 \
        ORDER BY term, principal_id LIMIT $3";
    LIST_ACCOUNT_NAMES = "SELECT id, display_name, login, disabled FROM account WHERE id {in $1}";
    LIST_GROUP_NAMES = "SELECT id, name FROM principal_group WHERE id {in $1}";
}

/// How a user or group is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrincipalName {
    /// The user or group.
    pub id: Id,
    /// Which of both it is.
    pub kind: PrincipalKind,
    /// The name that people see.
    pub name: String,
    /// The name under which a user signs in; `None` for a group.
    pub login: Option<String>,
    /// Whether it is a user whose account is disabled or deleted.
    pub disabled: bool,
}

/// Replaces the folded texts by whose beginnings a user or group is found.
pub fn set_terms(tx: &mut Transaction, id: Id, terms: &[String]) -> Result<()> {
    tx.execute(DELETE_TERMS, &params![id])?;
    for term in terms {
        tx.execute(INSERT_TERM, &params![term, id])?;
    }
    Ok(())
}

/// Users and groups with a term that begins with the folded text `prefix`, by term. Looks at up to `limit` terms; who has
/// several of them comes several times.
pub fn search(reader: &mut Reader, prefix: &str, limit: usize) -> Result<Vec<Id>> {
    // No text that begins with the prefix sorts behind the prefix and the last character of Unicode, which is none.
    let end = format!("{prefix}\u{10ffff}");
    reader.query(FIND_TERMS, &params![prefix, end, limit as i64], |row| row.get(0))
}

/// The names of those of `ids` that exist, in no particular order.
pub fn names(reader: &mut Reader, ids: &[Id]) -> Result<Vec<PrincipalName>> {
    let mut names = reader.query(LIST_ACCOUNT_NAMES, &params![ids], user)?;
    if names.len() < ids.len() {
        names.extend(reader.query(LIST_GROUP_NAMES, &params![ids], group)?);
    }
    Ok(names)
}

fn user(row: &Row) -> Result<PrincipalName> {
    Ok(PrincipalName {
        id: row.get(0)?,
        kind: PrincipalKind::User,
        name: row.get(1)?,
        login: Some(row.get(2)?),
        disabled: row.get(3)?,
    })
}

fn group(row: &Row) -> Result<PrincipalName> {
    Ok(PrincipalName { id: row.get(0)?, kind: PrincipalKind::Group, name: row.get(1)?, login: None, disabled: false })
}
