//! Hints that make opening a BLOB cheap.

use std::fmt;

use model::{Error, Result};

/// The longest locator in bytes.
pub const MAX_LOCATOR: usize = 32;

/// Where a store last put a BLOB: an opaque hint of at most [`MAX_LOCATOR`] bytes. A database may keep it beside the
/// digest. A missing, stale or foreign locator only costs a slower look-up; it never leads to other bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Locator {
    length: u8,
    bytes: [u8; MAX_LOCATOR],
}

impl Locator {
    /// Wraps stored bytes; more than [`MAX_LOCATOR`] are invalid. What they mean only the provider knows.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_LOCATOR {
            return Err(Error::invalid(format!("a locator has at most {MAX_LOCATOR} bytes, not {}", bytes.len())));
        }
        Ok(Self::from_slice(bytes))
    }

    /// The same for bytes whose number is known; what is too much is left out.
    pub(crate) fn from_slice(bytes: &[u8]) -> Self {
        let length = bytes.len().min(MAX_LOCATOR);
        let mut kept = [0; MAX_LOCATOR];
        kept[..length].copy_from_slice(&bytes[..length]);
        Self { length: length as u8, bytes: kept }
    }

    /// The bytes to store.
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
