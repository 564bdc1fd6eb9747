//! Digests that a client sends with a body (RFC 9530): `Content-Digest`, and `Repr-Digest`, which means the same for a
//! body that is neither encoded nor partial. No I/O; the caller supplies the bytes.

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Code, Error, Result};
use ring::digest::{Algorithm, Context, SHA256, SHA512};

const FIELDS: [&str; 2] = ["content-digest", "repr-digest"];

/// The digests that a body must have, with the hashes of the bytes seen so far.
pub struct Expected(Vec<(Context, Vec<u8>)>);

impl Expected {
    /// Reads the digests that a request declares. Algorithms other than SHA-256 and SHA-512 are ignored, as the
    /// standard allows.
    ///
    /// # Errors
    /// Invalid with code `invalid_digest` when a declared digest cannot be parsed. Accepting the body unchecked would
    /// ignore the client's demand.
    pub fn of(headers: &HeaderMap) -> Result<Self> {
        let mut expected = Vec::new();
        for name in FIELDS {
            for field in headers.get_all(name) {
                let members = field.to_str().unwrap_or_default().split(',').map(str::trim);
                for member in members.filter(|member| !member.is_empty()) {
                    let (key, value) = member.split_once('=').unwrap_or((member, ""));
                    let algorithm = match key.trim() {
                        "sha-256" => &SHA256,
                        "sha-512" => &SHA512,
                        _ => continue,
                    };
                    expected.push((Context::new(algorithm), read(algorithm, value).ok_or_else(|| unreadable(name))?));
                }
            }
        }
        Ok(Self(expected))
    }

    /// Hashes the next bytes of the body.
    pub fn update(&mut self, bytes: &[u8]) {
        for (context, _) in &mut self.0 {
            context.update(bytes);
        }
    }

    /// Compares the digests, once all bytes have been seen.
    ///
    /// # Errors
    /// Invalid with code `digest_mismatch`.
    pub fn verify(self) -> Result<()> {
        if self.0.into_iter().all(|(context, wanted)| context.finish().as_ref() == wanted) {
            return Ok(());
        }
        Err(Error::invalid(
            "the body does not match the digest that was sent with it: nothing was stored, send it again",
        )
        .with_code(Code::DigestMismatch))
    }
}

/// Decodes `:base64:`, with or without parameters after it.
fn read(algorithm: &Algorithm, value: &str) -> Option<Vec<u8>> {
    let (coded, _) = value.trim().strip_prefix(':')?.split_once(':')?;
    STANDARD.decode(coded).ok().filter(|bytes| bytes.len() == algorithm.output_len())
}

fn unreadable(name: &str) -> Error {
    Error::invalid(format!("{name} cannot be read: write sha-256=:...: with the digest in Base64 between the colons"))
        .with_code(Code::InvalidDigest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `hello\n`.
    const SHA256_OF_IT: &str = "WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=";

    fn outcome(name: &'static str, value: &str) -> &'static str {
        let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
        let checked = Expected::of(&headers).and_then(|mut expected| {
            expected.update(b"hel");
            expected.update(b"lo\n");
            expected.verify()
        });
        checked.map_or_else(|error| error.code().as_str(), |()| "fits")
    }

    #[test]
    fn a_body_is_held_against_what_was_promised() {
        let right = format!("sha-256=:{SHA256_OF_IT}:");
        let wrong = right.replace("WJ", "XJ");
        for name in FIELDS {
            assert_eq!(outcome(name, &right), "fits");
            assert_eq!(outcome(name, &wrong), "digest_mismatch");
            assert_eq!(outcome(name, &format!("md5=:AAAA:, {right}")), "fits");
            assert_eq!(outcome(name, &format!("{right}, sha-512=:{}:", STANDARD.encode([0; 64]))), "digest_mismatch");
        }
        assert_eq!(outcome("content-digest", "md5=:AAAA:, unixsum=30637"), "fits");
        for bad in ["sha-256", "sha-256=", "sha-256=:AAAA:", "sha-256=WJG1", "sha-256=:!!:"] {
            assert_eq!(outcome("content-digest", bad), "invalid_digest", "{bad}");
        }
    }
}
