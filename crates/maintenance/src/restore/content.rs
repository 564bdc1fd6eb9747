//! Restore of one content database of an existing farm, while no server runs.

use std::sync::Arc;

use database::configuration::{farm, restored, site_collection};
use database::content::restored as content;
use database::{Database, Location, Reader, Schema, Transaction};
use futures_util::future::BoxFuture;
use model::{Error, Id, Result, Timestamp};
use repository::{Repository, Session};

use super::blobs::{BlobRestore, RestoredBlobs, lost};
use super::cluster::require_standalone;
use super::farm::{Work, incomplete, lacking, require_whole_set};
use super::options::{RestoreOptions, RestoreSummary};
use super::place::TargetDirectory;
use super::set::choose;
use super::stores::Store;
use crate::Progress;
use crate::backup::TemporaryDirectory;
use crate::backup::place::destination::{Destination, Use};
use crate::backup::place::small_files::blocking;
use crate::documents::Addresses;

/// Replaces one content database of the farm with its state in a set. BLOBs that are missing in their stores are
/// copied. The existing file is set aside.
///
/// # Errors
/// `Conflict` when a server runs, or when the backups are those of another farm; those of [`super::restore_farm`].
pub fn restore_content_database<'a>(
    session: Session,
    options: &'a RestoreOptions,
    name: &'a str,
    progress: Arc<Progress>,
) -> BoxFuture<'a, Result<RestoreSummary>> {
    Box::pin(async move {
        let repository = session.repository().clone();
        let destination = Destination::open(&options.source, options.key_file.as_deref(), Use::Read).await?;
        let restored = restore(&repository, &session, &destination, options, name, &progress).await;
        destination.close().await;
        restored
    })
}

async fn restore(
    repository: &Repository,
    session: &Session,
    destination: &Destination,
    options: &RestoreOptions,
    name: &str,
    progress: &Arc<Progress>,
) -> Result<RestoreSummary> {
    let storage = session.storage().await?;
    let (set, manifest) = choose(destination, options.set).await?;
    if manifest.farm != storage.farm_id().to_string() {
        return Err(Error::conflict("these are the backups of another farm"));
    }
    let (live, place) = storage.database_place(name)?;
    let part = manifest.databases.iter().find(|part| part.id == live.to_string());
    let part =
        part.ok_or_else(|| Error::not_found(format!("the set {} has no content database \"{name}\"", set.id)))?;
    require_standalone(part)?;
    let ground = TargetDirectory::enter(options, set.id, Some(name)).await?;
    let scratch = TemporaryDirectory::new(options.directory.join("restore-incoming")).await?;
    progress.count(0, part.bytes);
    let work = Work { destination, options, manifest: &manifest, ground: &ground, scratch: &scratch, progress };
    let rows = storage.configuration().read_long(|reader: &mut Reader<'_>| farm::databases(reader)).await?;
    let row = rows.into_iter().find(|row| row.id == live);
    let row = row.ok_or_else(|| Error::not_found(format!("there is no content database \"{name}\"")))?;
    let restored = work.bring(part, Schema::Content, &row.location).await?;
    let stores: Vec<Store> = storage.stores().iter().map(|(row, store)| Store::kept(row, store.clone())).collect();
    let mut notes: Vec<String> = restored.note.iter().cloned().collect();
    notes.extend(work.prepare(&restored.database, &row, &stores).await?);
    let (mut outcome, lost) = (RestoredBlobs::default(), lost(&manifest));
    let addresses = Addresses::read(storage.configuration()).await?;
    let (vault, database) = (&destination.vault, &restored.database);
    let restoring =
        BlobRestore { vault, name, database, stores: &stores, lost: &lost, addresses: &addresses, progress };
    restoring.run(manifest.blobs.index.clone(), &mut outcome).await?;
    if !outcome.missing.is_empty() && !options.accept_missing {
        return Err(incomplete(&outcome.missing));
    }
    let there = restored.database.read_long(content::collections).await?;
    restored.database.close().await;
    let listed = storage.configuration().read_long(|reader: &mut Reader<'_>| site_collection::list(reader)).await?;
    let lacks = lacking(&manifest, listed.iter().filter(|row| row.database_id == live && !there.contains(&row.id)));
    require_whole_set(&lacks, options.accept_missing)?;
    let was_whole = ground.unfinished.begin().await?;
    let updated = update_configuration(&storage, live, there, &restored.location, restored.file.is_none()).await;
    if updated.is_err() && was_whole {
        ground.unfinished.end().await?;
    }
    let gone = updated?;
    notes.extend(
        gone.into_iter().map(|path| format!("the site collection \"/{path}\" was not in this backup and is gone")),
    );
    // The file can be replaced only while no process has it open.
    repository.close().await;
    if let (Some((from, _)), Location::Sqlite(to)) = (restored.file, place) {
        let ground = Arc::clone(&ground);
        blocking(move || {
            Database::make_self_contained(&from)?;
            ground.install(&from, &to)
        })
        .await?;
    }
    ground.unfinished.end().await?;
    Ok(RestoreSummary {
        set: set.id,
        started_at: Timestamp::from_micros(manifest.started),
        databases: 1,
        copied: outcome.copied,
        present: outcome.present,
        missing: outcome.missing.len() as u64,
        lacks,
        lost: outcome.lost,
        notes,
    })
}

/// Removes site collections that the database no longer has from the configuration database, and records the new
/// location of a database that was moved. Returns the removed addresses.
async fn update_configuration(
    storage: &repository::Storage,
    database: Id,
    there: Vec<Id>,
    location: &str,
    moved: bool,
) -> Result<Vec<String>> {
    let (location, actor) = (location.to_owned(), storage.clone());
    let write = move |transaction: &mut Transaction<'_>| {
        let mut lost = Vec::new();
        for row in site_collection::list(transaction)? {
            if row.database_id == database && !there.contains(&row.id) {
                site_collection::delete(transaction, row.id)?;
                lost.push(row.path);
            }
        }
        if moved {
            restored::place_database(transaction, database, &location)?;
        }
        farm::change_directory(transaction)?;
        actor.record(transaction, "database.restore", &database.to_string(), "")?;
        Ok(lost)
    };
    storage.configuration().write(write).await
}
