//! Keys of objects. Pure: performs no I/O.

use model::{Digest, Timestamp};

use crate::coding::{DataId, hex};
use crate::marker::STORE_MARKER;

/// The keys of all objects of a store, below its prefix.
#[derive(Clone, Debug)]
pub struct Names {
    prefix: String,
}

impl Names {
    /// Creates the names below `prefix`, which has no trailing `/`.
    pub fn new(prefix: &str) -> Self {
        Self { prefix: if prefix.is_empty() { String::new() } else { format!("{prefix}/") } }
    }

    /// Common prefix of all keys.
    pub fn root(&self) -> &str {
        &self.prefix
    }

    pub fn marker(&self) -> String {
        format!("{}{STORE_MARKER}", self.prefix)
    }

    /// Common prefix of the keys of all BLOBs.
    pub fn blobs(&self) -> String {
        format!("{}blobs/", self.prefix)
    }

    /// Key of a BLOB's one object, which holds its bytes or leads to them.
    pub fn blob(&self, digest: &Digest, size: u64) -> String {
        format!("{}blobs/{digest}.{size}", self.prefix)
    }

    /// Common prefix of a BLOB's keys, for any size.
    pub fn of_digest(&self, digest: &Digest) -> String {
        format!("{}blobs/{digest}.", self.prefix)
    }

    /// A string that sorts after all keys of this BLOB and before those of the next one.
    pub fn behind(&self, digest: &Digest) -> String {
        format!("{}blobs/{digest}.~", self.prefix)
    }

    /// Common prefix of the keys of all data objects.
    pub fn all_data(&self) -> String {
        format!("{}data/", self.prefix)
    }

    pub fn data(&self, id: &DataId) -> String {
        format!("{}data/{}", self.prefix, hex(id))
    }

    /// Key of an object that is written only to learn the service's time.
    pub fn clock(&self) -> String {
        format!("{}clock", self.prefix)
    }

    /// Parses digest and size of a BLOB from its key; `None` for any other key.
    pub fn parse_blob(&self, key: &str) -> Option<(Digest, u64)> {
        let (digest, size) = key.strip_prefix(&self.blobs())?.split_once('.')?;
        let (digest, size) = (digest.parse().ok()?, size.parse().ok()?);
        // Only the canonical spelling of a name is accepted.
        (self.blob(&digest, size) == key).then_some((digest, size))
    }

    /// Parses the identifier of a data object from its key.
    pub fn parse_data(&self, key: &str) -> Option<DataId> {
        let text = key.strip_prefix(&self.all_data())?;
        let digits = text.len() == 2 * size_of::<DataId>()
            && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let number = u128::from_str_radix(text, 16).ok().filter(|_| digits)?;
        Some(number.to_be_bytes())
    }
}

/// Returns the latest time at which an object may have been stored. Services report whole seconds or milliseconds,
/// rounded down, which would make a BLOB look older than it is.
pub fn stored_at(told: Timestamp) -> Timestamp {
    let told = told.micros();
    let unit = [1_000_000, 1000, 1].into_iter().find(|unit| told % unit == 0).unwrap_or(1);
    Timestamp::from_micros((told + unit - 1).min(Timestamp::now().micros()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_way_to_write_a_name_is_read() {
        for prefix in ["", "farm/one"] {
            let names = Names::new(prefix);
            let digest = crate::digest_of(b"x");
            let key = names.blob(&digest, 10);
            assert_eq!(names.parse_blob(&key), Some((digest, 10)));
            assert!(key > names.of_digest(&digest));
            assert!(key < names.behind(&digest));
            for bad in [key.replace(".10", ".010"), key.replace(".10", ".+10"), key.to_uppercase(), format!("{key}.1")]
            {
                assert_eq!(names.parse_blob(&bad), None, "{bad}");
            }
            let id = *b"0123456789abcdef";
            assert_eq!(names.parse_data(&names.data(&id)), Some(id));
            assert_eq!(names.parse_data(&names.data(&id)[1..]), None);
        }
    }

    #[test]
    fn a_rounded_time_is_never_too_early() {
        assert_eq!(stored_at(Timestamp::from_micros(5_000_000)).micros(), 5_999_999);
        assert_eq!(stored_at(Timestamp::from_micros(5_001_000)).micros(), 5_001_999);
        assert_eq!(stored_at(Timestamp::from_micros(5_001_001)).micros(), 5_001_001);
        assert!(stored_at(Timestamp::now()) <= Timestamp::now());
    }
}
