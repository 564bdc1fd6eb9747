//! Following documents.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::followed;
use model::{Code, Error, NodeKind, Result, Right, Timestamp};

use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

/// Maximum number of documents that one user follows.
const MAX_FOLLOWED: i64 = 1_000;

impl Session {
    /// Follows or unfollows a document.
    #[boxed]
    pub async fn set_followed(&self, target: &Target, follow: bool) -> Result<()> {
        let located = self.locate(target).await?.to(Right::View)?;
        let guard = self.guard([&located])?;
        located.require_kind(NodeKind::Document)?;
        let id = located.node().id;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            if !follow {
                return followed::remove(transaction, guard.caller(), id);
            }
            if followed::has(transaction, guard.caller(), id)? {
                return Ok(());
            }
            if followed::count(transaction, guard.caller())? >= MAX_FOLLOWED {
                return Err(Error::exhausted(format!(
                    "you already follow {MAX_FOLLOWED} documents: stop following one of them first"
                ))
                .with_code(Code::TooMany));
            }
            // The row refers to the document, so the document must still exist.
            guard.lock_row(transaction, id)?;
            followed::put(transaction, guard.caller(), id, Timestamp::now())
        };
        guard.write(write).await
    }

    /// Returns whether the caller follows a document.
    #[boxed]
    pub async fn follows(&self, target: &Target) -> Result<bool> {
        let caller = self.principal.id;
        Ok(self.view(target, move |reader, item| followed::has(reader, caller, item.node().id)).await?.1)
    }
}
