//! Following documents, and pinning of sites, libraries, lists and folders.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::followed;
use model::{Code, Error, NodeKind, Result, Right, Timestamp};

use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

/// Maximum number of documents and places that one user follows or has pinned in a content database.
const MAX_FOLLOWED: i64 = 1_000;

impl Session {
    /// Follows or unfollows a document, or pins or unpins a site, library, list or folder.
    ///
    /// # Errors
    /// Those of [`Session::item`]; `Conflict` with code `wrong_kind` for a row; `Exhausted` with code `too_many`.
    #[boxed]
    pub async fn set_followed(&self, target: &Target, follow: bool) -> Result<()> {
        let located = self.locate(target).await?.to(Right::View)?;
        let guard = self.guard([&located])?;
        let node = located.node();
        let id = node.id;
        if node.kind != NodeKind::Document && !node.kind.is_container() {
            let text = format!("\"{}\" is a row of a list: follow documents, and pin places", node.name);
            return Err(Error::conflict(text).with_code(Code::WrongKind));
        }
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            if !follow {
                return followed::remove(transaction, guard.caller(), id);
            }
            if followed::has(transaction, guard.caller(), id)? {
                return Ok(());
            }
            if followed::count(transaction, guard.caller())? >= MAX_FOLLOWED {
                return Err(Error::exhausted(format!(
                    "you already follow and have pinned {MAX_FOLLOWED} items: stop following one of them first"
                ))
                .with_code(Code::TooMany));
            }
            // The row refers to the document, so the document must still exist.
            guard.lock_row(transaction, id)?;
            followed::put(transaction, guard.caller(), id, Timestamp::now())
        };
        guard.write(write).await
    }

    /// Returns whether the caller follows a document or has pinned a place.
    #[boxed]
    pub async fn follows(&self, target: &Target) -> Result<bool> {
        let caller = self.principal.id;
        Ok(self.view(target, move |reader, item| followed::has(reader, caller, item.node().id)).await?.1)
    }
}
