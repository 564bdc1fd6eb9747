//! The identity of a BLOB.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// BLAKE3-256 of a BLOB's bytes: its identity in every store and every content database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps the 32 bytes of a BLAKE3 hash.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads a stored digest. Fails with `Corrupt` unless it has 32 bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Self> {
        let array: [u8; 32] = bytes
            .try_into()
            .map_err(|_| Error::corrupt(format!("a stored digest has {} bytes instead of 32", bytes.len())))?;
        Ok(Self(array))
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0u8; 64];
        for (i, byte) in self.0.iter().enumerate() {
            text[2 * i] = HEX[usize::from(byte >> 4)];
            text[2 * i + 1] = HEX[usize::from(byte & 15)];
        }
        // Hexadecimal digits are ASCII, so the fallback is never used.
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::invalid("a digest is 64 hexadecimal digits");
        // `from_str_radix` alone also accepts a sign.
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut bytes = [0u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips_and_rejects_the_rest() {
        let digest = Digest::new(std::array::from_fn(|i| i as u8 * 7));
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        for bad in ["", "00", &"g".repeat(64), &"é".repeat(32), &"+1".repeat(32), &"-0".repeat(32)] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
        assert!(Digest::from_slice(&[0; 31]).is_err());
    }
}
