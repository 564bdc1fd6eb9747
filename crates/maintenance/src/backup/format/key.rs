//! Keys of an encrypted backup: the master key, derived from the content of the key file, and a separate key for each
//! encrypted object.

use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use model::{Code, Error, Result};
use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use ring::hkdf;
use serde::{Deserialize, Serialize};

/// Argon2 parameters for the key of a new backup: memory in KiB, passes and lanes.
const DERIVATION: (u32, u32, u32) = (64 << 10, 3, 1);
/// Maximum length of a key file in bytes.
const MAX_KEY_FILE: u64 = 64 << 10;

/// Parameters that derive a backup's key from the content of the key file. They are stored unencrypted in the marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Derivation {
    /// `aes-256-gcm`.
    pub cipher: String,
    /// `argon2id`, version 19.
    pub function: String,
    /// Salt in hexadecimal.
    pub salt: String,
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
    /// Check value that reveals a wrong key: 16 bytes derived from the key for the context `check`, in hexadecimal.
    pub check: String,
}

/// Master key of a backup.
#[derive(Clone)]
pub(crate) struct Key {
    master: [u8; 32],
}

impl Key {
    /// Derives a key with a fresh salt from the content of the file. Returns the key and its derivation parameters.
    pub fn create(file: &Path) -> Result<(Self, Derivation)> {
        let (memory_kib, passes, lanes) = DERIVATION;
        let mut derivation = Derivation {
            cipher: "aes-256-gcm".to_owned(),
            function: "argon2id".to_owned(),
            salt: hex(&random::<16>()?),
            memory_kib,
            passes,
            lanes,
            check: String::new(),
        };
        let key = Self::derive(&read(file)?, &derivation)?;
        derivation.check = key.check()?;
        Ok((key, derivation))
    }

    /// Derives the backup's key from the content of the file.
    ///
    /// # Errors
    /// `Invalid` when the backup was made with a different key.
    pub fn open(file: &Path, derivation: &Derivation) -> Result<Self> {
        let key = Self::derive(&read(file)?, derivation)?;
        if key.check()? != derivation.check {
            return Err(Error::invalid(format!(
                "{} does not hold the key or passphrase that this backup was encrypted with",
                file.display()
            ))
            .with_code(Code::WrongKey));
        }
        Ok(key)
    }

    /// Fixed key for fuzz targets.
    #[cfg(fuzzing)]
    pub fn known() -> Self {
        Self { master: [7; 32] }
    }

    fn derive(secret: &[u8], how: &Derivation) -> Result<Self> {
        if how.cipher != "aes-256-gcm" || how.function != "argon2id" {
            let what = format!(
                "the backup is encrypted with {} and {}, which this program does not know",
                how.cipher, how.function
            );
            return Err(Error::invalid(what));
        }
        // The marker may have been tampered with. Its parameters must not exhaust memory.
        if how.memory_kib > 4 << 20 || how.passes > 1000 || how.lanes > 64 {
            return Err(Error::corrupt("the backup's marker requires an implausibly expensive key derivation"));
        }
        let salt = unhex(&how.salt).ok_or_else(|| Error::corrupt("the salt in the backup's marker cannot be read"))?;
        let params = Params::new(how.memory_kib, how.passes, how.lanes, Some(32));
        let params = params.map_err(|e| Error::corrupt(format!("the backup's marker: {e}")))?;
        let mut master = [0; 32];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(secret, &salt, &mut master)
            .map_err(|e| Error::invalid(format!("the key cannot be derived: {e}")))?;
        Ok(Self { master })
    }

    fn check(&self) -> Result<String> {
        let mut check = [0; 16];
        let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&self.master);
        let info = [b"strongroom backup check".as_slice()];
        let filled = secret.expand(&info, Length(16)).and_then(|out| out.fill(&mut check));
        filled.map_err(|_| broken())?;
        Ok(hex(&check))
    }

    /// Derives the key for one encrypted object. The salt is unique to the object, and the context keeps the object
    /// from being decrypted in another object's position.
    pub fn for_context(&self, salt: &[u8; 32], context: &[u8]) -> Result<LessSafeKey> {
        let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&self.master);
        let info = [b"strongroom backup 1 ".as_slice(), context];
        let out = secret.expand(&info, &AES_256_GCM).map_err(|_| broken())?;
        Ok(LessSafeKey::new(UnboundKey::from(out)))
    }
}

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn broken() -> Error {
    Error::unavailable("a key could not be derived")
}

/// Reads a key file, without its trailing line breaks.
fn read(file: &Path) -> Result<Vec<u8>> {
    let failed = |e: std::io::Error| {
        Error::invalid(format!("the key file {} cannot be read: {e}", file.display())).with_source(e)
    };
    let found = std::fs::metadata(file).map_err(failed)?;
    if found.is_dir() {
        return Err(Error::invalid(format!(
            "{} is a directory: --encrypt-with takes the file that holds the key or passphrase",
            file.display()
        )));
    }
    if found.len() > MAX_KEY_FILE {
        return Err(Error::invalid(format!("{} is too long for a key file", file.display())));
    }
    let mut secret = std::fs::read(file).map_err(failed)?;
    while secret.last().is_some_and(|byte| *byte == b'\n' || *byte == b'\r') {
        secret.pop();
    }
    if secret.len() < 8 {
        return Err(Error::invalid(format!(
            "{} holds fewer than 8 characters: put a long passphrase or random bytes into it",
            file.display()
        )));
    }
    Ok(secret)
}

/// Returns cryptographically random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::unavailable(format!("the system cannot supply random numbers: {e}")))?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let high = char::from(*pair.first()?).to_digit(16)?;
        let low = char::from(*pair.get(1)?).to_digit(16)?;
        Some((high * 16 + low) as u8)
    });
    pairs.collect()
}
