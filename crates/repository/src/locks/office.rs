//! Locks held by an office server for everyone who edits a document in it. The office server chooses the identifier of
//! a lock. A user who presents it may change the document with their own rights, whoever took the lock.

use async_recursion::async_recursion as boxed;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::Transaction;
use database::content::lock;
use model::{Code, Error, Id, NodeKind, Result, Right, Timestamp};

use crate::items::tree::above;
use crate::session::errors::require_free;
use crate::session::guard::{Checked, Guard};
use crate::session::known::Permitted;
use crate::{Session, Target};

use super::lock::{Lock, NewLock, OFFICE_LOCK_PREFIX};
use super::rules::{covering, end};
use super::taking::{Ending, insert_lock, not_found};

/// Limit on the bytes of an identifier (WOPI, header field `X-WOPI-Lock`).
const MAX_ID: usize = 1_024;
/// Duration in seconds unless the lock is refreshed (WOPI, operation Lock).
const SECONDS: u64 = 30 * 60;

/// Change of the lock that an office server holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfficeLockChange {
    /// Take it, or extend it if it is there already.
    Take,
    /// Extend it.
    Refresh,
    /// Take it in place of the one with this identifier.
    Replace(String),
    /// End it.
    Release,
}

/// Returns the token of a lock of an office server.
fn token_of(document: Id, id: &str) -> String {
    format!("{OFFICE_LOCK_PREFIX}{document}:{}", URL_SAFE_NO_PAD.encode(id))
}

impl Lock {
    /// Returns the identifier that an office server gave to the lock; `None` for other locks.
    pub fn office_lock_id(&self) -> Option<String> {
        let (_, coded) = self.token.strip_prefix(OFFICE_LOCK_PREFIX)?.split_once(':')?;
        String::from_utf8(URL_SAFE_NO_PAD.decode(coded).ok()?).ok()
    }
}

impl Session {
    /// Returns this session for one request of an office server, which presents the identifier of its lock on a
    /// document. A change is refused if that lock is not there any more.
    #[must_use]
    pub fn with_office_lock(mut self, document: Id, id: &str) -> Self {
        self.tokens = [token_of(document, id)].into();
        self
    }

    /// Changes the lock that an office server holds on a document. A lock lasts 30 minutes.
    ///
    /// # Errors
    /// `Locked` with code `item_locked` when another lock is in the way, and with code `checked_out` when another
    /// user's check-out is; `Conflict` with code `lock_not_found` when there is no lock to be refreshed, replaced or
    /// ended; `Invalid` for an identifier that is empty, longer than 1,024 bytes or not printable ASCII; `Forbidden`
    /// for a caller who may not edit the document, and with code `wrong_kind` for another item.
    #[boxed]
    pub async fn change_office_lock(&self, document: Id, id: &str, change: OfficeLockChange) -> Result<()> {
        let located = self.locate(&Target::Id(document)).await?.to(Right::Edit)?;
        require_id(id)?;
        if located.node().kind != NodeKind::Document {
            let error = Error::forbidden("an office server locks documents only");
            return Err(error.with_code(Code::WrongKind));
        }
        let token = token_of(document, id);
        let replaced = match change {
            OfficeLockChange::Release => return self.release_office_lock(located, token).await,
            OfficeLockChange::Take => Replaced::Nothing,
            OfficeLockChange::Refresh => Replaced::Itself,
            OfficeLockChange::Replace(old) => Replaced::Other(token_of(document, &old)),
        };
        if let Some(holder) = located.node().holder_id {
            let name = self.name_of(holder).await?;
            require_free(located.node(), self.principal.id, name.as_deref())?;
        }
        let (guard, path) = (self.guard([&located])?, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, document)?;
            require_free(&row, guard.caller(), None)?;
            let (now, above) = (Timestamp::now(), above(transaction, &row)?);
            let present = lock::covering(transaction, document, &above, now)?;
            let is_there = |token: &str| present.iter().any(|lock| lock.token == token);
            if is_there(&token) {
                return lock::extend(transaction, &token, end(now, SECONDS));
            }
            match &replaced {
                Replaced::Nothing => {}
                Replaced::Other(old) if is_there(old) => lock::delete(transaction, old)?,
                Replaced::Other(_) | Replaced::Itself => return Err(not_found()),
            }
            // An ended lock with this identifier may still be kept.
            lock::delete(transaction, &token)?;
            let wish = NewLock { exclusive: true, deep: false, owner: String::new(), seconds: SECONDS };
            insert_lock(transaction, guard, checked, &row, (&wish, token.clone()))?;
            guard.record(transaction, document, "item.lock", path.as_str())
        };
        guard.exclusive().write(write).await
    }

    async fn release_office_lock(&self, located: Permitted, token: String) -> Result<()> {
        let found = located.clone();
        let locks = located.content.database.read(move |reader| covering(reader, &found)).await?;
        let own = locks.into_iter().find(|lock| lock.token == token).ok_or_else(not_found)?;
        self.end_locks(located, vec![own], Ending::Release).await
    }
}

/// The lock in whose place another one is taken.
enum Replaced {
    Nothing,
    Itself,
    /// The one with this token.
    Other(String),
}

fn require_id(id: &str) -> Result<()> {
    let fits = (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if fits {
        return Ok(());
    }
    Err(Error::invalid(format!("the identifier of a lock has 1 to {MAX_ID} printable ASCII characters")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::lock::is_office_lock;

    #[test]
    fn identifiers_are_part_of_tokens_and_read_back() {
        let document = Id::new(7);
        for id in ["cool-lock1a2b", "{\"S\":\"x:y\"}", " ", &"~".repeat(MAX_ID)] {
            require_id(id).unwrap();
            let token = token_of(document, id);
            assert!(is_office_lock(&token));
            assert_ne!(token, token_of(Id::new(8), id));
            let (_, coded) = token.strip_prefix(OFFICE_LOCK_PREFIX).unwrap().split_once(':').unwrap();
            assert_eq!(URL_SAFE_NO_PAD.decode(coded).unwrap(), id.as_bytes());
        }
        for bad in ["", "a\nb", "\u{e4}", "\u{7f}", &"a".repeat(MAX_ID + 1)] {
            assert!(require_id(bad).is_err(), "{bad:?}");
        }
    }
}
