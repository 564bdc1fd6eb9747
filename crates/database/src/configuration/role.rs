//! Statements over roles.

use model::{Id, Name, Result, Rights, Role};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_ROLE = "INSERT INTO role (id, name, folded, rights) VALUES ($1, $2, $3, $4)";
    FIND_ROLE = "SELECT id, name, rights FROM role WHERE id = $1";
    FIND_ROLE_BY_NAME = "SELECT id, name, rights FROM role WHERE folded = $1";
    LIST_ROLES = "SELECT id, name, rights FROM role ORDER BY id";
    UPDATE_ROLE = "UPDATE role SET name = $2, folded = $3, rights = $4 WHERE id = $1";
    DELETE_ROLE = "DELETE FROM role WHERE id = $1";
}

/// Adds a role.
pub fn insert(tx: &mut Transaction, id: Id, name: &Name, rights: Rights) -> Result<()> {
    tx.execute(INSERT_ROLE, &params![id, name.as_str(), name.folded(), rights.bits()])?;
    Ok(())
}

/// The role with this identifier.
pub fn find(reader: &mut Reader, id: Id) -> Result<Option<Role>> {
    reader.find(FIND_ROLE, &params![id], role)
}

/// The role with this name.
pub fn find_by_name(reader: &mut Reader, name: &Name) -> Result<Option<Role>> {
    reader.find(FIND_ROLE_BY_NAME, &params![name.folded()], role)
}

/// All roles, built-in ones first, then by age. There are few of them.
pub fn list(reader: &mut Reader) -> Result<Vec<Role>> {
    reader.query(LIST_ROLES, &params![], role)
}

/// Replaces the name and rights.
pub fn update(tx: &mut Transaction, id: Id, name: &Name, rights: Rights) -> Result<u64> {
    tx.execute(UPDATE_ROLE, &params![id, name.as_str(), name.folded(), rights.bits()])
}

/// Removes a role. From then on assignments of the role grant nothing, in any content database.
pub fn remove(tx: &mut Transaction, id: Id) -> Result<u64> {
    tx.execute(DELETE_ROLE, &params![id])
}

fn role(row: &Row) -> Result<Role> {
    Ok(Role { id: row.get(0)?, name: row.get(1)?, rights: Rights::from_bits(row.get(2)?) })
}
