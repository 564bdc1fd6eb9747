//! Taking, refreshing and ending locks.

use async_recursion::async_recursion as boxed;
use database::content::node::NodeRow;
use database::content::{lock, tree};
use database::{Reader, Transaction};
use model::{Code, Error, ErrorKind, Id, NodeKind, Result, Right, Timestamp};

use crate::items::tree::{above, refuse_held, subtree_rights};
use crate::locks::lock::{Lock, MAX_LOCK_OWNER, NewLock, is_office_lock};
use crate::locks::rules::covering;
use crate::session::errors::require_free;
use crate::session::guard::{Checked, Guard};
use crate::session::known::Permitted;
use crate::session::locate::Located;
use crate::{Session, Target};

use super::rules;

/// Maximum number of locks in one site collection, including ended locks that are still kept.
const MAX_LOCKS: i64 = 50_000;
/// Maximum number of locks in one site collection that one user holds and that have not ended.
const MAX_LOCKS_PER_USER: i64 = 2_000;
/// Number of ended locks deleted at a time to make room when a site collection is full.
const ENDED_AT_ONCE: usize = 1_000;
/// Number of ended locks kept on one item. They become valid again if the clock was ahead and is set back.
const ENDED_ON_ITEM: usize = 20;
/// Maximum number of locks on one item. Each listing of the item reports all of them.
const MAX_LOCKS_PER_ITEM: usize = 100;
/// Maximum number of locks on one item that one user holds; each of the user's programs may have one.
const MAX_LOCKS_PER_USER_AND_ITEM: usize = 10;

/// Way in which locks end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Their holder ends them.
    Release,
    /// Somebody with the right to override ends them.
    Break,
}

impl Lock {
    /// Returns a lock on `located` or on one of its ancestors, as the caller may see it.
    pub(crate) fn on(located: &Located, row: lock::LockRow) -> Self {
        let Some(place) = place_of(located, &row) else { return Self::of(row, located.principal.id, false) };
        let ends = place.is_within_credential() && place.rights().has(Right::Override);
        let mut lock = Self::of(row, located.principal.id, ends);
        lock.collection = place.node().kind.is_container();
        lock.path = Some(place.path());
        lock
    }

    /// Returns a lock on an item whose path is not known, as the caller may see it. `ends` is set if the caller may end
    /// other users' locks on that item.
    pub(crate) fn of(row: lock::LockRow, caller: Id, ends: bool) -> Self {
        Self {
            shows_token: ends || row.owner_id == caller,
            token: row.token,
            item: row.node_id,
            path: None,
            collection: false,
            holder: row.owner_id,
            owner: row.owner,
            exclusive: row.exclusive,
            deep: row.deep,
            created_at: row.created_at,
            expires_at: row.expires_at,
        }
    }
}

impl Session {
    /// Returns this session for one request, which presents these lock tokens. Those of locks that office servers hold
    /// are left out: [`Session::with_office_lock`] presents them.
    #[must_use]
    pub fn with_lock_tokens(mut self, tokens: Vec<String>) -> Self {
        self.tokens = tokens.into_iter().filter(|token| !is_office_lock(token)).collect();
        self
    }

    /// Returns the locks on an item and those on its ancestors that cover it. Needs the right to open the item. The
    /// tokens of other users' locks are included where the caller may end the lock.
    #[boxed]
    pub async fn locks(&self, target: &Target) -> Result<Vec<Lock>> {
        let (_, locks) = self
            .view(target, |reader, located| {
                let locks = covering(reader, located)?;
                Ok(locks.into_iter().map(|row| Lock::on(located, row)).collect())
            })
            .await?;
        Ok(locks)
    }

    /// Returns whether an item is prevented from leaving its folder: by another user's check-out, or by a lock whose
    /// token was not presented, on the item, on its contents or on its folder.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` for a caller who may not open the item.
    #[boxed]
    pub async fn is_held_in_place(&self, target: &Target) -> Result<bool> {
        let located = self.locate(target).await?.viewed()?;
        let (id, caller) = (located.node().id, self.principal.id);
        let look = move |reader: &mut Reader<'_>| tree::held_by_another(reader, id, caller);
        if located.content.database.read(look).await?.is_some() {
            return Ok(true);
        }
        let unlocked = match located.parent().map(|parent| parent.id) {
            Some(parent) => self.require_place_unlocked(self.locate(&parent.into()).await?.unchecked()).await,
            None => Ok(()),
        };
        let free = match unlocked {
            Ok(()) => self.require_unlocked(&located).await,
            locked => locked,
        };
        match free {
            Ok(()) => Ok(false),
            Err(error) if error.kind() == ErrorKind::Locked => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Locks a folder or document.
    ///
    /// # Errors
    /// `Locked` when another lock, or another user's check-out, is in the way, with the holder's name.
    #[boxed]
    pub async fn lock(&self, target: &Target, wish: NewLock) -> Result<Lock> {
        let located = self.locate(target).await?.to(Right::Edit)?;
        let guard = self.guard([&located])?;
        if !matches!(located.node().kind, NodeKind::Folder | NodeKind::Document) {
            return Err(Error::forbidden("only folders and documents can be locked").with_code(Code::WrongKind));
        }
        if wish.owner.len() > MAX_LOCK_OWNER {
            return Err(Error::invalid(format!("the owner of a lock is described in at most {MAX_LOCK_OWNER} bytes")));
        }
        if let Some(holder) = located.node().holder_id {
            let name = self.name_of(holder).await?;
            require_free(located.node(), self.principal.id, name.as_deref())?;
        }
        self.refuse_conflicting(&located, wish.exclusive).await?;
        let (id, path, place) = (located.node().id, located.path(), located.clone());
        let token = rules::new_token()?;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            require_free(&row, guard.caller(), None)?;
            if wish.deep {
                subtree_rights(transaction, &checked.access, &row, &[Right::Edit])?;
            }
            let given = insert_lock(transaction, guard, checked, &row, (&wish, token.clone()))?;
            guard.record(transaction, id, "item.lock", path.as_str())?;
            Ok(Lock::on(&place, given))
        };
        guard.exclusive().write(write).await
    }

    /// Extends one of the caller's locks that covers an item.
    ///
    /// # Errors
    /// `Conflict` with the code `lock_not_found` when no lock of the caller with this token covers the item.
    #[boxed]
    pub async fn refresh_lock(&self, target: &Target, token: &str, seconds: u64) -> Result<Lock> {
        let look = |reader: &mut Reader<'_>, item: &Permitted| covering(reader, item);
        let (located, covering) = self.view_to(Right::Edit, target, look).await?;
        let guard = self.guard([&located])?;
        let own = covering.into_iter().find(|lock| lock.token == token && lock.owner_id == self.principal.id);
        let (mut own, place) = (own.ok_or_else(not_found)?, located.clone());
        let write = move |transaction: &mut Transaction<'_>, _guard: &Guard, _: &Checked| {
            let now = Timestamp::now();
            lock::find(transaction, &own.token, now)?.ok_or_else(not_found)?;
            own.expires_at = rules::end(now, seconds);
            lock::extend(transaction, &own.token, own.expires_at)?;
            Ok(Lock::on(&place, own.clone()))
        };
        guard.write(write).await
    }

    /// Ends the lock with this token. Ending another user's lock needs the right to override on the locked item, which
    /// may be an ancestor of the given one.
    ///
    /// # Errors
    /// `Conflict` with the code `lock_not_found` when no lock with this token covers the item.
    #[boxed]
    pub async fn unlock(&self, target: &Target, token: &str) -> Result<()> {
        let (located, covering) = self.view(target, |reader, item| covering(reader, item)).await?;
        let found = covering.into_iter().find(|lock| lock.token == token).ok_or_else(not_found)?;
        if found.owner_id == self.principal.id {
            return self.end_locks((*located).clone(), vec![found], Ending::Release).await;
        }
        let place = place_of(&located, &found).ok_or_else(not_found)?;
        // A caller who may not open the locked item learns only its name, which is part of the given item's path.
        if !place.is_within_credential() || !place.rights().has(Right::View) {
            return Err(Error::lacking(Right::Override, &place.node().name));
        }
        self.end_locks(place.to(Right::Override)?, vec![found], Ending::Break).await
    }

    /// Ends all locks on an item itself, whichever users hold them. Ending other users' locks needs the right to
    /// override.
    #[boxed]
    pub async fn break_locks(&self, target: &Target) -> Result<()> {
        let (located, covering) = self.view(target, |reader, item| covering(reader, item)).await?;
        let id = located.node().id;
        let here: Vec<_> = covering.into_iter().filter(|lock| lock.node_id == id).collect();
        if here.is_empty() {
            return Err(not_found());
        }
        let own = here.iter().all(|lock| lock.owner_id == self.principal.id);
        let (right, ending) = if own { (Right::View, Ending::Release) } else { (Right::Override, Ending::Break) };
        self.end_locks(located.to(right)?, here, ending).await
    }

    /// Ends locks, and records it. The caller holds the rights that this needs.
    pub(super) async fn end_locks(&self, located: Permitted, locks: Vec<lock::LockRow>, ending: Ending) -> Result<()> {
        let guard = self.guard([&located])?;
        let action = match ending {
            Ending::Release => "item.unlock",
            Ending::Break => "item.break-lock",
        };
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            for lock in &locks {
                lock::delete(transaction, &lock.token)?;
            }
            guard.record(transaction, id, action, path.as_str())
        };
        guard.allow_reserved_space().write(write).await
    }
}

/// Adds a lock with this token, unless another one is in the way.
pub(super) fn insert_lock(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    checked: &Checked,
    row: &NodeRow,
    (wish, token): (&NewLock, String),
) -> Result<lock::LockRow> {
    let now = Timestamp::now();
    refuse_conflicts(transaction, checked, row, wish, guard.caller(), now)?;
    make_room(transaction, row, guard.caller(), now)?;
    let given = lock::LockRow {
        token,
        collection_id: row.collection_id,
        node_id: row.id,
        owner_id: guard.caller(),
        owner: wish.owner.clone(),
        exclusive: wish.exclusive,
        deep: wish.deep && row.kind.is_container(),
        created_at: now,
        expires_at: rules::end(now, wish.seconds),
    };
    lock::insert(transaction, &given)?;
    Ok(given)
}

/// Returns the locked item: `located` or one of its ancestors; `None` if the lock lies elsewhere.
fn place_of(located: &Located, lock: &lock::LockRow) -> Option<Located> {
    let depth = located.chain.iter().position(|node| node.id == lock.node_id)?;
    Some(Located { chain: located.chain[..=depth].to_vec(), ..located.clone() })
}

/// Deletes the locks that ended longest ago where too many are kept. Refuses when the caller holds too many active
/// locks, or the site collection has too many.
fn make_room(transaction: &mut Transaction<'_>, row: &NodeRow, caller: Id, now: Timestamp) -> Result<()> {
    if lock::count_of(transaction, row.collection_id, caller, now, MAX_LOCKS_PER_USER)? >= MAX_LOCKS_PER_USER {
        return Err(Error::exhausted(format!(
            "you already have {MAX_LOCKS_PER_USER} locks in this site: release some, or wait until some have ended"
        ))
        .with_code(Code::TooMany));
    }
    lock::delete_ended_of(transaction, row.id, now, ENDED_ON_ITEM)?;
    let full = lock::count(transaction, row.collection_id)? >= MAX_LOCKS;
    if full && lock::delete_ended_in(transaction, row.collection_id, now, ENDED_AT_ONCE)? == 0 {
        return Err(
            Error::exhausted(format!("there are already {MAX_LOCKS} locks in this site")).with_code(Code::TooMany)
        );
    }
    Ok(())
}

/// Refuses a lock that conflicts with existing ones, or that would cover a document checked out by another user.
fn refuse_conflicts(
    transaction: &mut Transaction<'_>,
    checked: &Checked,
    row: &NodeRow,
    wish: &NewLock,
    caller: Id,
    now: Timestamp,
) -> Result<()> {
    let above = above(transaction, row)?;
    let mut others = lock::covering(transaction, row.id, &above, now)?;
    if wish.deep && row.kind.is_container() {
        others.extend(lock::below(transaction, row.id, now)?);
        refuse_held(transaction, checked, row, caller)?;
    }
    let own = others.iter().filter(|other| other.node_id == row.id && other.owner_id == caller).count();
    if own >= MAX_LOCKS_PER_USER_AND_ITEM {
        return Err(Error::exhausted(format!("you already have {own} locks on this item: release one of them"))
            .with_code(Code::TooMany));
    }
    if others.iter().filter(|other| other.node_id == row.id).count() >= MAX_LOCKS_PER_ITEM {
        return Err(Error::exhausted(format!(
            "there are already {MAX_LOCKS_PER_ITEM} locks on this item: wait until one ends, or have one released"
        ))
        .with_code(Code::TooMany));
    }
    match others.iter().find(|other| wish.exclusive || other.exclusive) {
        Some(_) => Err(rules::locked(&row.name, None)),
        None => Ok(()),
    }
}

pub(super) fn not_found() -> Error {
    Error::conflict("there is no such lock on this item: it may have ended").with_code(Code::LockNotFound)
}
