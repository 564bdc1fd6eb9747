//! The manifest of a backup set: one JSON document, written last. Stored objects that no manifest references do not
//! belong to any set.

use bytes::Bytes;
use model::{Error, Result};
use repository::DataDirectory;
use serde::{Deserialize, Serialize};

use super::index::Entry;
use super::json::pretty;

/// Sets with whole-server copies use the newer format, so that a program that does not know them rejects these sets.
const FORMAT: u32 = 1;
const WITH_CLUSTERS: u32 = 2;

/// Small files of the data directory that belong to the farm: the key of its secrets, and its settings.
pub(crate) const FILES: [&str; 2] = [DataDirectory::KEY_FILE, DataDirectory::SETTINGS_FILE];
/// Maximum length of such a file in bytes.
pub(crate) const MAX_FILE: u64 = 16 << 20;

/// Manifest of a finished set. Times are microseconds since 1970-01-01 UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub format: u32,
    /// Identifier of the set, also used in the farm's own list of backups.
    pub id: String,
    pub farm: String,
    /// Version of the program that made the set.
    pub program: String,
    /// Start of the backup. Every change that was acknowledged before is in the set.
    pub started: i64,
    pub finished: i64,
    /// Set when the backup holds no BLOBs. It can then be restored only where the farm's BLOB stores are available.
    pub needs_stores: bool,
    pub configuration: DatabasePart,
    pub databases: Vec<DatabasePart>,
    /// Copies of whole PostgreSQL servers, by host and port (format 2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<DatabasePart>,
    pub stores: Vec<StorePart>,
    /// Small files of the data directory that belong to the farm.
    pub files: Vec<FilePart>,
    pub blobs: BlobsPart,
    /// Bytes that a restore of the set brings back.
    pub bytes: u64,
    /// Bytes that the set added to the backup location.
    pub new_bytes: u64,
}

/// A database in a set, or a whole-server copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DatabasePart {
    /// Identifier; 0 for the configuration database.
    pub id: String,
    pub name: String,
    /// Location of the database, without a password.
    pub location: String,
    /// Backup method: `sqlite-file`, `pg-dump-custom` or `pg-cluster` for a database, `pg-basebackup-tar` for a server.
    pub method: String,
    /// The server copy that contains the database (format 2). The database then has no bytes of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    pub bytes: u64,
    /// BLAKE3 digest of the whole content.
    pub digest: String,
    /// Lists of the chunks of the content, in order.
    pub chunks: Vec<Entry>,
    /// Chunk length in bytes, when all chunks but the last have the same length.
    pub chunk_bytes: Option<u64>,
}

/// A BLOB store of the farm at the time of the backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StorePart {
    pub id: String,
    pub name: String,
    pub kind: String,
    pub location: String,
}

/// A small file of the data directory.
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
    /// Lists of the BLOBs. Across all lists, digests are in ascending order.
    pub index: Vec<Entry>,
    /// Digests of BLOBs whose loss had been accepted when the set was made.
    pub lost: Vec<String>,
}

/// Backup methods for databases.
pub(crate) mod method {
    /// Copy of a SQLite database file.
    pub const SQLITE: &str = "sqlite-file";
    /// `pg_dump --format=custom --compress=0`.
    pub const DUMP: &str = "pg-dump-custom";
    /// The database is contained in a server copy.
    pub const IN_CLUSTER: &str = "pg-cluster";
    /// Copy of a whole server: `pg_basebackup --format=tar --wal-method=fetch`.
    pub const CLUSTER: &str = "pg-basebackup-tar";
}

impl Manifest {
    /// Returns the manifest format for a set with these server copies.
    pub fn format_with(clusters: &[DatabasePart]) -> u32 {
        if clusters.is_empty() { FORMAT } else { WITH_CLUSTERS }
    }

    pub fn write(&self) -> Result<Bytes> {
        pretty(self).map(Bytes::from)
    }

    pub fn read(bytes: &[u8]) -> Result<Self> {
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(unreadable)?;
        match value["format"].as_u64() {
            Some(format) if (u64::from(FORMAT)..=u64::from(WITH_CLUSTERS)).contains(&format) => {
                serde_json::from_value(value).map_err(unreadable)
            }
            Some(format) => Err(Error::invalid(format!(
                "it has format {format}, but this program knows formats {FORMAT} and {WITH_CLUSTERS}: use the version \
                 that made it"
            ))),
            None => Err(Error::corrupt("its format number is missing")),
        }
    }

    /// Returns all lists of the set: database chunks, then BLOBs.
    pub fn lists(&self) -> impl Iterator<Item = &[Entry]> {
        self.parts().map(|part| &part.chunks[..]).chain(std::iter::once(&self.blobs.index[..]))
    }

    /// Returns everything that is stored in chunks: the configuration database, the content databases and the server
    /// copies.
    pub fn parts(&self) -> impl Iterator<Item = &DatabasePart> {
        std::iter::once(&self.configuration).chain(&self.databases).chain(&self.clusters)
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
        let golden = include_bytes!("../../../tests/golden/backup/set.json");
        let manifest = Manifest::read(golden).unwrap();
        assert_eq!((manifest.databases.len(), manifest.blobs.count), (1, 2));
        assert_eq!(&manifest.write().unwrap()[..], golden);
        let with_cluster = include_bytes!("../../../tests/golden/backup/set-cluster.json");
        let manifest = Manifest::read(with_cluster).unwrap();
        assert_eq!((manifest.clusters.len(), manifest.databases[0].cluster.as_deref()), (1, Some("db:5432")));
        assert_eq!(manifest.lists().map(<[Entry]>::len).collect::<Vec<_>>(), [0, 0, 1, 1]);
        assert_eq!(&manifest.write().unwrap()[..], with_cluster);
        let newer = String::from_utf8(golden.to_vec()).unwrap().replacen("\"format\": 1", "\"format\": 9", 1);
        assert!(Manifest::read(newer.as_bytes()).unwrap_err().message().contains("format 9"));
    }
}
