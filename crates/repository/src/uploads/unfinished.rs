//! What a person's unfinished uploads take of the disk, and the limit on it.
//!
//! Uploads in parts are counted by the content databases with their announced lengths, other uploads here while they run. An upload
//! counts before its bytes are written.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use database::content::upload;
use model::{Code, Error, Id, Result, readable_size};

use crate::Repository;
use crate::uploads::running::Person;

/// Bytes that the unfinished uploads of one person may take when nothing else is set: 256 GiB.
pub const UNFINISHED_BYTES: u64 = 256 << 30;

/// A running upload up to this length is not counted: the number of requests bounds what these take together.
const SMALL: u64 = 16 << 20;
/// An upload of unknown length counts in steps of so many bytes.
const STEP: u64 = 64 << 20;

/// Bytes that one upload has claimed. Dropping it gives them back.
pub(crate) struct Claim {
    repository: Repository,
    user: Id,
    person: Arc<Person>,
    bytes: u64,
}

impl Repository {
    /// Limits what the unfinished uploads of one person take together, in bytes; 0 for no limit, which is how a farm is opened.
    pub fn limit_unfinished(&self, bytes: u64) {
        self.inner.unfinished.limit.store(bytes, Ordering::Relaxed);
    }

    /// A claim of no bytes.
    pub(crate) fn claim(&self, user: Id) -> Claim {
        let mut people = self.inner.unfinished.people.lock().unwrap_or_else(PoisonError::into_inner);
        let person = people.entry(user).or_default().clone();
        Claim { repository: self.clone(), user, person, bytes: 0 }
    }

    /// Bytes that the user's uploads in parts will take when they are complete. A content database that is away counts
    /// nothing: no upload goes on there.
    async fn bytes_in_parts(&self, user: Id) -> Result<u64> {
        let mut bytes = 0u64;
        for content in &self.registry().await?.databases {
            let there = content.database.read(move |reader| upload::announced(reader, user)).await?;
            bytes = bytes.saturating_add(model::unsigned(there));
        }
        Ok(bytes)
    }
}

impl Claim {
    /// Claims what is missing to so many bytes of an upload that is running.
    ///
    /// Errors: as [`Claim::take`].
    pub(crate) async fn reach(&mut self, bytes: u64) -> Result<()> {
        if bytes <= self.bytes.max(SMALL) {
            return Ok(());
        }
        let stepped = if self.bytes == 0 { bytes } else { bytes.div_ceil(STEP).saturating_mul(STEP) };
        self.take(stepped).await
    }

    /// Claims so many bytes in all, however few.
    ///
    /// Errors: `Exhausted` with code `too_much_unfinished` when they are more than one person may have unfinished.
    pub(crate) async fn take(&mut self, bytes: u64) -> Result<()> {
        let limit = self.repository.inner.unfinished.limit.load(Ordering::Relaxed);
        if limit == 0 {
            return Ok(());
        }
        let more = bytes.saturating_sub(self.bytes);
        let _turn = self.person.turn.lock().await;
        // In this order: an upload in parts that is being begun counts as running until its row is there.
        let running = self.person.held.load(Ordering::Acquire);
        let in_parts = self.repository.bytes_in_parts(self.user).await?;
        if running.saturating_add(in_parts).saturating_add(more) > limit {
            return Err(Error::exhausted(format!(
                "your unfinished uploads may take {} together, and this one would exceed that: complete or \
                 cancel others first, or ask who runs the server to raise \"unfinished_bytes_per_user\"",
                readable_size(limit)
            ))
            .with_code(Code::TooMuchUnfinished));
        }
        self.person.held.fetch_add(more, Ordering::AcqRel);
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.person.held.fetch_sub(self.bytes, Ordering::AcqRel);
        let mut people = self.repository.inner.unfinished.people.lock().unwrap_or_else(PoisonError::into_inner);
        // The map has one, and this claim the other.
        if Arc::strong_count(&self.person) == 2 {
            people.remove(&self.user);
        }
    }
}
