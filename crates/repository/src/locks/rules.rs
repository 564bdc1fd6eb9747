//! Rules that decide whether a lock prevents a change.

use std::collections::HashSet;
use std::time::Duration;

use database::content::lock::{self, LockRow};
use database::content::node::{self, NodeRow};
use database::{Reader, Transaction};
use model::{Code, Error, Id, NodeKind, Result, Right, Timestamp};

use crate::Session;
use crate::items::item::Item;
use crate::items::tree::above;
use crate::session::guard::{Checked, Guard};
use crate::session::locate::Located;

use super::lock::{MAX_LOCK, SHORTEST_LOCK, is_office_lock};

/// Extent of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The item itself.
    Item,
    /// The item and everything below it.
    Tree,
}

/// Returns the end of a lock that starts at `now` and lasts `seconds`, within the limits on its duration.
pub(super) fn end(now: Timestamp, seconds: u64) -> Timestamp {
    now.after(Duration::from_secs(seconds.clamp(SHORTEST_LOCK, MAX_LOCK)))
}

/// Returns an unguessable token: a UUID made of random bits.
pub(super) fn new_token() -> Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::unavailable("the system's random number generator failed").with_source(error.to_string())
    })?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex[from..to].concat();
    Ok(format!("urn:uuid:{}-{}-{}-{}-{}", part(0, 4), part(4, 6), part(6, 8), part(8, 10), part(10, 16)))
}

/// Error for a change that a lock prevents, with the name of the lock's holder if known.
pub(super) fn locked(name: &str, holder: Option<&str>) -> Error {
    let message = match holder {
        Some(holder) => format!("\"{name}\" is open for editing by {holder}: wait, or ask them to close it"),
        None => format!("\"{name}\" is open for editing: wait until it is closed"),
    };
    let error = Error::locked(message).with_code(Code::ItemLocked);
    match holder {
        Some(holder) => error.naming(&[name, holder]),
        None => error,
    }
}

/// Error for a change of a folder that a lock below it prevents. It does not name the locked item, because the caller
/// may not know of it.
fn locked_within(name: &str, holder: Option<&str>) -> Error {
    let holder = holder.map_or_else(String::new, |holder| format!(" by {holder}"));
    Error::locked(format!("something in \"{name}\" is open for editing{holder}: wait until it is closed"))
        .with_code(Code::ItemLocked)
}

/// Returns the locks on an item, and those on its ancestors that cover it.
pub(crate) fn covering(reader: &mut Reader<'_>, located: &Located) -> Result<Vec<LockRow>> {
    if !located.collection.has_locks {
        return Ok(Vec::new());
    }
    let above: Vec<Id> = located.chain.iter().map(|node| node.id).collect();
    lock::covering(reader, located.node().id, &above, Timestamp::now())
}

/// Sets, for each child of `located` that the caller may open, the user who has it open for editing.
pub(crate) fn set_locked_by(reader: &mut Reader<'_>, located: &Located, items: &mut [Item]) -> Result<()> {
    let readable: Vec<Id> = items.iter().filter(|item| item.rights.has(Right::View)).map(|item| item.id).collect();
    if !located.collection.has_locks || readable.is_empty() {
        return Ok(());
    }
    let above = covering(reader, located)?.into_iter().find(|lock| lock.deep).map(|lock| lock.owner_id);
    let locks = lock::on_items(reader, &readable, Timestamp::now())?;
    for item in items.iter_mut().filter(|item| item.rights.has(Right::View)) {
        let own = locks.iter().find(|lock| lock.node_id == item.id).map(|lock| lock.owner_id);
        item.locked_by = above.or(own);
    }
    Ok(())
}

/// Returns the first lock that prevents a change. The locks on an item do not prevent it if the token of one of them is
/// in `tokens`, and that one belongs to the caller or to an office server.
pub(crate) fn refuse_locked<'a>(locks: &'a [LockRow], tokens: &[String], caller: Id) -> Option<&'a LockRow> {
    let mut open: HashSet<Id> = HashSet::new();
    for lock in locks {
        if (lock.owner_id == caller || is_office_lock(&lock.token)) && tokens.contains(&lock.token) {
            open.insert(lock.node_id);
        }
    }
    locks.iter().find(|lock| !open.contains(&lock.node_id))
}

impl Session {
    /// Refuses to change an item, with the holder's name, while a lock whose token was not presented is in the way.
    pub(crate) async fn require_unlocked(&self, located: &Located) -> Result<()> {
        if !located.collection.has_locks {
            return Ok(());
        }
        let row = located.node();
        let above: Vec<Id> = located.chain.iter().map(|node| node.id).collect();
        let (id, deep) = (row.id, row.kind.has_contents());
        let read = move |reader: &mut Reader<'_>| {
            let now = Timestamp::now();
            let mut locks = lock::covering(reader, id, &above, now)?;
            if deep {
                locks.extend(lock::below(reader, id, now)?);
            }
            Ok(locks)
        };
        let locks = located.content.database.read(read).await?;
        let lock = refuse_locked(&locks, &self.tokens, self.principal.id);
        let Some(lock) = lock.filter(|lock| !located.chain.iter().any(|node| node.id == lock.node_id)) else {
            return self.explain_lock(&row.name, lock).await;
        };
        // For a locked item further down, the holder is named only if the caller may know of the item.
        let (seen, id) = (located.clone(), lock.node_id);
        let look =
            move |reader: &mut Reader<'_>| node::find(reader, id).map(|row| row.is_some_and(|row| seen.may_know(&row)));
        let holder = match located.content.database.read(look).await? {
            true => self.name_of(lock.owner_id).await?,
            false => None,
        };
        Err(locked_within(&row.name, holder.as_deref()))
    }

    /// Refuses to change the contents of a folder, as [`Session::require_unlocked`] does for an item. Locks on items
    /// below the folder do not count.
    pub(crate) async fn require_place_unlocked(&self, folder: &Located) -> Result<()> {
        if !folder.collection.has_locks {
            return Ok(());
        }
        let cloned = folder.clone();
        let locks = folder.content.database.read(move |reader| covering(reader, &cloned)).await?;
        self.explain_lock(&folder.node().name, refuse_locked(&locks, &self.tokens, self.principal.id)).await
    }

    /// Refuses a lock that conflicts with existing ones, with the name of a holder.
    pub(super) async fn refuse_conflicting(&self, located: &Located, exclusive: bool) -> Result<()> {
        let cloned = located.clone();
        let locks = located.content.database.read(move |reader| covering(reader, &cloned)).await?;
        self.explain_lock(&located.node().name, locks.iter().find(|other| exclusive || other.exclusive)).await
    }

    async fn explain_lock(&self, name: &str, lock: Option<&LockRow>) -> Result<()> {
        let Some(lock) = lock else { return Ok(()) };
        Err(locked(name, self.name_of(lock.owner_id).await?.as_deref()))
    }
}

impl Guard {
    /// Refuses, inside the transaction, to change an item or the contents of a folder while a lock whose token was not
    /// presented is in the way.
    pub(crate) fn require_unlocked(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        row: &NodeRow,
    ) -> Result<()> {
        self.look_for_locks(transaction, checked, row, Reach::Item)
    }

    /// Refuses as [`Guard::require_unlocked`] does, but for an item with everything below it.
    pub(crate) fn require_tree_unlocked(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        row: &NodeRow,
    ) -> Result<()> {
        self.look_for_locks(transaction, checked, row, Reach::Tree)
    }

    fn look_for_locks(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        row: &NodeRow,
        reach: Reach,
    ) -> Result<()> {
        let office = self.tokens.iter().find(|token| is_office_lock(token) && row.kind == NodeKind::Document);
        if !checked.collection.has_locks && office.is_none() {
            return Ok(());
        }
        let (now, above) = (Timestamp::now(), above(transaction, row)?);
        let mut locks = lock::covering(transaction, row.id, &above, now)?;
        if reach == Reach::Tree && row.kind.has_contents() {
            locks.extend(lock::below(transaction, row.id, now)?);
        }
        // What is saved with the lock of an office server must not follow what somebody else has saved since it ended.
        if office.is_some_and(|token| locks.iter().all(|lock| lock.token != *token)) {
            let text = "the lock with which the document was open for editing has ended";
            return Err(Error::conflict(text).with_code(Code::LockNotFound));
        }
        match refuse_locked(&locks, &self.tokens, self.caller()) {
            Some(_) => Err(locked(&row.name, None)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::lock::OFFICE_LOCK_PREFIX;

    fn on(item: i64, owner: i64, token: &str) -> LockRow {
        LockRow {
            token: token.into(),
            collection_id: Id::new(1),
            node_id: Id::new(item),
            owner_id: Id::new(owner),
            owner: String::new(),
            exclusive: false,
            deep: false,
            created_at: Timestamp::from_micros(0),
            expires_at: Timestamp::from_micros(1),
        }
    }

    #[test]
    fn each_locked_item_needs_a_token_of_the_callers_own() {
        let refused = |locks: &[LockRow], tokens: &[&str]| {
            let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
            refuse_locked(locks, &tokens, Id::new(7)).map(|lock| lock.token.clone())
        };
        assert_eq!(refused(&[], &[]), None);
        let one = [on(1, 7, "a")];
        assert_eq!((refused(&one, &[]), refused(&one, &["a"])), (Some("a".into()), None));
        assert_eq!(refused(&[on(1, 8, "b")], &["b"]), Some("b".into()), "a token of somebody else opens nothing");
        let shared = [on(1, 8, "b"), on(1, 7, "a")];
        assert_eq!((refused(&shared, &["a"]), refused(&shared, &["b"])), (None, Some("b".into())));
        let office = format!("{OFFICE_LOCK_PREFIX}1:x");
        let of_office = [on(1, 8, &office)];
        assert_eq!((refused(&of_office, &[]), refused(&of_office, &[&office])), (Some(office.clone()), None));
        let two = [on(1, 7, "a"), on(2, 7, "c")];
        assert_eq!((refused(&two, &["a"]), refused(&two, &["a", "c"])), (Some("c".into()), None));
    }

    #[test]
    fn tokens_are_uuids() {
        let token = new_token().unwrap();
        assert!(token.starts_with("urn:uuid:"), "{token}");
        assert!(token.len() == 45, "{token}");
        assert!(token.as_bytes()[23] == b'4', "{token}");
        assert_ne!(token, new_token().unwrap());
    }
}
