//! A set opened for reading items: the content database that holds a path, and the bytes of its versions from the
//! nearest source.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use ::blobs::{BlobReader, BlobStore};
use async_recursion::async_recursion as boxed;
use bytes::{Bytes, BytesMut};
use database::configuration::site_collection::{self, SiteCollectionRow};
use database::content::node::{self, NodeRow};
use database::content::version::VersionRow;
use database::{Database, Location, Options, Reader, Schema};
use model::{Code, Digest, Error, ErrorKind, Id, NodePath, Result, Timestamp};
use repository::{DATABASE_STORE, Session, Storage, StorageDatabase};

use crate::Progress;
use crate::backup::TemporaryDirectory;
use crate::backup::format::index::Entry;
use crate::backup::format::list::List;
use crate::backup::format::manifest::{DatabasePart, Manifest, method};
use crate::backup::format::vault::{BackupObjects, Opened};
use crate::backup::place::destination::Destination;
use crate::restore::assemble;
use crate::restore::blobs::lost;
use crate::restore::cluster::require_standalone;
use crate::restore::set::choose;

use super::options::ItemsOptions;

/// A set opened at one site collection.
pub(super) struct Source<'a> {
    pub set: Id,
    pub started: Timestamp,
    /// The site collection in the set, and the name of its content database.
    pub collection: SiteCollectionRow,
    pub database_name: String,
    pub database: Database,
    /// Notes about the databases, for the user.
    pub notes: Vec<String>,
    own: BlobStore,
    storage: Storage,
    live: Option<StorageDatabase>,
    vault: &'a BackupObjects,
    index: Vec<Entry>,
    lost: BTreeSet<Digest>,
}

/// Reader of a version's bytes.
pub(super) enum Content {
    Store(BlobReader),
    Backup(Box<Opened>),
}

impl<'a> Source<'a> {
    /// Opens the content database that held the path.
    #[boxed]
    pub async fn open(
        session: &Session,
        storage: Storage,
        destination: &'a Destination,
        scratch: &TemporaryDirectory,
        options: &ItemsOptions,
        progress: &Progress,
    ) -> Result<Source<'a>> {
        let (set, manifest) = choose(destination, options.set).await?;
        if manifest.farm != storage.farm_id().to_string() {
            return Err(Error::conflict(
                "these are the backups of another farm, which has different users, groups and roles",
            ));
        }
        let (vault, folder) = (&destination.vault, scratch.path());
        let (configuration, of_configuration) =
            bring(vault, &manifest.configuration, Schema::Configuration, folder, options, progress).await?;
        let collections = configuration.read_long(|reader: &mut Reader<'_>| site_collection::list(reader)).await;
        configuration.close().await;
        let collection = holder(collections?, &options.path)
            .ok_or_else(|| Error::not_found(format!("this backup has nothing at \"{}\"", options.path)))?;
        let part = part_of(&manifest, collection.database_id)?;
        let (database, of_database) = bring(vault, part, Schema::Content, folder, options, progress).await?;
        let notes = of_configuration.into_iter().chain(of_database).collect();
        let live = storage.databases()?.into_iter().find(|live| live.id == collection.database_id);
        let (started, index) = (Timestamp::from_micros(manifest.started), manifest.blobs.index.clone());
        let lost = lost(&manifest);
        let (own, database_name) = (session.store_within(&database)?, part.name.clone());
        let set = set.id;
        Ok(Self { set, started, collection, database_name, database, notes, own, storage, live, vault, index, lost })
    }

    #[boxed]
    pub async fn close(&self) {
        self.database.close().await;
    }

    /// Returns the item at a path.
    #[expect(clippy::disallowed_methods, reason = "the restore of a backup reads all of it")]
    #[boxed]
    pub async fn find(&self, path: &NodePath) -> Result<NodeRow> {
        let address = self.collection.folded.split('/').filter(|name| !name.is_empty()).count();
        let names: Vec<String> = path.names().iter().skip(address).map(model::Name::folded).collect();
        let top = self.collection.id;
        let find = move |reader: &mut Reader<'_>| {
            let mut found = node::find(reader, top)?;
            for name in &names {
                let Some(row) = found else { break };
                found = node::find_child(reader, row.id, name)?;
            }
            Ok(found)
        };
        let found = self.database.read_long(find).await?;
        found.ok_or_else(|| Error::not_found(format!("this backup has nothing at \"{path}\"")))
    }

    /// Returns the entries of these digests in the set. BLOBs stored inside the database have none.
    #[boxed]
    pub async fn entries(&self, mut digests: Vec<Digest>) -> Result<HashMap<Digest, Entry>> {
        digests.sort_unstable();
        digests.dedup();
        let mut list = List::new(self.index.clone());
        let mut entries = HashMap::with_capacity(digests.len());
        for digest in digests {
            if let Some(entry) = list.seek(self.vault, &digest).await? {
                entries.insert(digest, entry);
            }
        }
        Ok(entries)
    }

    /// Returns whether an error means that bytes are missing or damaged whose loss had been accepted when the set was
    /// made.
    pub fn is_lost(&self, error: &Error, digest: &Digest) -> bool {
        matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) && self.lost.contains(digest)
    }

    /// Opens the bytes of a version: from the set's database, from the backup, or from the farm's store if only that
    /// still has them.
    #[boxed]
    pub async fn content(&self, version: &VersionRow, entries: &HashMap<Digest, Entry>) -> Result<Content> {
        let size = version.size.max(0) as u64;
        if version.store_id == DATABASE_STORE {
            return self.own.open(version.digest, size, None).await.map(Content::Store);
        }
        // The caller has already reused bytes that the farm has intact.
        let opened = match entries.get(&version.digest) {
            Some(entry) => self.vault.open(entry).await.map(|opened| Content::Backup(Box::new(opened))),
            None => Err(Error::corrupt(format!(
                "neither the farm nor this backup has the bytes of version {}",
                version.number
            ))),
        };
        if opened.is_err()
            && let Some(live) = &self.live
            && let Ok(store) = self.storage.store(version.store_id, live)
            && let Ok(reader) = store.open(version.digest, size, None).await
        {
            return Ok(Content::Store(reader));
        }
        opened
    }
}

impl Content {
    /// Returns the next bytes, or none at the end.
    #[boxed]
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        match self {
            Self::Store(reader) => reader.next_chunk().await,
            Self::Backup(opened) => opened.next().await,
        }
    }

    /// Reads all bytes.
    #[boxed]
    pub async fn all(mut self) -> Result<Bytes> {
        let mut bytes = BytesMut::new();
        while let Some(piece) = self.next().await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes.freeze())
    }
}

/// Returns the site collection with the longest address that is a prefix of the path.
fn holder(collections: Vec<SiteCollectionRow>, path: &NodePath) -> Option<SiteCollectionRow> {
    let folded: Vec<String> = path.names().iter().map(model::Name::folded).collect();
    let fits = |row: &SiteCollectionRow| {
        let address: Vec<&str> = row.folded.split('/').filter(|name| !name.is_empty()).collect();
        address.len() <= folded.len() && address.iter().zip(&folded).all(|(one, other)| *one == other)
    };
    collections.into_iter().filter(fits).max_by_key(|row| row.folded.len())
}

fn part_of(manifest: &Manifest, id: Id) -> Result<&DatabasePart> {
    let found = manifest.databases.iter().find(|part| part.id == id.to_string());
    found.ok_or_else(|| Error::corrupt(format!("this backup does not have the content database {id}")))
}

async fn bring(
    vault: &BackupObjects,
    part: &DatabasePart,
    schema: Schema,
    scratch: &Path,
    options: &ItemsOptions,
    progress: &Progress,
) -> Result<(Database, Option<String>)> {
    require_standalone(part)?;
    let mut note = None;
    let location = if part.method == method::SQLITE {
        let path = scratch.join(format!("{}.sqlite", part.id));
        note = assemble::file(vault, part, &path, options.rebuild_checksums, progress).await?;
        Location::Sqlite(path)
    } else {
        let url = options.database_urls.get(&part.name).ok_or_else(|| {
            Error::invalid(format!(
                "\"{}\" is a PostgreSQL database: name a new, empty database into which it can be loaded with \
                 --database-url {}=postgres://USER:PASSWORD@HOST/DATABASE",
                part.name, part.name
            ))
            .with_code(Code::DatabaseUrlNeeded)
        })?;
        let location = Location::parse(url)?;
        assemble::load(vault, part, &location, true, progress).await?;
        location
    };
    Ok((Database::open(&location, schema, &Options::default()).await?, note))
}
