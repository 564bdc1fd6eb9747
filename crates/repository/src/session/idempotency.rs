//! Idempotent requests: an object with a client's idempotency key is created once, and a repeated request returns it.

use std::sync::Arc;

use database::content::idempotency;
use database::{Reader, Transaction};
use model::{Code, Digest, Error, Id, Result, Timestamp};

/// A client's idempotency key, and the digest of the request that it was used for.
#[derive(Debug)]
pub(crate) struct Key {
    pub(super) name: String,
    pub(super) request: Digest,
}

/// The idempotency key of a request, if it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdempotencyKey(pub(super) Option<Arc<Key>>);

impl IdempotencyKey {
    /// Returns the object that an earlier request with this key created. Must run first in the creating transaction.
    pub(crate) fn find(&self, reader: &mut Reader<'_>) -> Result<Option<Id>> {
        let Some(key) = &self.0 else { return Ok(None) };
        let Some((request, result)) = idempotency::find(reader, &key.name)? else { return Ok(None) };
        if request != key.request.as_bytes() {
            return Err(Error::invalid("this idempotency key was used for another request: choose a new key")
                .with_code(Code::IdempotencyKeyReused));
        }
        result.parse().map(Some)
    }

    /// Stores the identifier of the created object under the key.
    pub(crate) fn store_result(&self, transaction: &mut Transaction<'_>, created: Id) -> Result<()> {
        let Some(key) = &self.0 else { return Ok(()) };
        let (request, result) = (key.request.as_bytes(), created.to_string());
        idempotency::insert(transaction, &key.name, request, &result, Timestamp::now())
    }
}

/// Returns a client's idempotency key in its stored form, which never collides with a key of another caller.
pub(crate) fn key_of(caller: Id, key: &str) -> String {
    format!("{caller}:{key}")
}
