//! Repeated requests: what a client's idempotency key created is created once, and told again when it is asked again.

use std::sync::Arc;

use database::content::idempotency;
use database::{Reader, Transaction};
use model::{Code, Digest, Error, Id, Result, Timestamp};

/// A client's name for one request, and which request that is.
#[derive(Debug)]
pub(crate) struct Key {
    pub(super) name: String,
    pub(super) request: Digest,
}

/// The key of a request, if it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repetition(pub(super) Option<Arc<Key>>);

impl Repetition {
    /// What an earlier request with this key created. Asked first in the transaction that creates.
    pub(crate) fn find(&self, reader: &mut Reader<'_>) -> Result<Option<Id>> {
        let Some(key) = &self.0 else { return Ok(None) };
        let Some((request, result)) = idempotency::find(reader, &key.name)? else { return Ok(None) };
        if request != key.request.as_bytes() {
            return Err(Error::invalid("this idempotency key was used for another request: choose a new key")
                .with_code(Code::IdempotencyKeyReused));
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

/// A client's idempotency key as it is stored: keys of different callers never meet.
pub(crate) fn key_of(caller: Id, key: &str) -> String {
    format!("{caller}:{key}")
}
