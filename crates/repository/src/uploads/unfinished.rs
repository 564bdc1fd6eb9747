//! Disk space taken by a user's unfinished uploads, and its limit.
//!
//! Uploads in parts are counted by the content databases with their announced lengths; other uploads are counted here
//! while they run. An upload counts before its bytes are written.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use database::content::upload;
use model::{Code, Error, Id, Result, readable_size};

use crate::Repository;
use crate::uploads::running::UserClaims;

/// Default limit on the bytes of one user's unfinished uploads: 256 GiB.
pub const UNFINISHED_BYTES: u64 = 256 << 30;

/// Length up to which an upload in progress is not counted. The number of concurrent requests bounds the total of such
/// uploads.
const SMALL: u64 = 16 << 20;
/// Step in which an upload of unknown length is counted.
const CLAIM_STEP: u64 = 64 << 20;

/// Bytes claimed by one upload. Dropping the claim releases them.
pub(crate) struct Claim {
    repository: Repository,
    user: Id,
    person: Arc<UserClaims>,
    bytes: u64,
}

impl Repository {
    /// Limits the total bytes of one user's unfinished uploads; 0 for no limit, which is the state in which a farm is
    /// opened.
    pub fn limit_unfinished(&self, bytes: u64) {
        self.inner.unfinished.limit.store(bytes, Ordering::Relaxed);
    }

    /// Returns a claim of no bytes.
    pub(crate) fn claim(&self, user: Id) -> Claim {
        let mut people = self.inner.unfinished.people.lock().unwrap_or_else(PoisonError::into_inner);
        let person = people.entry(user).or_default().clone();
        Claim { repository: self.clone(), user, person, bytes: 0 }
    }

    /// Returns the bytes that the user's uploads in parts will take when complete. A content database that is away
    /// counts nothing: no upload can continue there.
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
    /// Extends the claim of an upload in progress to at least `bytes`.
    ///
    /// # Errors
    /// Errors of [`Claim::take`].
    pub(crate) async fn extend_to(&mut self, bytes: u64) -> Result<()> {
        if bytes <= self.bytes.max(SMALL) {
            return Ok(());
        }
        let stepped = if self.bytes == 0 { bytes } else { bytes.div_ceil(CLAIM_STEP).saturating_mul(CLAIM_STEP) };
        self.extend_exactly_to(stepped).await
    }

    /// Extends the claim to `bytes` in total, however few they are.
    ///
    /// # Errors
    /// `Exhausted` with code `too_much_unfinished` when the user's unfinished uploads would exceed the limit.
    pub(crate) async fn extend_exactly_to(&mut self, bytes: u64) -> Result<()> {
        let limit = self.repository.inner.unfinished.limit.load(Ordering::Relaxed);
        if limit == 0 {
            return Ok(());
        }
        let more = bytes.saturating_sub(self.bytes);
        let _turn = self.person.lock.lock().await;
        // The order matters: a new upload in parts counts as running until its row is written.
        let running = self.person.held.load(Ordering::Acquire);
        let in_parts = self.repository.bytes_in_parts(self.user).await?;
        if running.saturating_add(in_parts).saturating_add(more) > limit {
            return Err(Error::exhausted(format!(
                "your unfinished uploads may take {} together, and this one would exceed that: complete or cancel \
                 others first, or ask the administrator of the server to raise \"unfinished_bytes_per_user\"",
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
        // One reference is the map's, the other is this claim's.
        if Arc::strong_count(&self.person) == 2 {
            people.remove(&self.user);
        }
    }
}
