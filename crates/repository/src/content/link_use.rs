//! The use of a link: counting it in the transaction of what it is used for, and recording it.

use std::net::IpAddr;

use database::Transaction;
use database::content::share_link;
use model::{Code, Error, Id, Result, Timestamp};

use crate::content::event_detail::Detail;
use crate::session::guard::Guard;

/// A link and the address of the client that uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkUse {
    pub(crate) link: Id,
    pub(crate) address: IpAddr,
}

impl LinkUse {
    /// Counts a use.
    ///
    /// # Errors
    /// `NotFound` with code `link_ended`.
    pub(crate) fn count(self, transaction: &mut Transaction<'_>) -> Result<()> {
        match share_link::count_use(transaction, self.link, Timestamp::now())? {
            true => Ok(()),
            false => Err(ended()),
        }
    }

    /// Records a use for an item, with the client's address and the link.
    pub(crate) fn record(
        self,
        transaction: &mut Transaction<'_>,
        guard: &Guard,
        node: Id,
        action: &str,
        path: &str,
    ) -> Result<()> {
        let detail = Detail::from(format!("{path}, link {}", self.link)).address(self.address.to_canonical());
        guard.record_by(transaction, Id::NONE, node, action, detail)
    }
}

/// The error for a link that is invalid, for whatever reason.
pub(crate) fn ended() -> Error {
    Error::not_found("this link has ended or was revoked: ask the sender for a new one").with_code(Code::LinkEnded)
}
