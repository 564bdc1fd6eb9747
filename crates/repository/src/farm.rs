//! The farm: opening or creating it, and what all callers share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use blobs::DirectoryOptions;
use database::configuration::farm::{self, ContentDatabaseRow, StoreRow};
use database::{Database, Location, Schema};
use model::{Error, Id, IdSource, Principal, Result, Timestamp};

use crate::access::AccessCache;
use crate::activity::Activity;
use crate::gauge::Gauges;
use crate::map::MapCell;
use crate::people::{Identities, password};
use crate::ways::Ways;
use crate::{Session, sites};

/// BLOBs smaller than this stay in the content database of a new farm: below it a row costs less than a reference.
pub const DEFAULT_MINIMUM_SIZE: i64 = 16 * 1024;
/// File of the embedded configuration database.
const CONFIGURATION: &str = "configuration.sqlite";
/// Identifier of the store that keeps BLOBs in the content database itself.
pub const DATABASE_STORE: Id = Id::new(1);
/// Identifier of the directory store of a new farm.
pub const FILES_STORE: Id = Id::new(2);

/// How to open a farm.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data directory: configuration database, embedded content databases, the store `files`, partial uploads.
    pub directory: PathBuf,
    /// Where the configuration database is, when it is not embedded.
    pub configuration: Option<Location>,
    /// Where the content database `main` of a new farm is, when it is not embedded.
    pub content: Option<Location>,
    /// Password of the administrator of a new farm; generated when absent.
    pub administrator_password: Option<String>,
    /// Whether to create the farm when there is none.
    pub create: bool,
}

impl Options {
    /// Judges what a new farm would be made with, before anything of it is made. A farm that is there has its administrator,
    /// and the password is not looked at.
    ///
    /// # Errors
    /// Invalid with code `invalid_password`.
    pub fn check_new_farm(&self) -> Result<()> {
        let present = match &self.configuration {
            None => self.directory.join(CONFIGURATION).try_exists().unwrap_or(true),
            Some(Location::Sqlite(path)) => path.try_exists().unwrap_or(true),
            // Only the server can tell, and where nothing can be told nothing is made: the password is judged again before the farm's rows are made.
            Some(Location::Postgres(_)) => true,
        };
        match &self.administrator_password {
            Some(password) if self.create && !present => password::check(password),
            _ => Ok(()),
        }
    }
}

/// What the first start made.
#[derive(Debug)]
pub struct Created {
    /// The generated password of `admin`; none when it was given.
    pub administrator_password: Option<String>,
}

/// A farm that is open. Cheap to clone.
#[derive(Clone)]
pub struct Repository {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) directory: PathBuf,
    pub(crate) farm_id: Id,
    /// The name of this start of the process.
    pub(crate) server: Id,
    /// Which restoration of the farm this is; none when it was never restored.
    pub(crate) holder: Option<String>,
    pub(crate) ids: Arc<IdSource>,
    pub(crate) configuration: Database,
    pub(crate) map: MapCell,
    pub(crate) access: AccessCache,
    pub(crate) ways: Ways,
    pub(crate) identities: Identities,
    pub(crate) blobs: DirectoryOptions,
    pub(crate) gauges: Gauges,
    /// Whether this process serves requests, and may keep caches on the disk.
    pub(crate) serving: bool,
    pub(crate) accesses: crate::accesses::Accesses,
    pub(crate) activity: Activity,
    pub(crate) noting: crate::faults::Noting,
}

impl Repository {
    /// Opens the farm for serving requests, and creates it first when there is none and `options.create` is set.
    ///
    /// Errors: `NotFound` when there is no farm and none may be created; what the databases and stores report.
    pub async fn open(options: &Options) -> Result<(Repository, Option<Created>)> {
        Self::open_with(options, DirectoryOptions::default(), true).await
    }

    /// Opens a farm that is there for a command: nothing is prepared for many small writes to come. That makes each flush
    /// slower, but halves what an import writes to the disk.
    ///
    /// Errors: those of [`Repository::open`].
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
        let location = match &options.configuration {
            Some(location) => location.clone(),
            None => embedded(&options.directory, CONFIGURATION, options.create)?,
        };
        let configuration = Database::open(&location, Schema::Configuration, &database::Options::default()).await?;
        let existing = configuration.read(farm::find).await?;
        let fresh = existing.is_none();
        if fresh && !options.create {
            return Err(no_farm(&options.directory));
        }
        if fresh {
            options.administrator_password.as_deref().map_or(Ok(()), password::check)?;
            // Asked before its address is written down for good: a mistake in it can still be mended.
            if let Some(location @ Location::Postgres(_)) = &options.content {
                Database::open(location, Schema::Content, &database::Options::default()).await?.close().await;
            }
            create(&configuration, options).await?;
        }
        let server = configuration.write_vital(farm::next_server).await?;
        let (row, holder) = configuration.read(|reader| Ok((farm::find(reader)?, farm::holder(reader)?))).await?;
        let row = row.ok_or_else(|| no_farm(&options.directory))?;
        let inner = Inner {
            directory: options.directory.clone(),
            farm_id: row.id,
            server: Id::new(server),
            holder,
            ids: Arc::new(IdSource::new(server)),
            configuration,
            map: MapCell::default(),
            access: AccessCache::default(),
            ways: Ways::default(),
            identities: Identities::new()?,
            serving,
            blobs,
            gauges: Gauges::default(),
            accesses: crate::accesses::Accesses::default(),
            activity: Activity::default(),
            noting: crate::faults::Noting::default(),
        };
        let repository = Repository { inner: Arc::new(inner) };
        let administrator_password = repository.create_administrator(options.administrator_password.clone()).await?;
        sites::ensure_root(&repository).await?;
        repository.map().await?;
        // A first start that was cut short may have made the farm and left its administrator to this one.
        let created = fresh || administrator_password.is_some();
        Ok((repository, created.then_some(Created { administrator_password })))
    }

    /// The caller's way in. `principal` comes from one of the identity functions of this type.
    pub fn as_caller(&self, principal: Principal) -> Session {
        Session::new(self.clone(), principal)
    }

    /// The identifier of the farm.
    pub fn farm_id(&self) -> Id {
        self.inner.farm_id
    }

    /// Closes databases and stores; what was acknowledged is on disk before and after.
    pub async fn close(&self) {
        if let Ok(map) = self.map().await {
            map.close().await;
        }
        self.inner.configuration.close().await;
    }

    pub(crate) fn next_id(&self) -> Id {
        self.inner.ids.next()
    }
}

fn no_farm(directory: &Path) -> Error {
    Error::not_found(format!(
        "there is no farm in {}: start `strongroom serve --data {}` once to create it",
        directory.display(),
        directory.display()
    ))
}

/// The place of an embedded database, whose directory is made when `create` is set.
fn embedded(directory: &Path, file: &str, create: bool) -> Result<Location> {
    let path = directory.join(file);
    if create {
        let folder = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(folder).map_err(|error| {
            Error::unavailable(format!("the folder {} cannot be created: {error}", folder.display())).with_source(error)
        })?;
    } else if !path.exists() {
        return Err(no_farm(directory));
    }
    Ok(Location::Sqlite(path))
}

/// Makes the rows of a new farm, all in one transaction.
async fn create(configuration: &Database, options: &Options) -> Result<()> {
    let content = match &options.content {
        Some(Location::Postgres(url)) => url.clone(),
        Some(Location::Sqlite(path)) => path.display().to_string(),
        None => "databases/main.sqlite".to_owned(),
    };
    let ids = IdSource::new(0);
    let (farm_id, database_id) = (ids.next(), ids.next());
    configuration
        .write(move |transaction| {
            let now = Timestamp::now();
            if farm::find(transaction)?.is_some() {
                return Ok(());
            }
            farm::insert(transaction, farm_id, now)?;
            for (id, name, kind, location) in
                [(DATABASE_STORE, "database", "database", ""), (FILES_STORE, "files", "directory", "blobs")]
            {
                let store = StoreRow {
                    id,
                    name: name.to_owned(),
                    kind: kind.to_owned(),
                    state: "active".to_owned(),
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
            farm::insert_database(transaction, &database, now)
        })
        .await
}

impl Inner {
    /// Where a content database is; a relative path is below the data directory.
    pub(crate) fn place_of(&self, row: &ContentDatabaseRow) -> Result<Location> {
        Ok(match Location::parse(&row.location)? {
            Location::Sqlite(path) => Location::Sqlite(self.directory.join(path)),
            location => location,
        })
    }

    /// Opens a content database; a relative path is below the data directory.
    pub(crate) async fn open_content(&self, row: &ContentDatabaseRow) -> Result<Database> {
        let location = match Location::parse(&row.location)? {
            Location::Sqlite(path) if path.is_relative() => embedded(&self.directory, &path.to_string_lossy(), true)?,
            location => location,
        };
        Database::open(&location, Schema::Content, &database::Options::default()).await
    }
}
