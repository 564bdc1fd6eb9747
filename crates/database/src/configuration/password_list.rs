//! Statements over lists of forbidden passwords. The coding of a list's parts is not known here.

use model::{Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    INSERT_LIST = "INSERT INTO password_list (id, entries, bits, made_at, complete) VALUES ($1, $2, $3, $4, FALSE)";
    INSERT_PART = "INSERT INTO password_list_part (list_id, part, entries, coded) VALUES ($1, $2, $3, $4)";
    COMPLETE = "UPDATE password_list SET complete = TRUE, entries = $2 WHERE id = $1";
    IN_USE = "SELECT id, entries, bits, made_at FROM password_list WHERE complete ORDER BY id DESC LIMIT 1";
    FIND_PART = "SELECT entries, coded FROM password_list_part WHERE list_id = $1 AND part = $2";
    OTHERS = "SELECT id FROM password_list WHERE id <> $1 AND (complete OR made_at < $2) ORDER BY id LIMIT 1";
    DELETE_PARTS = "DELETE FROM password_list_part WHERE list_id = $1 AND part IN \
        (SELECT part FROM password_list_part WHERE list_id = $1 ORDER BY part LIMIT $2)";
    DELETE_LIST = "DELETE FROM password_list WHERE id = $1";
}

/// A list of forbidden passwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordList {
    /// Identifier.
    pub id: Id,
    /// Number of passwords in the list.
    pub entries: u64,
    /// Number of leading bits of a hash that select the part.
    pub bits: u32,
    /// Time of creation.
    pub made_at: Timestamp,
}

/// Begins a list. It is not in use before it is complete.
pub fn insert(tx: &mut Transaction, list: &PasswordList) -> Result<()> {
    tx.execute(INSERT_LIST, &params![list.id, list.entries as i64, i64::from(list.bits), list.made_at])?;
    Ok(())
}

/// Adds a part of a list.
pub fn insert_part(tx: &mut Transaction, list: Id, part: u64, entries: u64, coded: &[u8]) -> Result<()> {
    tx.execute(INSERT_PART, &params![list, part as i64, entries as i64, coded])?;
    Ok(())
}

/// Marks a list complete, which makes it the one in use.
pub fn complete(tx: &mut Transaction, list: Id, entries: u64) -> Result<()> {
    tx.execute(COMPLETE, &params![list, entries as i64])?;
    Ok(())
}

/// The list in use.
pub fn in_use(reader: &mut Reader) -> Result<Option<PasswordList>> {
    reader.find(IN_USE, &params![], list)
}

/// A part of a list: its number of entries, and their coded form.
pub fn part(reader: &mut Reader, list: Id, part: u64) -> Result<Option<(u64, Vec<u8>)>> {
    let read = |row: &Row| Ok((row.get::<i64>(0)? as u64, row.get::<&[u8]>(1)?.to_vec()));
    reader.find(FIND_PART, &params![list, part as i64], read)
}

/// Deletes up to `most` parts of one obsolete list: a list other than `kept` that is complete, or was begun before
/// `before` and never completed. Deletes the list itself once it has no parts. Returns whether there was such a list.
pub fn remove_some(tx: &mut Transaction, kept: Id, before: Timestamp, most: usize) -> Result<bool> {
    let Some(old) = tx.find(OTHERS, &params![kept, before], |row| row.get::<Id>(0))? else { return Ok(false) };
    if tx.execute(DELETE_PARTS, &params![old, most as i64])? == 0 {
        tx.execute(DELETE_LIST, &params![old])?;
    }
    Ok(true)
}

fn list(row: &Row) -> Result<PasswordList> {
    Ok(PasswordList {
        id: row.get(0)?,
        entries: row.get::<i64>(1)? as u64,
        bits: row.get::<i64>(2)?.clamp(0, 20) as u32,
        made_at: row.get(3)?,
    })
}
