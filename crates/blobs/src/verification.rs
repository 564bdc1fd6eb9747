//! A running verification, as a stream of findings.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use model::Result;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::outcome::{Checked, Reporter};
use crate::provider::Provider;

/// A running verification of a whole store. Dropping it stops the work.
pub struct Verification {
    findings: mpsc::Receiver<Result<Checked>>,
    worker: JoinHandle<()>,
}

impl Verification {
    pub(crate) fn start(provider: Arc<dyn Provider>) -> Self {
        let (sender, findings) = mpsc::channel(256);
        let worker = tokio::spawn(async move {
            if let Err(error) = provider.verify(Reporter::new(sender.clone())).await {
                // Sending fails only when the receiver was dropped, and then no caller needs the error.
                let _ = sender.send(Err(error)).await;
            }
        });
        Self { findings, worker }
    }

    /// Returns the next finding; `None` after everything was verified. An error is followed by `None`, and the
    /// verification is then incomplete.
    #[boxed]
    pub async fn next(&mut self) -> Option<Result<Checked>> {
        self.findings.recv().await
    }
}

impl Drop for Verification {
    fn drop(&mut self) {
        self.worker.abort();
    }
}
