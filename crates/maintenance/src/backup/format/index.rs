//! Entries of a backup: the identity of the plain bytes, their encoding, and the digest under which the encoded bytes
//! are stored. Also the binary form of the parts into which lists of entries are split.

use bytes::Bytes;
use model::{Digest, Error, Result};
use serde::{Deserialize, Serialize};

use super::codec::Codec;

/// Maximum number of entries per part.
pub(crate) const PART: usize = 16_384;
/// Maximum length of a database chunk in bytes.
pub(crate) const MAX_CHUNK: u64 = 4 << 20;
const MAGIC: &[u8; 8] = b"SRparts1";

/// One stored object of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EntryJson", into = "EntryJson")]
pub(crate) struct Entry {
    /// Digest of the plain bytes.
    pub digest: Digest,
    /// Length in bytes.
    pub size: u64,
    pub codec: Codec,
    /// Digest of the stored bytes.
    pub stored: Digest,
    /// Length in bytes.
    pub stored_size: u64,
}

/// JSON form of an entry, as used in a manifest.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryJson {
    digest: String,
    size: u64,
    codec: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stored: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stored_size: Option<u64>,
}

impl From<Entry> for EntryJson {
    fn from(entry: Entry) -> Self {
        let differs = entry.codec != Codec::Plain;
        Self {
            digest: entry.digest.to_string(),
            size: entry.size,
            codec: entry.codec.as_str().to_owned(),
            stored: differs.then(|| entry.stored.to_string()),
            stored_size: differs.then_some(entry.stored_size),
        }
    }
}

impl TryFrom<EntryJson> for Entry {
    type Error = Error;

    fn try_from(written: EntryJson) -> Result<Self> {
        let digest: Digest = written.digest.parse()?;
        let codec = Codec::from_str(&written.codec)
            .ok_or_else(|| Error::invalid(format!("\"{}\" is not a known encoding of stored bytes", written.codec)))?;
        if codec == Codec::Plain {
            return Ok(Self::plain(digest, written.size));
        }
        let (Some(stored), Some(stored_size)) = (written.stored, written.stored_size) else {
            return Err(Error::invalid("an entry lacks the digest under which its bytes are stored"));
        };
        Ok(Self { digest, size: written.size, codec, stored: stored.parse()?, stored_size })
    }
}

impl Entry {
    /// Creates an entry for bytes that are stored unchanged.
    pub fn plain(digest: Digest, size: u64) -> Self {
        Self { digest, size, codec: Codec::Plain, stored: digest, stored_size: size }
    }
}

/// Serialises a part.
pub(crate) fn write_part(entries: &[Entry]) -> Bytes {
    let mut out = Vec::with_capacity(16 + entries.len() * 81);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(entries.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for entry in entries {
        out.extend_from_slice(entry.digest.as_bytes());
        out.push(entry.codec.number());
        out.extend_from_slice(&entry.size.to_le_bytes());
        if entry.codec != Codec::Plain {
            out.extend_from_slice(entry.stored.as_bytes());
            out.extend_from_slice(&entry.stored_size.to_le_bytes());
        }
    }
    Bytes::from(out)
}

/// Parses a part.
pub(crate) fn read_part(bytes: &[u8]) -> Result<Vec<Entry>> {
    let mut rest = Cursor(bytes);
    let count = match (rest.take(8)? == MAGIC, rest.number::<4>()?, rest.take(4)?) {
        (true, count, _) if count <= PART as u64 => count,
        _ => return Err(damaged()),
    };
    let mut entries = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let digest = Digest::from_slice(rest.take(32)?)?;
        let codec = rest.take(1)?.first().copied().and_then(Codec::from_number).ok_or_else(damaged)?;
        let size = rest.number::<8>()?;
        entries.push(match codec {
            Codec::Plain => Entry::plain(digest, size),
            _ => {
                let stored = Digest::from_slice(rest.take(32)?)?;
                Entry { digest, size, codec, stored, stored_size: rest.number::<8>()? }
            }
        });
    }
    if rest.0.is_empty() { Ok(entries) } else { Err(damaged()) }
}

fn damaged() -> Error {
    Error::corrupt("a list in the backup cannot be read")
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (now, later) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = later;
        Ok(now)
    }

    fn number<const N: usize>(&mut self) -> Result<u64> {
        Ok(self.take(N)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let digest = |byte| Digest::new([byte; 32]);
        vec![
            Entry::plain(digest(1), 5),
            Entry { digest: digest(2), size: 1 << 40, codec: Codec::Zstd, stored: digest(9), stored_size: 77 },
            Entry { digest: digest(3), size: 0, codec: Codec::Sealed, stored: digest(8), stored_size: 69 },
        ]
    }

    #[test]
    fn a_part_is_written_as_it_always_was_and_read_again() {
        let bytes = write_part(&entries());
        assert_eq!(&bytes[..], include_bytes!("../../../tests/golden/backup/parts"));
        assert_eq!(read_part(&bytes).unwrap(), entries());
    }

    #[test]
    fn a_damaged_part_is_refused() {
        let bytes = write_part(&entries());
        for end in 0..bytes.len() {
            assert!(read_part(&bytes[..end]).is_err(), "cut at {end}");
        }
        for (at, value) in [(0, 0), (8, 4), (48, 3)] {
            let mut wrong = bytes.to_vec();
            wrong[at] = value;
            assert!(read_part(&wrong).is_err(), "{value} at {at}");
        }
    }
}
