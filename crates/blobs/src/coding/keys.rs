//! Keys that encrypt BLOBs before they are stored, and the keys derived from them.

use std::fmt;

use model::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A 256-bit key of a store. The key's identifier, which is derived from it, shows which key a BLOB was encrypted with.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreKey([u8; 32]);

/// Length of a key's identifier in bytes.
pub const KEY_ID: usize = 8;
/// Length of an object's salt, random bytes that make the object's derived keys unique.
pub const SALT: usize = 32;

impl StoreKey {
    /// Creates a key from these bytes, which must come from a cryptographic random number generator.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Generates a random key.
    pub fn generate() -> Result<Self> {
        let mut bytes = [0; 32];
        fill_random(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// Returns the key as hexadecimal digits, for safekeeping.
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }

    /// Parses a key from 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self> {
        let digest: model::Digest =
            text.parse().map_err(|_| Error::invalid("a key of a store is 64 hexadecimal digits"))?;
        Ok(Self(*digest.as_bytes()))
    }

    /// Returns the key's identifier as 16 hexadecimal digits. It names the key without revealing it.
    pub fn identifier(&self) -> String {
        hex(&self.id())
    }

    pub(super) fn id(&self) -> [u8; KEY_ID] {
        let mut id = [0; KEY_ID];
        id.copy_from_slice(&blake3::derive_key("strongroom 2026-11 identifier of a store key", &self.0)[..KEY_ID]);
        id
    }

    /// Derives the key that encrypts the frames of the object with this salt.
    pub(super) fn frame_key(&self, salt: &[u8; SALT]) -> [u8; 32] {
        self.derive("strongroom 2026-11 frames of a BLOB", salt)
    }

    /// Derives the key that authenticates the header and table of the object with this salt.
    pub(super) fn header_key(&self, salt: &[u8; SALT]) -> [u8; 32] {
        self.derive("strongroom 2026-11 header of a BLOB", salt)
    }

    fn derive(&self, purpose: &str, salt: &[u8; SALT]) -> [u8; 32] {
        let mut material = [0; 64];
        material[..32].copy_from_slice(&self.0);
        material[32..].copy_from_slice(salt);
        blake3::derive_key(purpose, &material)
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreKey({}, ***)", self.identifier())
    }
}

impl Serialize for StoreKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for StoreKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).map_err(|error| serde::de::Error::custom(error.message()))
    }
}

/// Fills a buffer with cryptographically random bytes.
pub fn fill_random(bytes: &mut [u8]) -> Result<()> {
    use ring::rand::SecureRandom;
    let done = ring::rand::SystemRandom::new().fill(bytes);
    done.map_err(|_| Error::unavailable("the system's random number generator failed"))
}

/// Formats bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |text, byte| text + &format!("{byte:02x}"))
}
