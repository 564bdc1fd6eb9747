//! Findings of a verification, and the channel that carries them from the provider to the caller.

use async_recursion::async_recursion as boxed;
use model::{Digest, Error, Result};
use tokio::sync::mpsc;

/// The finding for one BLOB or one location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The BLOB, if it can still be identified.
    pub digest: Option<Digest>,
    /// Number of bytes examined. The sum over all findings is the content of the store.
    pub size: u64,
    /// The finding.
    pub outcome: CheckOutcome,
}

/// The state of one BLOB or one location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// All bytes exist and match the digest.
    Intact,
    /// The bytes are damaged.
    Damaged {
        /// The location (a file and an offset), for messages.
        place: String,
        /// Description of the fault.
        what: String,
    },
    /// The store lists this BLOB but does not have its bytes.
    Missing {
        /// The expected location.
        place: String,
    },
}

/// The channel through which a provider passes its findings to the caller of the verification.
pub struct Reporter(mpsc::Sender<Result<Checked>>);

impl Reporter {
    pub(crate) fn new(findings: mpsc::Sender<Result<Checked>>) -> Self {
        Self(findings)
    }

    /// Passes on one finding. Waits for a slow receiver; fails when the receiver was dropped.
    #[boxed]
    pub async fn report(&self, checked: Checked) -> Result<()> {
        self.0.send(Ok(checked)).await.map_err(|_| gone())
    }

    /// Blocking variant of [`Self::report`].
    pub fn report_blocking(&self, checked: Checked) -> Result<()> {
        self.0.blocking_send(Ok(checked)).map_err(|_| gone())
    }
}

fn gone() -> Error {
    Error::unavailable("the verification was cancelled")
}
