//! Permission scopes and the roles granted on them.

use model::{Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT = "INSERT INTO scope (id, collection_id, node_id) VALUES ($1, $2, $3)";
    OWNER = "SELECT node_id FROM scope WHERE id = $1";
    OF_NODE = "SELECT id FROM scope WHERE node_id = $1";
    SUBSITES = "SELECT n.id FROM scope s JOIN node n ON n.id = s.node_id
        WHERE s.id {in $1} AND n.kind = 'site' AND n.id <> n.collection_id ORDER BY n.folded, n.id LIMIT $2";
    DELETE = "DELETE FROM scope WHERE id = $1";
    GRANTS = "SELECT principal_id, role_id, granted_at, granted_by, expires_at FROM scope_grant WHERE scope_id = $1
        AND (expires_at IS NULL OR expires_at > $2) ORDER BY principal_id, role_id";
    GRANTED_TO = "SELECT g.scope_id, g.role_id, s.node_id, g.expires_at FROM scope_grant g
        JOIN scope s ON s.id = g.scope_id
        WHERE g.principal_id = $1 AND s.collection_id = $2 AND (g.expires_at IS NULL OR g.expires_at > $3)";
    GRANT = "INSERT INTO scope_grant (scope_id, principal_id, role_id, granted_at, granted_by, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (scope_id, principal_id, role_id) DO UPDATE SET granted_at = excluded.granted_at,
        granted_by = excluded.granted_by, expires_at = excluded.expires_at
        WHERE scope_grant.expires_at IS DISTINCT FROM excluded.expires_at";
    PURGE = "DELETE FROM scope_grant WHERE expires_at <= $1";
    REVOKE = "DELETE FROM scope_grant WHERE scope_id = $1 AND principal_id = $2 AND role_id = $3";
    SHARED_WITH = "SELECT s.node_id, g.granted_at, g.granted_by FROM scope_grant g JOIN scope s ON s.id = g.scope_id
        JOIN node n ON n.id = s.node_id JOIN node p ON p.id = n.parent_id
        WHERE g.principal_id {in $1} AND g.granted_by <> $2 AND n.id <> n.collection_id
        AND (g.expires_at IS NULL OR g.expires_at > $4)
        AND NOT EXISTS (SELECT 1 FROM scope_grant above WHERE above.scope_id = p.scope_id
        AND above.principal_id = g.principal_id AND above.role_id = g.role_id
        AND (above.expires_at IS NULL OR above.expires_at > $4))
        ORDER BY g.granted_at DESC, s.node_id DESC LIMIT $3";
    SHARED_BY = "SELECT s.node_id, g.granted_at, g.principal_id FROM scope_grant g JOIN scope s ON s.id = g.scope_id
        JOIN node n ON n.id = s.node_id JOIN node p ON p.id = n.parent_id
        WHERE g.granted_by = $1 AND g.principal_id <> $1 AND n.id <> n.collection_id
        AND (g.expires_at IS NULL OR g.expires_at > $3)
        AND NOT EXISTS (SELECT 1 FROM scope_grant above WHERE above.scope_id = p.scope_id
        AND above.principal_id = g.principal_id AND above.role_id = g.role_id
        AND (above.expires_at IS NULL OR above.expires_at > $3))
        ORDER BY g.granted_at DESC, s.node_id DESC LIMIT $2";
    USES = "SELECT role_id, COUNT(*) FROM scope_grant GROUP BY role_id";
    COPY = "INSERT INTO scope_grant (scope_id, principal_id, role_id, granted_at, granted_by, expires_at)
        SELECT $2, principal_id, role_id, $3, $4, expires_at FROM scope_grant WHERE scope_id = $1
        AND (expires_at IS NULL OR expires_at > $3)";
}

/// A role granted to a principal on a scope.
#[derive(Clone, Debug)]
pub struct GrantRow {
    /// The user or group.
    pub principal_id: Id,
    /// The role.
    pub role_id: Id,
    /// Start time.
    pub granted_at: Timestamp,
    /// User who granted it.
    pub granted_by: Id,
    /// End of the grant; `None` for one without end.
    pub expires_at: Option<Timestamp>,
}

/// A grant on an item that the place above it does not have.
#[derive(Clone, Copy, Debug)]
pub struct SharedRow {
    /// The item.
    pub node_id: Id,
    /// Time of the grant.
    pub at: Timestamp,
    /// The other side: who granted it, or who got it.
    pub principal_id: Id,
}

fn shared_row(row: &Row<'_>) -> Result<SharedRow> {
    Ok(SharedRow { node_id: row.get(0)?, at: row.get(1)?, principal_id: row.get(2)? })
}

/// Grants to these users and groups, newest first, by others than `except`, on items below the root of their site
/// collection that are in no recycle bin. Grants that the place above has too are left out.
pub fn shared_with(
    reader: &mut Reader<'_>,
    principals: &[Id],
    except: Id,
    now: Timestamp,
    most: usize,
) -> Result<Vec<SharedRow>> {
    reader.query(SHARED_WITH, &params![principals, except, most as i64, now], shared_row)
}

/// Grants by a user to others, as [`shared_with`] does.
pub fn shared_by(reader: &mut Reader<'_>, grantor: Id, now: Timestamp, most: usize) -> Result<Vec<SharedRow>> {
    reader.query(SHARED_BY, &params![grantor, most as i64, now], shared_row)
}

/// Number of grants of each role. Roles without any grant are missing.
pub fn uses_of_roles(reader: &mut Reader<'_>) -> Result<Vec<(Id, i64)>> {
    reader.query(USES, &params![], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Adds a scope that `node` owns.
pub fn insert(transaction: &mut Transaction<'_>, id: Id, collection: Id, node: Id) -> Result<()> {
    transaction.execute(INSERT, &params![id, collection, node]).map(drop)
}

/// The item that owns a scope.
pub fn owner(reader: &mut Reader<'_>, id: Id) -> Result<Option<Id>> {
    reader.find(OWNER, &params![id], |row| row.get(0))
}

/// The scope that an item owns, if it does not inherit.
pub fn of_node(reader: &mut Reader<'_>, node: Id) -> Result<Option<Id>> {
    reader.find(OF_NODE, &params![node], |row| row.get(0))
}

/// Some of the subsites that own one of these scopes, by name.
pub fn subsites(reader: &mut Reader<'_>, scopes: &[Id], most: usize) -> Result<Vec<Id>> {
    reader.query(SUBSITES, &params![scopes, most as i64], |row| row.get(0))
}

/// Removes a scope and its grants.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

/// All grants on a scope that have not ended at the time `now`.
pub fn grants(reader: &mut Reader<'_>, scope: Id, now: Timestamp) -> Result<Vec<GrantRow>> {
    reader.query(GRANTS, &params![scope, now], |row| {
        Ok(GrantRow {
            principal_id: row.get(0)?,
            role_id: row.get(1)?,
            granted_at: row.get(2)?,
            granted_by: row.get(3)?,
            expires_at: row.get(4)?,
        })
    })
}

/// A grant to a principal in a site collection.
#[derive(Clone, Copy, Debug)]
pub struct GrantedTo {
    /// The scope.
    pub scope_id: Id,
    /// The role.
    pub role_id: Id,
    /// The item that owns the scope.
    pub owner_id: Id,
    /// End of the grant; `None` for one without end.
    pub expires_at: Option<Timestamp>,
}

/// Grants to a principal in a site collection that have not ended at the time `now`.
pub fn granted_to(reader: &mut Reader<'_>, principal: Id, collection: Id, now: Timestamp) -> Result<Vec<GrantedTo>> {
    reader.query(GRANTED_TO, &params![principal, collection, now], |row| {
        Ok(GrantedTo { scope_id: row.get(0)?, role_id: row.get(1)?, owner_id: row.get(2)?, expires_at: row.get(3)? })
    })
}

/// Grants a role. A grant that exists gets the new end. Returns 0 if it exists with this end.
pub fn grant(transaction: &mut Transaction<'_>, scope: Id, grant: &GrantRow) -> Result<u64> {
    let GrantRow { principal_id, role_id, granted_at, granted_by, expires_at } = *grant;
    transaction.execute(GRANT, &params![scope, principal_id, role_id, granted_at, granted_by, expires_at])
}

/// Removes grants that ended at the time `before` or earlier.
pub fn purge(transaction: &mut Transaction<'_>, before: Timestamp) -> Result<()> {
    transaction.execute(PURGE, &params![before]).map(drop)
}

/// Revokes a role. Returns how many grants were removed, 0 or 1.
pub fn revoke(transaction: &mut Transaction<'_>, scope: Id, principal: Id, role: Id) -> Result<u64> {
    transaction.execute(REVOKE, &params![scope, principal, role])
}

/// Copies the grants of one scope that have not ended at the time `now` to another.
pub fn copy(transaction: &mut Transaction<'_>, from: Id, to: Id, by: Id, now: Timestamp) -> Result<()> {
    transaction.execute(COPY, &params![from, to, now, by]).map(drop)
}
