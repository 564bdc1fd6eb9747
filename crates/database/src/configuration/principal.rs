//! Statements over users and groups alike: the search of a people picker, and the names behind identifiers.

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

/// The display data of a user or group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrincipalName {
    /// The user or group.
    pub id: Id,
    /// Kind of the principal: user or group.
    pub kind: PrincipalKind,
    /// The display name.
    pub name: String,
    /// Login name of a user; `None` for a group.
    pub login: Option<String>,
    /// Set for a user whose account is disabled or deleted.
    pub disabled: bool,
}

/// Replaces the folded search terms of a user or group. A search matches the beginning of a term.
pub fn set_terms(tx: &mut Transaction, id: Id, terms: &[String]) -> Result<()> {
    tx.execute(DELETE_TERMS, &params![id])?;
    for term in terms {
        tx.execute(INSERT_TERM, &params![term, id])?;
    }
    Ok(())
}

/// Users and groups with a term that begins with the folded text `prefix`, in order of term. Reads up to `limit` terms.
/// A principal with several matching terms appears several times.
pub fn search(reader: &mut Reader, prefix: &str, limit: usize) -> Result<Vec<Id>> {
    // Upper bound of the range: no term that begins with the prefix sorts after the prefix plus U+10FFFF, which is a
    // noncharacter.
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
