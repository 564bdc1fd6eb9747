//! What a set says about itself: one JSON document, written last. What no manifest names does not exist.

use bytes::Bytes;
use model::{Error, Result};
use serde::{Deserialize, Serialize};

use super::destination::pretty;
use super::index::Entry;

const FORMAT: u32 = 1;

/// A finished set. Times are microseconds since 1970-01-01 UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub format: u32,
    /// Identifier of the set, also in the farm's own list of backups.
    pub id: String,
    pub farm: String,
    /// The version of the program that made it.
    pub program: String,
    /// Everything that was acknowledged before this is in the set.
    pub started: i64,
    pub finished: i64,
    /// Whether it holds no BLOBs, so that it can only be restored beside the farm's stores.
    pub needs_stores: bool,
    pub configuration: DatabasePart,
    pub databases: Vec<DatabasePart>,
    pub stores: Vec<StorePart>,
    /// Small files of the data directory that belong to the farm.
    pub files: Vec<FilePart>,
    pub blobs: BlobsPart,
    /// Bytes of everything that it brings back.
    pub bytes: u64,
    /// Bytes that it added to the place.
    pub new_bytes: u64,
}

/// A database in a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DatabasePart {
    /// Identifier; 0 for the configuration database.
    pub id: String,
    pub name: String,
    /// Where it was, without a password.
    pub location: String,
    /// How it was taken: `sqlite-file` or `pg-dump-custom`.
    pub method: String,
    pub bytes: u64,
    /// BLAKE3 of all bytes.
    pub digest: String,
    /// Lists of the chunks that it consists of, in order.
    pub chunks: Vec<Entry>,
    /// Bytes of one chunk, where all but the last have the same length.
    pub chunk_bytes: Option<u64>,
}

/// A BLOB store that the farm had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StorePart {
    pub id: String,
    pub name: String,
    pub kind: String,
    pub location: String,
}

/// A small file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilePart {
    pub name: String,
    pub entry: Entry,
}

/// The BLOBs of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlobsPart {
    pub count: u64,
    pub bytes: u64,
    /// Lists of them, all together in rising order of digests.
    pub index: Vec<Entry>,
    /// Digests whose loss was on record when the set was made.
    pub lost: Vec<String>,
}

/// How databases are taken.
pub(crate) mod method {
    /// The file of a SQLite database.
    pub const SQLITE: &str = "sqlite-file";
    /// `pg_dump --format=custom --compress=0`.
    pub const DUMP: &str = "pg-dump-custom";
}

impl Manifest {
    pub const FORMAT: u32 = FORMAT;

    pub fn write(&self) -> Result<Bytes> {
        pretty(self).map(Bytes::from)
    }

    pub fn read(bytes: &[u8]) -> Result<Self> {
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(unreadable)?;
        match value["format"].as_u64() {
            Some(format) if format == u64::from(FORMAT) => serde_json::from_value(value).map_err(unreadable),
            Some(format) => Err(Error::invalid(format!(
                "it has format {format}, this program knows format {FORMAT}: use the version that made it"
            ))),
            None => Err(Error::corrupt("it does not say its format")),
        }
    }

    /// All lists of chunks and BLOBs that the set consists of.
    pub fn lists(&self) -> impl Iterator<Item = &[Entry]> {
        let databases = std::iter::once(&self.configuration).chain(&self.databases);
        databases.map(|database| &database.chunks[..]).chain(std::iter::once(&self.blobs.index[..]))
    }
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::corrupt(format!("its description cannot be read: {error}")).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_for_ever() {
        let golden = include_bytes!("../../tests/golden/backup/set.json");
        let manifest = Manifest::read(golden).unwrap();
        assert_eq!((manifest.databases.len(), manifest.blobs.count), (1, 2));
        assert_eq!(&manifest.write().unwrap()[..], golden);
        let newer = String::from_utf8(golden.to_vec()).unwrap().replacen("\"format\": 1", "\"format\": 9", 1);
        assert!(Manifest::read(newer.as_bytes()).unwrap_err().message().contains("format 9"));
    }
}
