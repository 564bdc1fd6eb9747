//! Idempotent requests: a repetition with a client's idempotency key changes nothing and returns the result of the
//! first request. All keys and results are read and stored here.
//!
//! This module must not know what the requests change.

use std::sync::Arc;

use database::content::idempotency;
use database::{Reader, Transaction};
use model::{Code, Digest, Error, ErrorKind, Id, Result, Timestamp};
use serde::{Deserialize, Serialize};

/// A client's idempotency key, and the digest of the request that it was used for.
#[derive(Debug)]
pub(crate) struct Key {
    name: String,
    request: Digest,
}

impl Key {
    pub(crate) fn new(caller: Id, key: &str, request: Digest) -> Self {
        Self { name: stored_name(caller, key), request }
    }

    /// Returns the result of an earlier request with this key. Must run first in the transaction that stores the
    /// result.
    ///
    /// # Errors
    /// `Invalid` with code `idempotency_key_reused` when the earlier request was a different one.
    pub(crate) fn find(&self, reader: &mut Reader<'_>) -> Result<Option<String>> {
        let Some((request, result)) = idempotency::find(reader, &self.name)? else { return Ok(None) };
        if request != self.request.as_bytes() {
            return Err(Error::invalid("this idempotency key was used for another request: choose a new key")
                .with_code(Code::IdempotencyKeyReused));
        }
        Ok(Some(result))
    }

    /// Stores the result of the request under the key.
    pub(crate) fn store(&self, transaction: &mut Transaction<'_>, result: &str) -> Result<()> {
        idempotency::insert(transaction, &self.name, self.request.as_bytes(), result, Timestamp::now())
    }
}

/// Returns whether the caller used a key before, for whatever request.
pub(crate) fn is_used(reader: &mut Reader<'_>, caller: Id, key: &str) -> Result<bool> {
    Ok(idempotency::find(reader, &stored_name(caller, key))?.is_some())
}

/// Returns a client's idempotency key in its stored form, which never collides with a key of another caller.
fn stored_name(caller: Id, key: &str) -> String {
    format!("{caller}:{key}")
}

/// The idempotency key of a request that creates an object, if it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdempotencyKey(Option<Arc<Key>>);

impl IdempotencyKey {
    pub(crate) fn new(key: Key) -> Self {
        Self(Some(Arc::new(key)))
    }

    /// Returns the object that an earlier request with this key created. Must run first in the creating transaction.
    pub(crate) fn find(&self, reader: &mut Reader<'_>) -> Result<Option<Id>> {
        let Some(key) = &self.0 else { return Ok(None) };
        key.find(reader)?.map(|created| created.parse()).transpose()
    }

    /// Stores the identifier of the created object under the key.
    pub(crate) fn store_result(&self, transaction: &mut Transaction<'_>, created: Id) -> Result<()> {
        let Some(key) = &self.0 else { return Ok(()) };
        key.store(transaction, &created.to_string())
    }

    /// Returns the outcomes of an earlier request with this key, if there was one. Must run first in the transaction
    /// that stores them.
    pub(crate) fn find_outcomes(&self, reader: &mut Reader<'_>) -> Result<Option<Vec<StoredOutcome>>> {
        let Some(stored) = self.0.as_ref().map(|key| key.find(reader)).transpose()?.flatten() else { return Ok(None) };
        StoredOutcome::parse(&stored).map(Some)
    }

    /// Stores the outcomes of a request that makes several changes under the key.
    pub(crate) fn store_outcomes(&self, transaction: &mut Transaction<'_>, outcomes: &[StoredOutcome]) -> Result<()> {
        let Some(key) = &self.0 else { return Ok(()) };
        let stored = serde_json::to_string(outcomes)
            .map_err(|error| Error::corrupt("the outcomes of a request cannot be written").with_source(error))?;
        key.store(transaction, &stored)
    }
}

/// The outcome of one of the changes that a request made, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredOutcome {
    object: Option<i64>,
    refusal: Option<Refusal>,
}

/// A refusal, as it is stored: the words of its kind and code, and its message.
#[derive(Debug, Serialize, Deserialize)]
struct Refusal {
    kind: String,
    code: String,
    message: String,
}

impl StoredOutcome {
    /// Reads the outcomes of a request: a JSON array, or, as earlier versions wrote them, the identifiers of the
    /// objects with spaces between them.
    fn parse(stored: &str) -> Result<Vec<Self>> {
        if stored.starts_with('[') {
            return serde_json::from_str(stored).map_err(|error| {
                Error::corrupt("the stored outcomes of an earlier request cannot be read").with_source(error)
            });
        }
        let made = |id: &str| Ok(Self { object: Some(id.parse::<Id>()?.get()), refusal: None });
        stored.split_whitespace().map(made).collect()
    }

    /// Returns the stored form of an outcome: the object, if there is one, and the reason for a refusal.
    pub(crate) fn new(object: Option<Id>, refusal: Option<&Error>) -> Self {
        let refusal = refusal.map(|error| Refusal {
            kind: error.kind().code().as_str().to_owned(),
            code: error.code().as_str().to_owned(),
            message: error.message().to_owned(),
        });
        Self { object: object.map(Id::get), refusal }
    }

    /// Returns the object.
    pub(crate) fn object(&self) -> Option<Id> {
        self.object.map(Id::new)
    }

    /// Returns the reason for a refusal. A later version may not know its code any more; the kind stays.
    pub(crate) fn refusal(self) -> Option<Error> {
        let Refusal { kind, code, message } = self.refusal?;
        let known = ErrorKind::ALL.into_iter().find(|known| known.code() == kind.as_str());
        let error = Error::new(known.unwrap_or(ErrorKind::Conflict), message);
        Some(match Code::parse(&code) {
            Some(code) => error.with_code(code),
            None => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The forms are stored in databases and must stay readable.
    #[test]
    fn stored_outcomes_are_read_in_both_forms() {
        let refused = Error::invalid("no number").with_code(Code::InvalidValue);
        let outcomes = [StoredOutcome::new(Some(Id::new(7)), None), StoredOutcome::new(None, Some(&refused))];
        let stored = "[{\"object\":7,\"refusal\":null},\
            {\"object\":null,\"refusal\":{\"kind\":\"invalid\",\"code\":\"invalid_value\",\"message\":\"no number\"}}]";
        assert_eq!(serde_json::to_string(&outcomes).unwrap(), stored);
        let read = StoredOutcome::parse(stored).unwrap();
        assert_eq!(read.iter().map(StoredOutcome::object).collect::<Vec<_>>(), [Some(Id::new(7)), None]);
        let refusal = read.into_iter().nth(1).unwrap().refusal().unwrap();
        assert_eq!((refusal.code(), refusal.message()), (Code::InvalidValue, "no number"));
        let earlier = StoredOutcome::parse("7 9007199254740993").unwrap();
        let ids = earlier.iter().map(StoredOutcome::object).collect::<Vec<_>>();
        assert_eq!(ids, [Some(Id::new(7)), Some(Id::new(9_007_199_254_740_993))]);
        assert!(StoredOutcome::parse("[1").is_err() && StoredOutcome::parse("x").is_err());
    }
}
