//! Statements over groups and their members.

use model::{Id, Name, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_GROUP = "INSERT INTO principal_group (id, name, folded, description, created_at) \
        VALUES ($1, $2, $3, $4, $5)";
    FIND_GROUP = "SELECT id, name, description, created_at FROM principal_group WHERE id = $1";
    FIND_GROUP_BY_NAME = "SELECT id, name, description, created_at FROM principal_group WHERE folded = $1";
    LIST_GROUPS = "SELECT id, name, description, created_at FROM principal_group WHERE folded > $1 \
        ORDER BY folded LIMIT $2";
    UPDATE_GROUP = "UPDATE principal_group SET name = $2, folded = $3, description = $4 WHERE id = $1";
    DELETE_GROUP = "DELETE FROM principal_group WHERE id = $1";
    INSERT_MEMBER = "INSERT INTO group_member (group_id, account_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    DELETE_MEMBER = "DELETE FROM group_member WHERE group_id = $1 AND account_id = $2";
    DELETE_MEMBERSHIPS = "DELETE FROM group_member WHERE account_id = $1";
    LIST_MEMBERS = "SELECT a.id, a.login, a.display_name FROM group_member m JOIN account a ON a.id = m.account_id \
        WHERE m.group_id = $1 AND a.login > $2 ORDER BY a.login LIMIT $3";
    LIST_EVERYONE = "SELECT id, login, display_name FROM account WHERE NOT disabled AND login > $1 \
        ORDER BY login LIMIT $2";
    LIST_MEMBERSHIPS = "SELECT group_id FROM group_member WHERE account_id = $1 ORDER BY group_id";
}

/// A named set of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Identifier of the group. It is never reused.
    pub id: Id,
    /// Name of the group, unique regardless of case.
    pub name: String,
    /// Purpose of the group, or empty.
    pub description: String,
    /// Time of creation.
    pub created_at: Timestamp,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The account.
    pub account: Id,
    /// The user's login name.
    pub login: String,
    /// The display name.
    pub display_name: String,
}

/// Adds a group without members.
pub fn insert(tx: &mut Transaction, id: Id, name: &Name, description: &str, created_at: Timestamp) -> Result<()> {
    tx.execute(INSERT_GROUP, &params![id, name.as_str(), name.folded(), description, created_at])?;
    Ok(())
}

/// The group with this identifier.
pub fn find(reader: &mut Reader, id: Id) -> Result<Option<Group>> {
    reader.find(FIND_GROUP, &params![id], group)
}

/// The group with this name.
pub fn find_by_name(reader: &mut Reader, name: &Name) -> Result<Option<Group>> {
    reader.find(FIND_GROUP_BY_NAME, &params![name.folded()], group)
}

/// Up to `limit` groups in order of folded name, starting after the folded name `after`.
pub fn list(reader: &mut Reader, after: &str, limit: usize) -> Result<Vec<Group>> {
    reader.query(LIST_GROUPS, &params![after, limit as i64], group)
}

/// Replaces the name and description.
pub fn update(tx: &mut Transaction, id: Id, name: &Name, description: &str) -> Result<u64> {
    tx.execute(UPDATE_GROUP, &params![id, name.as_str(), name.folded(), description])
}

/// Removes a group together with its list of members.
pub fn remove(tx: &mut Transaction, id: Id) -> Result<u64> {
    tx.execute(DELETE_GROUP, &params![id])
}

/// Adds an account to a group. Returns whether it was not a member before.
pub fn add_member(tx: &mut Transaction, group: Id, account: Id) -> Result<bool> {
    Ok(tx.execute(INSERT_MEMBER, &params![group, account])? > 0)
}

/// Removes an account from a group. Returns whether it was a member.
pub fn remove_member(tx: &mut Transaction, group: Id, account: Id) -> Result<bool> {
    Ok(tx.execute(DELETE_MEMBER, &params![group, account])? > 0)
}

/// Removes an account from all groups.
pub fn remove_memberships(tx: &mut Transaction, account: Id) -> Result<u64> {
    tx.execute(DELETE_MEMBERSHIPS, &params![account])
}

/// Up to `limit` members in order of login, starting after the login `after`.
pub fn list_members(reader: &mut Reader, group: Id, after: &str, limit: usize) -> Result<Vec<Member>> {
    reader.query(LIST_MEMBERS, &params![group, after, limit as i64], member)
}

/// Up to `limit` accounts that are not disabled, in order of login, starting after the login `after`.
pub fn list_everyone(reader: &mut Reader, after: &str, limit: usize) -> Result<Vec<Member>> {
    reader.query(LIST_EVERYONE, &params![after, limit as i64], member)
}

/// The groups that list an account as a member, sorted.
pub fn of_account(reader: &mut Reader, account: Id) -> Result<Vec<Id>> {
    reader.query(LIST_MEMBERSHIPS, &params![account], |row| row.get(0))
}

fn member(row: &Row) -> Result<Member> {
    Ok(Member { account: row.get(0)?, login: row.get(1)?, display_name: row.get(2)? })
}

fn group(row: &Row) -> Result<Group> {
    Ok(Group { id: row.get(0)?, name: row.get(1)?, description: row.get(2)?, created_at: row.get(3)? })
}
