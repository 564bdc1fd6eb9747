//! The stream of findings of a verification.

use std::sync::Arc;

use model::{Digest, Error, Result};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::provider::Provider;

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
        /// What is wrong with it.
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

/// A running verification of a whole store. Dropping it stops the work.
pub struct Verification {
    findings: mpsc::Receiver<Result<Checked>>,
    worker: JoinHandle<()>,
}

impl Verification {
    pub(crate) fn start(provider: Arc<dyn Provider>) -> Self {
        let (sender, findings) = mpsc::channel(256);
        let worker = tokio::spawn(async move {
            if let Err(error) = provider.verify(Reporter(sender.clone())).await {
                // Nobody listens any more: then nobody wants to know.
                let _ = sender.send(Err(error)).await;
            }
        });
        Self { findings, worker }
    }

    /// The next finding; `None` when everything was looked at. After an error comes `None`, and the verification is incomplete.
    pub async fn next(&mut self) -> Option<Result<Checked>> {
        self.findings.recv().await
    }
}

impl Drop for Verification {
    fn drop(&mut self) {
        self.worker.abort();
    }
}
