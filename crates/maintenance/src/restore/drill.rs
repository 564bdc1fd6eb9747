//! A restore drill: a set is restored into a scratch place, and every version of every document is read there and compared.

use std::path::Path;
use std::sync::Arc;

use database::Reader;
use database::content::census;
use model::{Error, Id, Result};
use repository::Repository;
use tokio::task::JoinSet;

use super::{RestoreOptions, restore_farm};
use crate::Progress;

const PAGE: usize = 2_000;
const AT_ONCE: usize = 16;

/// What a drill found.
#[derive(Clone, Debug, Default)]
pub struct Drilled {
    /// The set.
    pub set: Option<Id>,
    /// Versions of documents that were read and have the bytes that they must have.
    pub versions: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Restores a set below `scratch`, compares, and removes it again.
///
/// # Errors
/// Those of [`restore_farm`]; `Corrupt` when a version is not what it was.
pub async fn drill(mut options: RestoreOptions, scratch: &Path, progress: Arc<Progress>) -> Result<Drilled> {
    options.directory = scratch.join("strongroom-drill");
    if options.directory.exists() {
        return Err(Error::conflict(format!("{} is there already: remove it first", options.directory.display())));
    }
    options.use_stores = false;
    let outcome = compare(&options, progress).await;
    // What cannot be removed is left to whoever named the place; the outcome matters more.
    if let Err(error) = std::fs::remove_dir_all(&options.directory) {
        tracing::warn!(place = %options.directory.display(), %error, "the scratch place of a drill could not be removed");
    }
    outcome
}

async fn compare(options: &RestoreOptions, progress: Arc<Progress>) -> Result<Drilled> {
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
    let read = read_all(&repository, &mut drilled).await;
    repository.close().await;
    read.map(|()| drilled)
}

async fn read_all(repository: &Repository, drilled: &mut Drilled) -> Result<()> {
    let storage = repository.as_caller(repository.farm_administrator().await?).storage().await?;
    for database in storage.databases()? {
        let mut after = Id::NONE;
        loop {
            let page = database
                .database
                .read_long(move |reader: &mut Reader<'_>| census::versions(reader, after, PAGE))
                .await?;
            let Some(last) = page.last() else { break };
            after = last.version_id;
            let mut running: JoinSet<Result<u64>> = JoinSet::new();
            for version in page {
                while running.len() >= AT_ONCE {
                    count(&mut running, drilled).await?;
                }
                let store = storage.store(version.store_id, &database)?;
                running.spawn(async move {
                    let size = version.size.max(0) as u64;
                    let mut reader = store.open(version.digest, size, None).await?;
                    let mut hasher = ::blobs::BlobHasher::new();
                    while let Some(piece) = reader.next_chunk().await? {
                        hasher.update(&piece);
                    }
                    if hasher.finish() == version.digest {
                        return Ok(size);
                    }
                    Err(Error::corrupt(format!(
                        "version {} of document {} was not restored as it was",
                        version.version_id, version.node_id
                    )))
                });
            }
            while !running.is_empty() {
                count(&mut running, drilled).await?;
            }
        }
    }
    Ok(())
}

async fn count(running: &mut JoinSet<Result<u64>>, drilled: &mut Drilled) -> Result<()> {
    if let Some(read) = running.join_next().await {
        drilled.bytes += read.map_err(|e| Error::unavailable("a drill was interrupted").with_source(e))??;
        drilled.versions += 1;
    }
    Ok(())
}
