//! Secrets of sessions, tokens, links, devices, addresses for office programs and links for a new password: their form,
//! and the hashes stored of them.
//!
//! A secret is 256 random bits. Only its BLAKE3 hash is stored and looked up, so neither a copy of the database nor the
//! duration of a look-up reveals anything about a secret.

use model::{Error, Result};

/// Purpose of a secret. The prefix of its text shows it, so that leaked secrets can be searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretKind {
    Session,
    Token,
    Link,
    Device,
    Edit,
    Password,
}

impl SecretKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Session => "srs_",
            Self::Token => "srt_",
            Self::Link => "srl_",
            Self::Device => "srd_",
            Self::Edit => "sre_",
            Self::Password => "srp_",
        }
    }
}

/// Returns a new secret and the hash to store.
pub(crate) fn new(kind: SecretKind) -> Result<(String, [u8; 32])> {
    let mut random = [0u8; 32];
    fill_random(&mut random)?;
    let mut text = String::with_capacity(68);
    text.push_str(kind.prefix());
    text.push_str(blake3::Hash::from_bytes(random).to_hex().as_str());
    let hash = *blake3::hash(text.as_bytes()).as_bytes();
    Ok((text, hash))
}

/// Returns the hash by which a secret is looked up; `None` for text that cannot be a secret of this kind.
pub(crate) fn hash(kind: SecretKind, text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(kind.prefix())?;
    let fits = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    fits.then(|| *blake3::hash(text.as_bytes()).as_bytes())
}

/// Returns the key of a session's CSRF tokens. It is derived from the session's secret, so that it is never stored and
/// ends with the session.
pub(crate) fn csrf_key(secret: &str) -> [u8; 32] {
    blake3::derive_key("strongroom 2026-11 form tokens of a web session", secret.as_bytes())
}

/// Fills `buffer` with random bytes from the operating system.
pub(crate) fn fill_random(buffer: &mut [u8]) -> Result<()> {
    getrandom::fill(buffer).map_err(|e| {
        Error::unavailable("the operating system's random number generator failed").with_source(e.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_by_its_hash_and_only_as_its_kind() {
        let (text, stored) = new(SecretKind::Token).unwrap();
        assert_eq!((text.len(), &text[..4]), (68, "srt_"));
        assert_eq!(hash(SecretKind::Token, &text), Some(stored));
        assert_eq!(hash(SecretKind::Session, &text), None);
        assert_ne!(new(SecretKind::Token).unwrap().0, text);
    }

    #[test]
    fn other_text_is_no_secret() {
        let long = format!("srt_{}", "a".repeat(1 << 20));
        for bad in ["", "srt_", "srt_zz", &"a".repeat(68), &format!("srt_{}", "ü".repeat(32)), &long] {
            assert_eq!(hash(SecretKind::Token, bad), None);
        }
    }
}
