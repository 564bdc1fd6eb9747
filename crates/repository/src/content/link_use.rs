//! The use of a link: counting it in the transaction of what it is used for, and recording it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use database::Transaction;
use database::content::share_link;
use model::{Code, Error, Id, Result, Timestamp};

use crate::content::event_detail::Detail;
use crate::people::client_network;
use crate::session::guard::Guard;

/// Time for which further downloads of a document from one network by one link are not recorded again.
const RECORD_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Limit on the downloads that are remembered. When it is reached, all are forgotten.
const MAX_REMEMBERED: usize = 50_000;

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

/// Downloads by links that were recorded lately, so that a client which reads a document in many parts, or again and
/// again, does not fill the audit log.
#[derive(Default)]
pub(crate) struct RecordedDownloads(Mutex<HashMap<(Id, Id, IpAddr), Instant>>);

impl RecordedDownloads {
    /// Returns whether the download of a document is to be recorded, and remembers it as recorded.
    pub(crate) fn is_due(&self, by: LinkUse, document: Id) -> bool {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, now) = ((by.link, document, client_network(by.address)), Instant::now());
        if recorded.get(&key).is_some_and(|at| now.duration_since(*at) < RECORD_INTERVAL) {
            return false;
        }
        if recorded.len() >= MAX_REMEMBERED {
            recorded.clear();
        }
        recorded.insert(key, now);
        true
    }
}

/// The error for a link that is invalid, for whatever reason.
pub(crate) fn ended() -> Error {
    Error::not_found("this link has ended or was revoked: ask the sender for a new one").with_code(Code::LinkEnded)
}
