//! Repeated requests: what a client's idempotency key created is created once, and told again when it is asked again.

use std::sync::Arc;
use std::time::Duration;

use database::content::{displaced, idempotency, lock};
use database::{Reader, Transaction};
use model::{Digest, Error, Id, Result, Timestamp};

use crate::documents::key_of;
use crate::{Repository, Session};

/// How long keys are remembered, at least.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long locks that have ended are kept: they are there again with a clock that was ahead and comes back.
const ENDED_LOCKS: Duration = Duration::from_secs(24 * 60 * 60);

/// A client's name for one request, and which request that is.
#[derive(Debug)]
pub(crate) struct Key {
    name: String,
    request: Digest,
}

/// The key of a request, if it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repetition(Option<Arc<Key>>);

impl Repetition {
    /// What an earlier request with this key created. Asked first in the transaction that creates.
    pub(crate) fn find(&self, reader: &mut Reader<'_>) -> Result<Option<Id>> {
        let Some(key) = &self.0 else { return Ok(None) };
        let Some((request, result)) = idempotency::find(reader, &key.name)? else { return Ok(None) };
        if request != key.request.as_bytes() {
            return Err(Error::invalid("this idempotency key was used for another request: choose a new key")
                .with_code("idempotency_key_reused"));
        }
        result.parse().map(Some)
    }

    /// Remembers what was created.
    pub(crate) fn keep(&self, transaction: &mut Transaction<'_>, created: Id) -> Result<()> {
        let Some(key) = &self.0 else { return Ok(()) };
        let (request, result) = (key.request.as_bytes(), created.to_string());
        idempotency::insert(transaction, &key.name, request, &result, Timestamp::now())
    }
}

impl Session {
    /// This session for one request that creates something: the same `key` never creates twice, it finds what was created. Another
    /// `request` under the same key is an error with the code `idempotency_key_reused`.
    ///
    /// It holds for folders, sites, libraries, columns, content types, copies, site collections, accounts, groups, roles, BLOB
    /// stores and jobs; an upload has its key in its options. Keys are remembered for seven days at least.
    #[must_use]
    pub fn once(mut self, key: &str, request: Digest) -> Self {
        let name = key_of(self.principal.id, key);
        self.repetition = Repetition(Some(Arc::new(Key { name, request })));
        self
    }
}

impl Repository {
    /// Forgets idempotency keys that are older than seven days, and locks that ended long ago. A database that fails keeps none of the
    /// others waiting.
    ///
    /// # Errors
    /// The first of them.
    pub async fn forget_repetitions(&self) -> Result<()> {
        let (limit, ended) = (self.old_enough(REMEMBERED).await?, self.old_enough(ENDED_LOCKS).await?);
        let forget = move |transaction: &mut Transaction<'_>| idempotency::purge(transaction, limit).map(drop);
        let mut done = self.inner.configuration.write_vital(forget).await;
        for content in &self.map().await?.databases {
            let purge = move |transaction: &mut Transaction<'_>| {
                lock::purge(transaction, ended)?;
                displaced::purge(transaction, limit)?;
                idempotency::purge(transaction, limit).map(drop)
            };
            done = done.and(content.database.write_vital(purge).await);
        }
        done
    }
}
