//! Restore drill: a set is restored into a temporary directory, and every version of every document is read there and
//! verified.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use ::blobs::{BlobHasher, BlobStore};
use database::content::census::{self, VersionBlob};
use database::{CopiedServer, Reader};
use futures_util::future::BoxFuture;
use model::{Code, Error, Id, Result};
use repository::{DATABASE_STORE, Repository, Storage};
use tokio::task::JoinSet;

use crate::Progress;
use crate::backup::TemporaryDirectory;
use crate::backup::place::destination::{Destination, Use};
use crate::backup::place::small_files::{blocking, failed};
use crate::documents::Addresses;

use super::cluster::{ClusterOptions, restore_clusters};
use super::drill_stores::{ExternalFindings, StoreSearch, is_lost};
use super::farm::restore_farm;
use super::options::RestoreOptions;
use super::set::choose;

/// Name prefix of the temporary directories of drills.
const NAME: &str = "strongroom-drill-";
const PAGE: usize = 2_000;
const AT_ONCE: usize = 16;

/// Result of a drill.
#[derive(Clone, Debug, Default)]
pub struct Drilled {
    /// Set that was used.
    pub set: Option<Id>,
    /// Number of document versions that were read and whose digest matched.
    pub versions: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of versions without bytes whose loss was accepted before the backup was taken.
    pub lost: u64,
    /// For a set without BLOBs: the findings for versions whose bytes are in the farm's stores.
    pub outside: Option<ExternalFindings>,
}

/// Restores a set below `scratch`, verifies it, and removes it again. Whole-server copies of PostgreSQL are started
/// there, each accessible only to this process. The BLOBs of a set without BLOBs are looked for in the farm's stores;
/// if that is impossible, the reason is reported.
///
/// # Errors
/// Those of [`restore_farm`]; `Corrupt` when a version differs from its digest; `Unavailable` when the version of
/// PostgreSQL that a copied server needs is not installed.
pub fn drill<'a>(
    mut options: RestoreOptions,
    scratch: &'a Path,
    farm: std::result::Result<&'a Storage, String>,
    progress: Arc<Progress>,
) -> BoxFuture<'a, Result<Drilled>> {
    Box::pin(async move {
        let destination = Destination::open(&options.source, options.key_file.as_deref(), Use::Read).await?;
        let chosen = choose(&destination, options.set).await;
        destination.close().await;
        let (set, manifest) = chosen?;
        let outside = manifest.needs_stores.then(|| StoreSearch::new(farm, &manifest.farm));
        let place = TemporaryDirectory::new_shared(scratch.to_owned(), NAME).await?;
        (options.directory, options.is_scratch) = (place.path().join("farm"), true);
        let servers = place.path().join("servers");
        options.set = Some(set.id);
        options.use_stores = false;
        options.leave_blobs = manifest.needs_stores;
        let running = start_servers(&mut options, &servers, &progress).await?;
        let outcome = compare(&options, outside, progress).await;
        blocking(move || {
            drop(running);
            drop(place);
            Ok(())
        })
        .await?;
        outcome
    })
}

/// Starts the copied servers of the set, if any, and adds the addresses of its databases on them. Addresses given by
/// the user are not replaced.
async fn start_servers(
    options: &mut RestoreOptions,
    place: &Path,
    progress: &Arc<Progress>,
) -> Result<Vec<CopiedServer>> {
    fs::create_dir(place).map_err(|e| failed("create", place, e))?;
    let clusters = ClusterOptions {
        source: options.source.clone(),
        key_file: options.key_file.clone(),
        set: options.set,
        directory: place.join("server"),
    };
    let restored = match restore_clusters(&clusters, Arc::clone(progress)).await {
        Err(error) if error.code() == Code::NoCopiedServers => return Ok(Vec::new()),
        restored => restored?,
    };
    let mut running = Vec::new();
    for cluster in restored.clusters {
        // The user that owns the server's files must be able to traverse these directories.
        let own = place.parent().unwrap_or(place);
        for above in cluster.directory.ancestors().skip(1).take_while(|above| above.starts_with(own)) {
            fs::set_permissions(above, Permissions::from_mode(0o711)).map_err(|e| failed("open", above, e))?;
        }
        let started = blocking(move || {
            let server = CopiedServer::start(&cluster.directory, &cluster.version)?;
            Ok((cluster.server, server))
        });
        running.push(started.await?);
    }
    for database in restored.databases {
        if let Some((_, copy)) = running.iter().find(|(server, _)| *server == database.server) {
            options.database_urls.entry(database.name).or_insert_with(|| copy.address(&database.location));
        }
    }
    Ok(running.into_iter().map(|(_, server)| server).collect())
}

async fn compare(
    options: &RestoreOptions,
    outside: Option<StoreSearch<'_>>,
    progress: Arc<Progress>,
) -> Result<Drilled> {
    let summary = restore_farm(options, progress).await?;
    let configuration = options.database_urls.get("configuration");
    let farm = repository::Options {
        directory: options.directory.clone(),
        configuration: configuration.map(|url| database::Location::parse(url)).transpose()?,
        content: None,
        administrator_password: None,
        create: false,
    };
    let repository = Repository::open_for_command(&farm).await?;
    let mut drilled = Drilled { set: Some(summary.set), ..Drilled::default() };
    let mut outside = outside;
    let read = read_all(&repository, &mut drilled, outside.as_mut()).await;
    repository.close().await;
    drilled.outside = outside.map(StoreSearch::end);
    read.map(|()| drilled)
}

async fn read_all(
    repository: &Repository,
    drilled: &mut Drilled,
    mut outside: Option<&mut StoreSearch<'_>>,
) -> Result<()> {
    let storage = repository.as_caller(repository.farm_administrator().await?).storage().await?;
    let addresses = Arc::new(Addresses::read(storage.configuration()).await?);
    for database in storage.databases()? {
        let mut after = Id::NONE;
        loop {
            let page = database
                .database
                .read_long(move |reader: &mut Reader<'_>| census::versions(reader, after, PAGE))
                .await?;
            let Some(last) = page.last() else { break };
            after = last.version_id;
            let mut running: JoinSet<Result<Option<u64>>> = JoinSet::new();
            for version in page {
                if let Some(outside) = outside.as_deref_mut().filter(|_| version.store_id != DATABASE_STORE) {
                    outside.look(&version, &database, &addresses).await?;
                    continue;
                }
                while running.len() >= AT_ONCE {
                    count(&mut running, drilled).await?;
                }
                let store = storage.store(version.store_id, &database)?;
                let (database, addresses) = (database.clone(), Arc::clone(&addresses));
                running.spawn(async move {
                    match read(&store, &version).await {
                        Err(error) if is_lost(&error, &database, version.digest).await? => Ok(None),
                        Err(error) => {
                            let path = addresses.path(&database.database, version.node_id).await?;
                            let text = format!("a version of {path} was not restored correctly: {}", error.message());
                            Err(Error::new(error.kind(), text).with_source(error))
                        }
                        read => read.map(Some),
                    }
                });
            }
            while !running.is_empty() {
                count(&mut running, drilled).await?;
            }
        }
    }
    Ok(())
}

/// Reads a version and compares its digest. Returns its size in bytes.
async fn read(store: &BlobStore, version: &VersionBlob) -> Result<u64> {
    let size = version.size.max(0) as u64;
    let mut reader = store.open(version.digest, size, None).await?;
    let mut hasher = BlobHasher::new();
    while let Some(piece) = reader.next_chunk().await? {
        hasher.update(&piece);
    }
    if hasher.finish() == version.digest {
        return Ok(size);
    }
    Err(Error::corrupt(format!("the bytes of the BLOB {} do not match its digest", version.digest)))
}

async fn count(running: &mut JoinSet<Result<Option<u64>>>, drilled: &mut Drilled) -> Result<()> {
    if let Some(read) = running.join_next().await {
        match read.map_err(|e| Error::unavailable("a drill was interrupted").with_source(e))?? {
            Some(bytes) => (drilled.versions, drilled.bytes) = (drilled.versions + 1, drilled.bytes + bytes),
            None => drilled.lost += 1,
        }
    }
    Ok(())
}
