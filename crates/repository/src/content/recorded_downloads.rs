//! Downloads by links that were recorded lately.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::Id;

use crate::people::client_network;

/// Time for which further downloads of a document from one network by one link are not recorded again.
const RECORD_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Limit on the downloads that are remembered. When it is reached, all are forgotten.
const MAX_REMEMBERED: usize = 50_000;

/// Downloads by links that were recorded lately, so that a client which reads a document in many parts, or again and
/// again, does not fill the audit log.
#[derive(Default)]
pub(crate) struct RecordedDownloads(Mutex<HashMap<(Id, Id, IpAddr), Instant>>);

impl RecordedDownloads {
    /// Returns whether the download of a document is to be recorded, and remembers it as recorded.
    pub(crate) fn is_due(&self, link: Id, document: Id, address: IpAddr) -> bool {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, now) = ((link, document, client_network(address)), Instant::now());
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
