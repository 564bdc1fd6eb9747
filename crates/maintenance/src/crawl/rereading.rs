//! Documents that are read again: those that need external programs once these can do more, and those that wait.

use std::time::{Duration, Instant};

use database::Reader;
use database::content::node;
use model::{Id, NodeKind, Result};

use super::blocking::blocking;
use super::entries::DocumentEntries;
use super::follow::{COMMIT, Follower};
use super::slow::{Retried, retried_documents};
use super::walk::BATCH;

/// Interval at which it is checked whether external programs can do more than before.
const ABILITIES_INTERVAL: Duration = Duration::from_secs(60);

impl Follower {
    /// Has documents read again that need external programs, if these can do more now. Looks from time to time.
    pub(super) async fn look_at_programs(&mut self) -> Result<()> {
        if self.programs_checked_at.is_some_and(|at| at.elapsed() < ABILITIES_INTERVAL) {
            return Ok(());
        }
        self.programs_checked_at = Some(Instant::now());
        self.look_at_stores().await?;
        let abilities = match self.texts.abilities().await {
            Ok(abilities) => abilities,
            Err(error) => {
                tracing::debug!(error = error.report(), "programs that read documents cannot be looked for now");
                return Ok(());
            }
        };
        if abilities == self.checkpoint.abilities {
            return Ok(());
        }
        if abilities.iter().any(|ability| !self.checkpoint.abilities.contains(ability)) {
            self.checkpoint.retry = Some((i64::MAX, i64::MAX));
        }
        self.checkpoint.abilities = abilities;
        // Both are in one commit, so that no document is forgotten after a crash.
        self.commit().await
    }

    /// Reads the next documents that needed a program.
    pub(super) async fn retry_on(&mut self) -> Result<()> {
        let Some((node, version)) = self.checkpoint.retry.filter(|_| self.pace.may_go_on()) else { return Ok(()) };
        let begun = Instant::now();
        let view = self.committed_view().await?;
        let before = (Id::new(node), Id::new(version));
        let read = blocking(move || retried_documents(&view, before, BATCH)).await?;
        let Retried { documents, last } = read;
        self.write_items(documents, COMMIT).await?;
        self.checkpoint.retry = last.map(|(node, version)| (node.get(), version.get()));
        if last.is_none() {
            self.commit().await?;
        }
        self.pace.note(&self.storage, begun, 0);
        Ok(())
    }

    /// Reads one waiting document at a time, beside changed documents. Documents with pictures come last.
    pub(super) async fn read_waiting(&mut self) -> Result<()> {
        if let Some((id, read)) = self.slow.read()? {
            match read.filter(|read| read.is_whole) {
                None => self.slow.note_failure(),
                Some(_) if std::mem::take(&mut self.slow.is_stale) => {}
                Some(read) => {
                    self.counts_texts = true;
                    let written = self.put(id, read).await;
                    self.counts_texts = false;
                    written?;
                }
            }
        }
        if self.slow.is_reading() {
            return Ok(());
        }
        if let Some(wanted) = self.slow.wanted_page() {
            let view = self.committed_view().await?;
            self.slow.turn_page(blocking(move || wanted.read(&view)).await?);
        }
        let Some((id, pass)) = self.slow.next() else { return Ok(()) };
        self.look_at_stores().await?;
        match self.database.database.read(move |reader: &mut Reader<'_>| node::find(reader, id)).await? {
            Some(row) if row.kind == NodeKind::Document => {
                self.slow.start(&self.texts, row, pass);
                Ok(())
            }
            _ => self.put(id, DocumentEntries::NONE).await,
        }
    }
}
