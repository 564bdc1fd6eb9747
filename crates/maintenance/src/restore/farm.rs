//! Restore of a whole farm: databases into temporary files or into new databases of a server, then BLOBs into the
//! stores that the databases name, then everything to its final location.

use std::path::PathBuf;
use std::sync::Arc;

use ::blobs::Owner;
use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use database::configuration::farm::{self, ContentDatabaseRow, StoreRow};
use database::configuration::restored;
use database::configuration::site_collection::{self, SiteCollectionRow};
use database::content::restored as content;
use database::{Database, Location, Options, Reader, Schema, Transaction, require_unused};
use futures_util::future::BoxFuture;
use model::{Code, Error, Id, Result, Timestamp, counted};
use repository::{DATABASE_STORE, DataDirectory, require_restoration_outside_farms, require_separate_restoration};

use crate::Progress;
use crate::backup::TemporaryDirectory;
use crate::backup::format::manifest::{DatabasePart, FILES, MAX_FILE, Manifest, method};
use crate::backup::place::destination::{Destination, Use};
use crate::backup::place::small_files::blocking;
use crate::documents::{Addresses, listed};

use super::blobs::{BlobRestore, Missing, RestoredBlobs, lost};
use super::cluster::require_restored;
use super::options::{RestoreOptions, RestoreSummary};
use super::place::TargetDirectory;
use super::set::choose;
use super::stores::{self, Opening, Store, give_back};
use super::{assemble, leftovers, settings};

/// Name of the configuration database on the command line.
const CONFIGURATION: &str = "configuration";
/// Maximum number of missing BLOBs named in an error.
const MAX_NAMED: usize = 20;

/// A database that has been restored but not yet moved to its final location.
pub(super) struct Restored {
    pub database: Database,
    /// Source and destination of the file to be moved. None for a database on a server.
    pub file: Option<(PathBuf, PathBuf)>,
    /// Location that is recorded in the farm.
    pub location: String,
    /// Note about its checksums, for the administrator.
    pub note: Option<String>,
}

/// Restores a whole farm into a directory.
///
/// # Errors
/// `Conflict` when the directory holds a farm or a server uses it; `Invalid` when a database on a server has no new
/// location; `Corrupt`, naming the documents whose bytes are missing. After an error there is no farm, and another
/// restore reuses the stored BLOBs.
pub fn restore_farm<'a>(options: &'a RestoreOptions, progress: Arc<Progress>) -> BoxFuture<'a, Result<RestoreSummary>> {
    Box::pin(async move {
        let destination = Destination::open(&options.source, options.key_file.as_deref(), Use::Read).await?;
        let restored = restore(&destination, options, &progress).await;
        destination.close().await;
        restored
    })
}

async fn restore(
    destination: &Destination,
    options: &RestoreOptions,
    progress: &Arc<Progress>,
) -> Result<RestoreSummary> {
    let (set, manifest) = choose(destination, options.set).await?;
    require_places(&manifest, options)?;
    let (directory, source, farm) = (options.directory.clone(), options.source.clone(), manifest.farm.clone());
    let is_scratch = options.is_scratch;
    blocking(move || {
        require_separate_restoration(&directory, source.directory(), &farm)?;
        if is_scratch { Ok(()) } else { require_restoration_outside_farms(&directory) }
    })
    .await?;
    let ground = TargetDirectory::enter(options, set.id, None).await?;
    let scratch = TemporaryDirectory::new(options.directory.join("restore-incoming")).await?;
    let databases = manifest.databases.iter().chain([&manifest.configuration]);
    progress.count(manifest.blobs.count, manifest.blobs.bytes + databases.map(|part| part.bytes).sum::<u64>());
    progress.counted_all();
    let work = Work { destination, options, manifest: &manifest, ground: &ground, scratch: &scratch, progress };

    let name = DataDirectory::CONFIGURATION_FILE;
    let configuration = work.bring(&manifest.configuration, Schema::Configuration, name).await?;
    let (rows, store_rows) =
        configuration.database.read_long(|reader| Ok((farm::databases(reader)?, farm::stores(reader)?))).await?;
    let holder = format!("{}-{}", manifest.id, Timestamp::now().micros());
    let owner = Owner::new(manifest.farm.as_str())?.held_by(Some(holder.clone()))?;
    let opening = Opening {
        directory: &options.directory,
        owner: &owner,
        key_file: work.key_file().await?,
        use_stores: options.use_stores,
    };
    let stores = opening.open(&store_rows).await?;
    let restored = work.complete(configuration, &rows, &stores, holder).await;
    if restored.is_err() {
        give_back(&stores).await;
    }
    for store in &stores {
        if let Some(open) = &store.open {
            open.close().await;
        }
    }
    let mut restored = restored?;
    restored.notes.splice(..0, stores::notes(&store_rows, &stores));
    let (directory, places) = (options.directory.clone(), leftovers::places(&store_rows, &stores));
    let looked = blocking(move || leftovers::notes(&directory, &store_rows, &places)).await;
    // The restore has succeeded. Leftovers that could be removed can be reported later.
    match looked {
        Ok(notes) => restored.notes.extend(notes),
        Err(error) => tracing::warn!(error = error.report(), "the leftovers of a restore cannot be listed"),
    }
    Ok(restored)
}

/// State needed for restoring databases.
pub(super) struct Work<'a> {
    pub destination: &'a Destination,
    pub options: &'a RestoreOptions,
    pub manifest: &'a Manifest,
    pub ground: &'a Arc<TargetDirectory>,
    pub scratch: &'a TemporaryDirectory,
    pub progress: &'a Arc<Progress>,
}

impl Work<'_> {
    /// Restores a database, without moving it to its final location.
    #[boxed]
    pub async fn bring(&self, part: &DatabasePart, schema: Schema, place: &str) -> Result<Restored> {
        let vault = &self.destination.vault;
        let limits = Options::default();
        if part.method == method::SQLITE {
            let path = self.scratch.path().join(format!("{}.sqlite", part.id));
            let note = assemble::file(vault, part, &path, self.options.rebuild_checksums, self.progress).await?;
            let database = Database::open(&Location::Sqlite(path.clone()), schema, &limits).await?;
            let file = Some((path, self.options.directory.join(place)));
            return Ok(Restored { database, file, location: place.to_owned(), note });
        }
        let url = self.options.database_urls.get(&part.name).ok_or_else(|| needs_url(part))?;
        let location = Location::parse(url)?;
        let (unfinished, shown) = (&self.ground.unfinished, location.to_string());
        let replaces = self.options.force || unfinished.was_loaded(&shown).await;
        if part.cluster.is_none() {
            if replaces {
                require_unused(&location).await?;
            }
            let was_whole = replaces && unfinished.begin().await?;
            let loaded = assemble::load(vault, part, &location, replaces, self.progress).await;
            if loaded.is_err() && was_whole {
                // A dump is loaded in one transaction, so after an error nothing was replaced.
                unfinished.end().await?;
            }
            loaded?;
        }
        let database = Database::open(&location, schema, &limits).await?;
        if part.cluster.is_some() && part.name == CONFIGURATION {
            require_restored(&database, self.manifest.id.parse()?, replaces).await?;
        }
        unfinished.record_loaded(shown).await?;
        Ok(Restored { database, file: None, location: url.clone(), note: None })
    }

    /// Restores the content databases, fills the stores, and moves everything to its final location.
    async fn complete(
        &self,
        configuration: Restored,
        rows: &[ContentDatabaseRow],
        stores: &[Store],
        holder: String,
    ) -> Result<RestoreSummary> {
        let manifest = self.manifest;
        let mut notes: Vec<String> = configuration.note.iter().cloned().collect();
        let (mut outcome, lost) = (RestoredBlobs::default(), lost(manifest));
        let addresses = Addresses::read(&configuration.database).await?;
        let mut contents: Vec<(Id, Restored)> = Vec::new();
        for part in &manifest.databases {
            let id: Id = part.id.parse()?;
            let Some(row) = rows.iter().find(|row| row.id == id) else { continue };
            let restored = self.bring(part, Schema::Content, &place_of(row)?).await?;
            notes.extend(restored.note.iter().cloned());
            notes.extend(self.prepare(&restored.database, row, stores).await?);
            let restoring = BlobRestore {
                vault: &self.destination.vault,
                name: &row.name,
                database: &restored.database,
                stores,
                lost: &lost,
                addresses: &addresses,
                progress: self.progress,
            };
            if !self.options.leave_blobs {
                restoring.run(manifest.blobs.index.clone(), &mut outcome).await?;
            }
            contents.push((id, restored));
        }
        if !outcome.missing.is_empty() && !self.options.accept_missing {
            return Err(match manifest.needs_stores && !self.options.use_stores {
                true => without_stores(&incomplete(&outcome.missing)),
                false => incomplete(&outcome.missing),
            });
        }
        let lacks = self.lacks(&configuration.database, rows, &contents).await?;
        require_whole_set(&lacks, self.options.accept_missing)?;
        notes.extend(self.update_configuration(&configuration.database, rows, &contents, stores, holder).await?);
        self.finish(configuration, contents).await?;
        Ok(RestoreSummary {
            set: manifest.id.parse()?,
            started_at: Timestamp::from_micros(manifest.started),
            databases: manifest.databases.len() as u64 + 1,
            copied: outcome.copied,
            present: outcome.present,
            missing: outcome.missing.len() as u64,
            lacks,
            lost: outcome.lost,
            notes,
        })
    }

    /// Adjusts a content database before its BLOBs are restored. Returns notes about the changes, for the
    /// administrator.
    #[boxed]
    pub async fn prepare(
        &self,
        database: &Database,
        row: &ContentDatabaseRow,
        stores: &[Store],
    ) -> Result<Vec<String>> {
        database.write(|transaction| content::drop_unrestorable(transaction, DATABASE_STORE)).await?;
        let known: Vec<Id> = stores.iter().map(|store| store.id).collect();
        let active = row.active_store_id;
        let mut notes = Vec::new();
        for from in database.read_long(content::stores).await?.into_iter().filter(|id| !known.contains(id)) {
            let to = active;
            let moved = database.write(move |transaction| content::move_all(transaction, from, to)).await?;
            notes.push(format!(
                "{moved} BLOBs of \"{}\" were in a store that was removed from the farm during the backup; they now \
                 belong to its active store",
                row.name
            ));
        }
        Ok(notes)
    }

    /// Returns the content of the farm's key file, if there was one.
    async fn key_file(&self) -> Result<Option<Bytes>> {
        match self.manifest.files.iter().find(|file| file.name == DataDirectory::KEY_FILE) {
            Some(file) => self.destination.vault.get_all(&file.entry, MAX_FILE).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the content databases and site collections that the set's configuration database lists and the set
    /// lacks. Site collections count only if they existed when the backup began.
    async fn lacks(
        &self,
        configuration: &Database,
        rows: &[ContentDatabaseRow],
        contents: &[(Id, Restored)],
    ) -> Result<Vec<String>> {
        let listed = configuration.read_long(|reader: &mut Reader<'_>| site_collection::list(reader)).await?;
        let mut missing = Vec::new();
        for row in listed {
            let there = match contents.iter().find(|(id, _)| *id == row.database_id) {
                Some((_, restored)) => restored.database.read_long(content::collections).await?,
                None => Vec::new(),
            };
            if !there.contains(&row.id) {
                missing.push(row);
            }
        }
        let gone = rows.iter().filter(|row| contents.iter().all(|(there, _)| *there != row.id));
        let mut lacks: Vec<String> = gone.map(|row| format!("the content database \"{}\"", row.name)).collect();
        lacks.extend(lacking(self.manifest, missing.iter()));
        Ok(lacks)
    }

    /// Adjusts the configuration database: records the new locations, and removes entries for content that the content
    /// databases do not have.
    async fn update_configuration(
        &self,
        configuration: &Database,
        rows: &[ContentDatabaseRow],
        contents: &[(Id, Restored)],
        stores: &[Store],
        holder: String,
    ) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        let mut present = Vec::new();
        for (id, restored) in contents {
            present.push((*id, restored.database.read_long(content::collections).await?));
        }
        let listed = configuration.read_long(|reader: &mut Reader<'_>| site_collection::list(reader)).await?;
        let mut lost = Vec::new();
        for row in listed {
            let is_there = present.iter().any(|(id, there)| *id == row.database_id && there.contains(&row.id));
            if !is_there {
                notes.push(format!(
                    "the site collection \"/{}\" was created or removed during the backup and is not in it",
                    row.path
                ));
                lost.push(row.id);
            }
        }
        let gone: Vec<Id> =
            rows.iter().map(|row| row.id).filter(|id| contents.iter().all(|(there, _)| there != id)).collect();
        let places: Vec<(Id, String)> =
            contents.iter().map(|(id, restored)| (*id, restored.location.clone())).collect();
        let moved: Vec<StoreRow> = stores.iter().filter_map(|store| store.moved_to.clone()).collect();
        let set: Id = self.manifest.id.parse()?;
        let write = move |transaction: &mut Transaction<'_>| {
            for id in &lost {
                site_collection::delete(transaction, *id)?;
            }
            for id in &gone {
                restored::drop_database(transaction, *id)?;
            }
            for (id, location) in &places {
                restored::place_database(transaction, *id, location)?;
            }
            for row in &moved {
                restored::place_store(transaction, row)?;
            }
            farm::change_directory(transaction)?;
            farm::set_holder(transaction, &holder)?;
            restored::finish_restore(transaction, set, "ended by a restore of the farm", Timestamp::now())
        };
        configuration.write(write).await?;
        Ok(notes)
    }

    /// Moves everything to its final location. The configuration database and the settings come last: before that there
    /// is no farm.
    async fn finish(&self, configuration: Restored, contents: Vec<(Id, Restored)>) -> Result<()> {
        let mut moves = Vec::new();
        for (_, restored) in contents {
            restored.database.close().await;
            moves.extend(restored.file);
        }
        configuration.database.close().await;
        let address = configuration.file.is_none().then_some(configuration.location);
        let mut files = Vec::new();
        let mut before = None;
        for file in &self.manifest.files {
            let bytes = self.destination.vault.get_all(&file.entry, MAX_FILE).await?;
            match file.name.as_str() {
                DataDirectory::SETTINGS_FILE => before = Some(bytes),
                name if FILES.contains(&name) => files.push((name.to_owned(), bytes.to_vec())),
                _ => {}
            }
        }
        let text = settings::moved(before.as_deref(), address.as_deref())?;
        let ground = Arc::clone(self.ground);
        ground.unfinished.begin().await?;
        blocking(move || {
            for (name, content) in &files {
                ground.write(name, content)?;
            }
            for (from, to) in moves.iter().chain(&configuration.file) {
                Database::make_self_contained(from)?;
                ground.install(from, to)?;
            }
            match text {
                Some(text) => ground.write(DataDirectory::SETTINGS_FILE, text.as_bytes()),
                None => Ok(()),
            }
        })
        .await?;
        self.ground.unfinished.end().await
    }
}

/// Returns the destination of a content database's file: its original location, if that is below the data directory.
fn place_of(row: &ContentDatabaseRow) -> Result<String> {
    Ok(match Location::parse(&row.location)? {
        Location::Sqlite(path) if path.is_relative() && !row.location.contains("..") => row.location.clone(),
        _ => format!("databases/{}.sqlite", row.id),
    })
}

/// Rejects options early that would otherwise fail only after a long time.
fn require_places(manifest: &Manifest, options: &RestoreOptions) -> Result<()> {
    let parts: Vec<&DatabasePart> = manifest.databases.iter().chain([&manifest.configuration]).collect();
    for part in &parts {
        match part.method.as_str() {
            method::SQLITE => {}
            method::DUMP | method::IN_CLUSTER if options.database_urls.contains_key(&part.name) => {}
            method::DUMP => return Err(needs_url(part)),
            method::IN_CLUSTER => return Err(needs_server(part)),
            other => {
                return Err(Error::invalid(format!(
                    "the database \"{}\" was backed up by the method {other}, which this program does not know",
                    part.name
                )));
            }
        }
    }
    for (name, url) in &options.database_urls {
        let part = parts.iter().find(|part| part.name == *name);
        let on_server = |part: &DatabasePart| [method::DUMP, method::IN_CLUSTER].contains(&part.method.as_str());
        let is_known = part.is_some_and(|part| on_server(part));
        if !is_known || !matches!(Location::parse(url)?, Location::Postgres(_)) {
            let names: Vec<&str> = parts.iter().filter(|part| on_server(part)).map(|part| part.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Error::invalid(format!(
                "--database-url {name}: give the postgres:// address of a new database for each PostgreSQL database of \
                 the set (these are: {names})"
            )));
        }
    }
    Ok(())
}

fn needs_url(part: &DatabasePart) -> Error {
    let what = if part.name == CONFIGURATION { "the configuration database" } else { "the content database" };
    Error::invalid(format!(
        "{what} \"{}\" is a PostgreSQL database: create a new database for it and name it with --database-url \
         {}=postgres://USER:PASSWORD@HOST/DATABASE",
        part.name, part.name
    ))
    .with_code(Code::DatabaseUrlNeeded)
}

fn needs_server(part: &DatabasePart) -> Error {
    Error::invalid(format!(
        "\"{0}\" is in a copy of the whole PostgreSQL server {1}: restore that server first with --postgres-directory \
         DIR, start it, and name the database on it with --database-url {0}=postgres://USER:PASSWORD@HOST/DATABASE",
        part.name,
        part.cluster.as_deref().unwrap_or_default()
    ))
    .with_code(Code::ClusterFirst)
}

/// Returns those of the missing site collections that existed when the backup began.
pub(super) fn lacking<'a>(manifest: &Manifest, missing: impl Iterator<Item = &'a SiteCollectionRow>) -> Vec<String> {
    let old = missing.filter(|row| row.created_at.micros() < manifest.started);
    old.map(|row| format!("the site collection \"/{}\"", row.path)).collect()
}

/// Refuses a set that lacks a part of its farm, unless that is accepted.
pub(super) fn require_whole_set(lacks: &[String], accepted: bool) -> Result<()> {
    if lacks.is_empty() || accepted {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "this backup lacks {}, although the farm had it when the backup was taken, because a database was missing \
         then. Restore another set, or add --accept-missing to restore everything else",
        listed(lacks, "nothing")
    ))
    .with_code(Code::RestoreIncomplete))
}

/// Adds advice to the error for a set without BLOBs.
fn without_stores(error: &Error) -> Error {
    let text = format!(
        "{}. This backup holds databases only: if its stores still exist, add --use-stores, or restore into the old \
         data directory with --force",
        error.message()
    );
    Error::corrupt(text).with_code(error.code())
}

pub(super) fn incomplete(missing: &[Missing]) -> Error {
    let mut text =
        format!("{} that documents need, missing or damaged in the backup:", counted(missing.len() as u64, "BLOB"));
    for missing in missing.iter().take(MAX_NAMED) {
        let names = listed(&missing.documents, "no document");
        text.push_str(&format!(
            "\n  {} of \"{}\", needed by {names}: {}",
            missing.digest, missing.database, missing.why
        ));
    }
    if missing.len() > MAX_NAMED {
        text.push_str(&format!("\n  and {} more", missing.len() - MAX_NAMED));
    }
    text.push_str("\nRestore another set, or add --accept-missing to restore everything else");
    Error::corrupt(text).with_code(Code::RestoreIncomplete)
}
