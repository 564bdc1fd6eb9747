//! Findings of a verification, and their way from a provider to whoever asked.

use model::{Digest, Error, Result};
use tokio::sync::mpsc;

/// What was found at one BLOB or one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The BLOB, if it can still be told.
    pub digest: Option<Digest>,
    /// Bytes that were looked at; sums up to the content of the store.
    pub size: u64,
    /// The finding.
    pub outcome: Outcome,
}

/// The state of one BLOB or one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All bytes are there and have the digest.
    Intact,
    /// The bytes are not what they must be.
    Damaged {
        /// Where it lies: a file and a position, for a person.
        place: String,
        /// Description of the fault.
        what: String,
    },
    /// The store has a note of this BLOB but not its bytes.
    Missing {
        /// Where it should lie.
        place: String,
    },
}

/// How a provider hands its findings to whoever asked for the verification.
pub struct Reporter(mpsc::Sender<Result<Checked>>);

impl Reporter {
    pub(crate) fn new(findings: mpsc::Sender<Result<Checked>>) -> Self {
        Self(findings)
    }

    /// Hands over one finding; waits for a slow listener and fails when the listener has gone.
    pub async fn report(&self, checked: Checked) -> Result<()> {
        self.0.send(Ok(checked)).await.map_err(|_| gone())
    }

    /// The same from a thread that may block.
    pub fn report_blocking(&self, checked: Checked) -> Result<()> {
        self.0.blocking_send(Ok(checked)).map_err(|_| gone())
    }
}

fn gone() -> Error {
    Error::unavailable("the verification was given up")
}
