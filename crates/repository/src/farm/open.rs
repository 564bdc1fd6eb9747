//! Opening a farm, and creating a new one.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

use async_recursion::async_recursion as boxed;
use blobs::DirectoryOptions;
use database::configuration::farm::{self, ContentDatabaseRow, StoreRow};
use database::{Database, Location, Schema};
use model::{Code, Error, Id, IdSource, Result, StoreKind, StoreState, Timestamp, id_time};
use tokio::sync::OnceCell;

use crate::content::sites;
use crate::farm::activity::Activity;
use crate::farm::advice::farm_from_backup;
use crate::farm::attach;
use crate::farm::busy::UserLimits;
use crate::farm::clean_up::RECYCLE_DAYS;
use crate::farm::registry::RegistryCell;
use crate::farm::repository::{GRANTED, Inner, MAX_QUEUED_WALKS, MAX_RUNNING_WALKS, Repository};
use crate::locations::claim::new_farm::require_no_farm_around;
use crate::locations::data_directory::{DataDirectory, FILES_LOCATION};
use crate::people::identities::Identities;
use crate::people::password;
use crate::session::access::AccessCache;
use crate::session::path_cache::ChainCache;
use crate::storage::built_in::{DATABASE_STORE, FILES_STORE};
use crate::storage::usage_cache::UsageCaches;
use crate::uploads::running::Unfinished;

/// Options for opening a farm.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data directory: configuration database, embedded content databases, the store `files`, partial uploads.
    pub directory: PathBuf,
    /// Location of the configuration database, when it is not embedded.
    pub configuration: Option<Location>,
    /// Location of the content database `main` of a new farm, when it is not embedded.
    pub content: Option<Location>,
    /// Password of the administrator of a new farm; generated when absent.
    pub administrator_password: Option<String>,
    /// Set to create the farm when there is none.
    pub create: bool,
}

impl Options {
    /// Returns the location of the configuration database.
    pub fn configuration_location(&self) -> Location {
        let embedded = || Location::Sqlite(DataDirectory::new(&self.directory).configuration());
        self.configuration.clone().unwrap_or_else(embedded)
    }

    /// Validates the options for a new farm before anything is created. An existing farm has its administrator already,
    /// so the password is not examined then.
    ///
    /// # Errors
    /// `Invalid` with code `invalid_password`; `NotFound` when there is no farm and none may be created; `Conflict`
    /// with code `configuration_missing` when a farm has lost its configuration database.
    pub fn check_new_farm(&self) -> Result<()> {
        let present = match &self.configuration {
            None => DataDirectory::new(&self.directory).configuration().try_exists().unwrap_or(true),
            Some(Location::Sqlite(path)) => path.try_exists().unwrap_or(true),
            // Only the database server can tell, and nothing is created without it. The password is validated again
            // before the farm's rows are created.
            Some(Location::Postgres(_)) => true,
        };
        if !present {
            refuse_existing_farm(self)?;
        }
        match &self.administrator_password {
            Some(password) if self.create && !present => password::check(password, &[]),
            _ => Ok(()),
        }
    }
}

/// Result of the first start.
#[derive(Debug)]
pub struct Created {
    /// The generated password of `admin`; `None` when it was given.
    pub administrator_password: Option<String>,
}

/// BLOBs smaller than this stay in the content database of a new farm, because a row is then cheaper than a reference.
pub const DEFAULT_MINIMUM_SIZE: i64 = 16 * 1024;

fn no_farm(directory: &Path) -> Error {
    Error::not_found(format!(
        "there is no farm in {}, and none was created there: name the data directory of the farm with `--data \
         DIRECTORY`, or check whether its disk is mounted",
        directory.display()
    ))
}

/// Opens the configuration database. It is created only where nothing indicates a farm that has lost its own.
async fn open_configuration(options: &Options) -> Result<Database> {
    let (location, limits) = (options.configuration_location(), database::Options::default());
    match Database::open(&location, Schema::Configuration, &limits).await {
        Err(error) if matches!(error.code(), Code::DatabaseMissing | Code::DatabaseEmpty) => {
            refuse_existing_farm(options)?;
            blobs::create_directories(&options.directory)?;
            Database::make(&location, Schema::Configuration, &limits).await
        }
        opened => opened,
    }
}

/// Adds instructions for restoring to the error of a damaged configuration database. Other errors stay as they are. The
/// error of a database that only lacks changes already contains its own instructions.
fn how_to_restore(options: &Options, error: Error) -> Error {
    let location = options.configuration_location();
    if error.code() != Code::DatabaseCorrupt || !matches!(location, Location::Sqlite(_)) {
        return error;
    }
    let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    Error::corrupt(format!(
        "the configuration database {location} is damaged or is not a database. First check whether its disk is in \
         order. {}",
        farm_from_backup(&options.directory)
    ))
    .with_code(Code::DatabaseCorrupt)
    .with_source(cause)
}

/// Refuses to create a farm unless that was requested, and never over the remains of another farm or within one.
fn refuse_existing_farm(options: &Options) -> Result<()> {
    let left = DataDirectory::new(&options.directory).remains()?;
    if !left.is_empty() {
        return Err(Error::conflict(format!(
            "the data directory {} belongs to a farm ({}), but its configuration database {} is missing or empty: \
             check whether its disk is mounted, or restore it from a backup. Nothing was created in its place; a new \
             farm needs its own directory",
            options.directory.display(),
            left.join(", "),
            options.configuration_location()
        ))
        .with_code(Code::ConfigurationMissing));
    }
    if !options.create {
        return Err(no_farm(&options.directory));
    }
    require_no_farm_around(&options.directory)
}

/// Creates the rows of a new farm, all in one transaction.
async fn create(configuration: &Database, options: &Options) -> Result<()> {
    let content = match &options.content {
        Some(Location::Postgres(url)) => url.clone(),
        Some(Location::Sqlite(path)) => path.display().to_string(),
        None => "databases/main.sqlite".to_owned(),
    };
    let ids = IdSource::new(0, id_time()..id_time() + GRANTED);
    let (farm_id, database_id) = (ids.next(), ids.next());
    configuration
        .write(move |transaction| {
            let now = Timestamp::now();
            if farm::find(transaction)?.is_some() {
                return Ok(());
            }
            farm::insert(transaction, farm_id, now)?;
            for (id, name, kind, location) in [
                (DATABASE_STORE, "database", StoreKind::Database, ""),
                (FILES_STORE, "files", StoreKind::Directory, FILES_LOCATION),
            ] {
                let store = StoreRow {
                    id,
                    name: name.to_owned(),
                    kind,
                    state: StoreState::Active,
                    location: location.to_owned(),
                    settings: "{}".to_owned(),
                    secret: None,
                };
                farm::insert_store(transaction, &store, now)?;
            }
            let database = ContentDatabaseRow {
                id: database_id,
                name: "main".to_owned(),
                location: content.clone(),
                active_store_id: FILES_STORE,
                minimum_size: DEFAULT_MINIMUM_SIZE,
            };
            farm::set_pending_database(transaction, database_id)?;
            farm::insert_database(transaction, &database, now)
        })
        .await
}

impl Repository {
    /// Opens the farm for serving requests, and creates it first when there is none and `options.create` is set.
    ///
    /// # Errors
    /// `NotFound` when there is no farm and none may be created; errors of the databases and stores.
    #[boxed]
    pub async fn open(options: &Options) -> Result<(Repository, Option<Created>)> {
        Self::open_with(options, DirectoryOptions::default(), true).await
    }

    /// Opens an existing farm for a command. Segments are not zero-filled in advance for many small writes. That makes
    /// each flush slower but halves the bytes that an import writes to the disk.
    ///
    /// # Errors
    /// Those of [`Repository::open`].
    #[boxed]
    pub async fn open_for_command(options: &Options) -> Result<Repository> {
        let options = Options { create: false, ..options.clone() };
        let blobs = DirectoryOptions { zero_fill: false, ..DirectoryOptions::default() };
        Ok(Self::open_with(&options, blobs, false).await?.0)
    }

    async fn open_with(
        options: &Options,
        blobs: DirectoryOptions,
        serving: bool,
    ) -> Result<(Repository, Option<Created>)> {
        options.check_new_farm()?;
        let configuration = open_configuration(options).await.map_err(|error| how_to_restore(options, error))?;
        let noted = configuration.clone();
        let opened = Self::open_on(options, configuration, blobs, serving).await;
        opened.map_err(|error| if noted.damage().is_some() { how_to_restore(options, error) } else { error })
    }

    async fn open_on(
        options: &Options,
        configuration: Database,
        blobs: DirectoryOptions,
        serving: bool,
    ) -> Result<(Repository, Option<Created>)> {
        let existing = configuration.read(farm::find).await?;
        let fresh = existing.is_none();
        if fresh {
            refuse_existing_farm(options)?;
            options.administrator_password.as_deref().map_or(Ok(()), |password| password::check(password, &[]))?;
            // Checked before the location is stored permanently, so that a mistake in it can still be corrected.
            if let Some(location) = &options.content {
                let beside = |path: &PathBuf| Location::Sqlite(options.directory.join(path));
                let place = if let Location::Sqlite(path) = location { beside(path) } else { location.clone() };
                attach::require_unused(&place).await?;
            }
            create(&configuration, options).await?;
        }
        let begin = |transaction: &mut database::Transaction<'_>| {
            Ok((farm::next_server(transaction)?, farm::grant_identifiers(transaction, None, id_time(), GRANTED)?))
        };
        let (server, range) = configuration.write_vital(begin).await?;
        let (row, holder) = configuration.read(|reader| Ok((farm::find(reader)?, farm::holder(reader)?))).await?;
        let row = row.ok_or_else(|| no_farm(&options.directory))?;
        let inner = Inner {
            directory: DataDirectory::new(&options.directory),
            farm_id: row.id,
            process_id: Id::new(server),
            restore_id: holder,
            ids: Arc::new(IdSource::new(server, range)),
            configuration,
            registry: RegistryCell::default(),
            access: AccessCache::default(),
            chains: ChainCache::default(),
            identities: Identities::new()?,
            serving,
            blobs,
            gauges: UsageCaches::default(),
            accesses: crate::storage::process_state::ReadTracker::default(),
            activity: Activity::default(),
            verifications: crate::storage::process_state::Verifications::default(),
            unfinished: Unfinished::default(),
            recycle_days: AtomicU32::new(RECYCLE_DAYS),
            looks: crate::farm::clock::ClockObservations::default(),
            looked_for_forgotten: crate::storage::process_state::UnknownStoreChecks::default(),
            recorded_downloads: Default::default(),
            pending_link_files: Default::default(),
            listing_limits: UserLimits::with_turns(MAX_RUNNING_WALKS, MAX_QUEUED_WALKS),
            cursor_key: OnceCell::new(),
            programs: OnceLock::new(),
            search: crate::search::indexes::SearchIndexes::default(),
        };
        let repository = Repository { inner: Arc::new(inner) };
        repository.skip_used_identifiers().await?;
        repository.replenish_identifiers();
        repository.keep_looking_at_the_clock();
        let administrator_password = repository.create_administrator(options.administrator_password.clone()).await?;
        sites::ensure_root(&repository).await?;
        repository.registry().await?;
        // An interrupted first start may have created the farm without its administrator, who is then created by this
        // start.
        let created = fresh || administrator_password.is_some();
        Ok((repository, created.then_some(Created { administrator_password })))
    }
}
