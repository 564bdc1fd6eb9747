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
    /// Returns whether a download of this document from this network was recorded lately.
    pub(crate) fn has(&self, link: Id, document: Id, address: IpAddr) -> bool {
        let recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.get(&(link, document, client_network(address))).is_some_and(|at| at.elapsed() < RECORD_INTERVAL)
    }

    /// Remembers a download that was recorded.
    pub(crate) fn add(&self, link: Id, document: Id, address: IpAddr) {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.len() >= MAX_REMEMBERED {
            recorded.clear();
        }
        recorded.insert((link, document, client_network(address)), Instant::now());
    }
}
