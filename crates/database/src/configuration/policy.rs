//! Policies that say where new BLOBs of a content database, site collection or library go, as far as they differ from
//! the level above.

use model::{Id, PolicyLevel, Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    LIST = "SELECT target_id, target_kind, store_id, minimum_size, rules FROM blob_policy ORDER BY target_id";
    PUT = "INSERT INTO blob_policy (target_id, target_kind, store_id, minimum_size, rules, changed_at, changed_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (target_id) DO UPDATE SET store_id = excluded.store_id, minimum_size = excluded.minimum_size,
        rules = excluded.rules, changed_at = excluded.changed_at, changed_by = excluded.changed_by";
    DELETE = "DELETE FROM blob_policy WHERE target_id = $1";
}

/// A stored policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRow {
    /// The content database, site collection or library.
    pub target_id: Id,
    /// Level of the target.
    pub level: PolicyLevel,
    /// Store for new BLOBs; `None` inherits from the level above.
    pub store_id: Option<Id>,
    /// BLOBs smaller than this many bytes stay in the database; `None` inherits from the level above.
    pub minimum_size: Option<i64>,
    /// File types and tiers as JSON. Another module defines, writes and reads the format.
    pub rules: String,
}

/// All policies.
pub fn list(reader: &mut Reader<'_>) -> Result<Vec<PolicyRow>> {
    reader.query(LIST, &[], |row| {
        Ok(PolicyRow {
            target_id: row.get(0)?,
            level: row.get(1)?,
            store_id: row.get(2)?,
            minimum_size: row.get(3)?,
            rules: row.get(4)?,
        })
    })
}

/// Sets a policy.
pub fn put(transaction: &mut Transaction<'_>, row: &PolicyRow, now: Timestamp, by: Id) -> Result<()> {
    let values = params![row.target_id, row.level, row.store_id, row.minimum_size, &row.rules, now, by];
    transaction.execute(PUT, &values).map(drop)
}

/// Removes a policy, so that the level above applies.
pub fn delete(transaction: &mut Transaction<'_>, target: Id) -> Result<()> {
    transaction.execute(DELETE, &params![target]).map(drop)
}
