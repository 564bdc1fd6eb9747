//! Snapshots of a farm's databases: all content databases as of about the same moment, the configuration database last.

use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use blobs::digest_of;
use bytes::Bytes;
use database::configuration::farm::{self, ContentDatabaseRow, StoreRow};
use database::{Database, Dump, Engine, Location, OpenSnapshot, Options, Schema};
use model::{Code, Error, ErrorKind, Result};
use repository::{Storage, StorageDatabase};

use crate::Progress;
use crate::backup::format::index::Entry;
use crate::backup::format::manifest::{DatabasePart, FILES, FilePart, MAX_FILE, Manifest, method};
use crate::backup::format::vault::BackupObjects;
use crate::backup::place::TemporaryDirectory;
use crate::backup::place::small_files::{blocking, failed};

use super::census::{State, Taken};
use super::chunks::{Chunked, KnownChunks, store_dump, store_file};
use super::clusters::Clusters;

/// A snapshot of a database, still to be stored.
enum Snapshot {
    File(PathBuf),
    Held(OpenSnapshot),
    /// The database is contained in the copy of this server.
    InCluster(String),
}

impl Snapshot {
    fn cluster(&self) -> Option<String> {
        match self {
            Self::InCluster(server) => Some(server.clone()),
            Self::File(_) | Self::Held(_) => None,
        }
    }
}

/// Snapshots of all databases of a farm.
pub(crate) struct Snapshots {
    configuration: Snapshot,
    content: Vec<(StorageDatabase, Snapshot)>,
    /// Content databases and stores that are listed in the snapshot of the configuration database.
    pub known: (Vec<ContentDatabaseRow>, Vec<StoreRow>),
}

impl Snapshots {
    /// Takes snapshots of all databases. The configuration database comes last, so that it knows every account, store
    /// and role that the content refers to. A content database that it lists and that has no snapshot yet is taken
    /// afterwards. With `clusters`, PostgreSQL databases are copied with their whole servers. `location` is that of the
    /// configuration database.
    #[boxed]
    pub async fn take(
        storage: &Storage,
        scratch: &TemporaryDirectory,
        location: &Location,
        clusters: Option<&mut Clusters<'_>>,
    ) -> Result<Self> {
        let whole = clusters.is_some();
        let take = |database: Database, location: Location, id: String, name: Option<String>| async move {
            match location.server().filter(|_| whole) {
                Some(server) => Ok(Snapshot::InCluster(server)),
                None => {
                    let taken = take(&database, &scratch.path().join(format!("{id}.sqlite"))).await;
                    taken.map_err(|error| name_source_error(name.as_deref(), &location, error))
                }
            }
        };
        let mut content = Vec::new();
        for database in storage.all_databases()? {
            let (connection, location) = (database.database.clone(), database.location.clone());
            let taken = take(connection, location, database.id.to_string(), Some(database.name.clone())).await?;
            content.push((database, taken));
        }
        if let Some(clusters) = clusters {
            let content: Vec<StorageDatabase> = content.iter().map(|(database, _)| database.clone()).collect();
            clusters.take(&content, (storage.configuration(), location)).await?;
        }
        let configuration =
            take(storage.configuration().clone(), location.clone(), "configuration".to_owned(), None).await?;
        let known = |reader: &mut database::Reader<'_>| Ok((farm::databases(reader)?, farm::stores(reader)?));
        let known = match &configuration {
            Snapshot::Held(held) => held.read(known).await?,
            Snapshot::InCluster(_) => storage.configuration().read_long(known).await?,
            Snapshot::File(path) => {
                let read = async {
                    let database = open_copy(path, Schema::Configuration).await?;
                    let known = database.read_long(known).await;
                    database.close().await;
                    known
                };
                match read.await {
                    Err(error) => return Err(attribute_copy_error(path, None, location, error).await),
                    read => read?,
                }
            }
        };
        for database in storage.refreshed().await?.all_databases()? {
            let is_known = known.0.iter().any(|row| row.id == database.id);
            if is_known && content.iter().all(|(taken, _)| taken.id != database.id) {
                let (connection, location) = (database.database.clone(), database.location.clone());
                let taken = take(connection, location, database.id.to_string(), Some(database.name.clone())).await?;
                if matches!(taken, Snapshot::InCluster(_)) {
                    return Err(Error::conflict(format!(
                        "the content database \"{}\" was added while servers were copied: take another backup",
                        database.name
                    )));
                }
                content.push((database, taken));
            }
        }
        content.retain(|(database, _)| known.0.iter().any(|row| row.id == database.id));
        Ok(Self { configuration, content, known })
    }

    /// Returns the bytes of the snapshots, as far as known before they are stored.
    pub fn bytes(&self) -> u64 {
        let files = self.content.iter().map(|(_, taken)| taken).chain([&self.configuration]);
        let length = |taken: &Snapshot| match taken {
            Snapshot::File(path) => std::fs::metadata(path).map_or(0, |data| data.len()),
            Snapshot::Held(_) | Snapshot::InCluster(_) => 0,
        };
        files.map(length).sum()
    }

    /// Stores all snapshots. `location` is that of the configuration database. Returns the manifest part of the
    /// configuration database, the parts of the content databases with their states for the census, and the number of
    /// bytes added.
    #[boxed]
    pub async fn store(
        self,
        storage: &Storage,
        vault: &BackupObjects,
        earlier: Option<&Manifest>,
        location: &Location,
        progress: &Progress,
    ) -> Result<(DatabasePart, Vec<(DatabasePart, Taken)>, u64)> {
        let mut new_bytes = 0;
        let mut content = Vec::new();
        for (database, taken) in self.content {
            let id = database.id.to_string();
            let before = earlier.and_then(|set| set.databases.iter().find(|part| part.id == id));
            let before = KnownChunks::of(vault, before).await;
            let (chunked, method) = store(vault, &taken, &database.location, before, progress).await?;
            new_bytes += chunked.new_bytes;
            let cluster = taken.cluster();
            let state = match taken {
                Snapshot::File(path) => match open_copy(&path, Schema::Content).await {
                    Ok(copy) => State::Copy(copy, path),
                    Err(error) => {
                        return Err(attribute_copy_error(&path, Some(&database.name), &database.location, error).await);
                    }
                },
                Snapshot::Held(held) => State::Held(held),
                Snapshot::InCluster(_) => State::Live(database.database.clone()),
            };
            let place = stored_location(&storage.directory(), &database.location);
            let part = DatabasePart { cluster, ..part(id, &database.name, place, method, chunked) };
            content.push((part, Taken { database, state }));
        }
        let before = KnownChunks::of(vault, earlier.map(|set| &set.configuration)).await;
        let (chunked, method) = store(vault, &self.configuration, location, before, progress).await?;
        new_bytes += chunked.new_bytes;
        let place = stored_location(&storage.directory(), location);
        let cluster = self.configuration.cluster();
        let part = DatabasePart { cluster, ..part("0".to_owned(), "configuration", place, method, chunked) };
        Ok((part, content, new_bytes))
    }
}

/// Converts an error in reading the copy at `path` of the content database `name`, or of the configuration database. If
/// the copy is intact, the error is attributed to the database, otherwise to the disk that holds the copy.
pub(crate) async fn attribute_copy_error(path: &Path, name: Option<&str>, location: &Location, error: Error) -> Error {
    if error.kind() != ErrorKind::Corrupt && error.code() != Code::DatabaseUnreadable {
        return error;
    }
    let place = path.to_owned();
    let compared = blocking(move || Database::require_intact_pages(&place)).await;
    if compared.is_ok() && error.kind() == ErrorKind::Corrupt {
        return name_source_error(name, location, error);
    }
    let text = format!(
        "the copy of a database in {} does not match what was written: check that disk; the database itself is not \
         affected",
        path.display()
    );
    Error::unavailable(text).with_code(Code::CopyFailed).with_source(error)
}

/// Converts an error about a damaged database into one that names the database: the content database `name`, or the
/// configuration database. Other errors are returned unchanged.
pub(crate) fn name_source_error(name: Option<&str>, location: &Location, error: Error) -> Error {
    let why = match (error.kind(), error.code()) {
        (ErrorKind::Corrupt, _) => "it is damaged",
        (_, Code::DatabaseUnreadable) => "its disk cannot be read completely",
        _ => return error,
    };
    let text = match name {
        Some(name) => format!(
            "the content database \"{name}\" ({location}) cannot be backed up: {why}. Check its disk; \
             `strongroom restore BACKUP --content-database {name}` restores an earlier state"
        ),
        None => format!("the configuration database ({location}) cannot be backed up: {why}. Check its disk"),
    };
    Error::new(error.kind(), text).with_code(error.code())
}

async fn take(database: &Database, copy: &Path) -> Result<Snapshot> {
    match database.engine() {
        Engine::Sqlite => database.snapshot_to(copy).await.map(|()| Snapshot::File(copy.to_owned())),
        Engine::Postgres => database.hold().await.map(Snapshot::Held),
    }
}

async fn store(
    vault: &BackupObjects,
    taken: &Snapshot,
    location: &Location,
    earlier: KnownChunks,
    progress: &Progress,
) -> Result<(Chunked, &'static str)> {
    match taken {
        Snapshot::File(path) => {
            store_file(vault, path.clone(), earlier, progress).await.map(|chunked| (chunked, method::SQLITE))
        }
        Snapshot::Held(held) => {
            let dump = Dump::begin(location, held)?;
            store_dump(vault, dump, earlier, progress).await.map(|chunked| (chunked, method::DUMP))
        }
        Snapshot::InCluster(_) => Ok((Chunked::empty(), method::IN_CLUSTER)),
    }
}

/// Opens a copy for reading. Its schema is current, because the copied database was open.
async fn open_copy(path: &Path, schema: Schema) -> Result<Database> {
    let options = Options { readers: 4, ..Options::default() };
    Database::open(&Location::Sqlite(path.to_owned()), schema, &options).await
}

fn part(id: String, name: &str, location: String, method: &str, chunked: Chunked) -> DatabasePart {
    DatabasePart {
        id,
        name: name.to_owned(),
        location,
        method: method.to_owned(),
        cluster: None,
        bytes: chunked.bytes,
        digest: chunked.digest.to_string(),
        chunks: chunked.lists,
        chunk_bytes: chunked.chunk_bytes,
    }
}

/// Returns the location of a database without a password. A path below the data directory is relative to it.
fn stored_location(directory: &Path, location: &Location) -> String {
    match location {
        Location::Sqlite(path) => path.strip_prefix(directory).unwrap_or(path).display().to_string(),
        Location::Postgres(_) => location.to_string(),
    }
}

/// Stores those small files of the data directory that exist.
pub(crate) async fn store_files(vault: &BackupObjects, directory: &Path) -> Result<(Vec<FilePart>, u64)> {
    let (mut parts, mut added) = (Vec::new(), 0);
    for name in FILES {
        let path = directory.join(name);
        let read = blocking(move || match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(|e| failed("read", &path, e)),
        });
        let Some(bytes) = read.await? else { continue };
        if bytes.len() as u64 > MAX_FILE {
            return Err(Error::invalid(format!(
                "{name} in the data directory is larger than {MAX_FILE} bytes, so it cannot be the expected file"
            )));
        }
        let bytes = Bytes::from(bytes);
        let (entry, new_bytes): (Entry, u64) = vault.put(digest_of(&bytes), bytes).await?;
        added += new_bytes;
        parts.push(FilePart { name: name.to_owned(), entry });
    }
    Ok((parts, added))
}
