//! Hints that make opening a BLOB cheap.

use std::fmt;

use model::{Error, Result};

/// Length of the longest locator in bytes.
pub const MAX_LOCATOR: usize = 32;

/// The location of a BLOB in its store, as an opaque hint of at most [`MAX_LOCATOR`] bytes. A database may keep it
/// beside the digest. A missing, stale or foreign locator only makes the look-up slower; it never leads to other bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Locator {
    length: u8,
    bytes: [u8; MAX_LOCATOR],
}

impl Locator {
    /// Wraps stored bytes; more than [`MAX_LOCATOR`] are invalid. Only the provider knows their meaning.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_LOCATOR {
            return Err(Error::invalid(format!("a locator has at most {MAX_LOCATOR} bytes, not {}", bytes.len())));
        }
        Ok(Self::from_slice(bytes))
    }

    /// Like [`Self::from_bytes`], but cuts off bytes beyond the limit.
    pub(crate) fn from_slice(bytes: &[u8]) -> Self {
        let length = bytes.len().min(MAX_LOCATOR);
        let mut kept = [0; MAX_LOCATOR];
        kept[..length].copy_from_slice(&bytes[..length]);
        Self { length: length as u8, bytes: kept }
    }

    /// Returns the bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Locator(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
