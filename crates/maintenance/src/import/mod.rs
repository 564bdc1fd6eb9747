//! Importing a tree of files into a library.
//!
//! Directories are read and compared with the folders of the farm a few at a time; what is missing or changed goes to
//! workers that read, hash and store it, many small documents for each transaction. Starting again does only what is left.

mod batch;
mod buffers;
mod compare;
mod context;
mod mapping;
mod owners;
mod read;
mod scan;
mod stream;
mod walk;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use model::{Error, Result};
use repository::{ImportFolder, Session, Target};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

pub use mapping::Mapping;

use crate::posix::{Accounts, Directory};
use crate::progress::{Fault, Faults, Progress, Reason};
use buffers::Buffers;
use context::{Context, Workers};

/// Files that wait for a worker. Each may keep one directory open.
const WAITING: usize = 64;
/// Large files that are read at once.
const STREAMS: usize = 2;
/// What to import, and how.
pub struct ImportOptions {
    /// The directory whose content is imported.
    pub source: PathBuf,
    /// The library or folder that takes it.
    pub target: Target,
    /// Owners and permissions; without it everything belongs to the caller and inherits.
    pub mapping: Option<Mapping>,
    /// Only compare and count: nothing is changed.
    pub dry_run: bool,
    /// A directory that is left out wherever it is met: the farm's own data.
    pub exclude: Option<PathBuf>,
    /// Whether to count files and bytes first, beside the import, for a progress bar.
    pub count: bool,
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Documents that were made.
    pub created: u64,
    /// Documents that got a new version.
    pub replaced: u64,
    /// Documents that had the same size and time already.
    pub unchanged: u64,
    /// Folders that were made.
    pub folders: u64,
    /// Bytes of documents made or replaced.
    pub bytes: u64,
    /// Items that were not taken, by reason.
    pub faults: BTreeMap<Reason, u64>,
    /// Users of the machine who own something and are not in the mapping: their things belong to the default owner.
    pub unmapped_users: Vec<String>,
    /// Groups of the machine that may do something and are not in the mapping: they got no permission.
    pub unmapped_groups: Vec<String>,
}

/// Imports a tree. `on_fault` hears of each item that was not taken; the import goes on.
///
/// Errors end the import, and starting it again goes on from there: `NotFound` for a source or target that is not there,
/// `Invalid` for a mapping that names unknown people, `Exhausted` for a full disk or quota, `Unavailable`.
pub fn import(
    session: Session,
    options: ImportOptions,
    progress: Arc<Progress>,
    on_fault: impl FnMut(&Fault) + Send + 'static,
) -> BoxFuture<'static, Result<ImportSummary>> {
    begin(session, options, progress, Faults::new(Box::new(on_fault)))
}

fn begin(
    session: Session,
    options: ImportOptions,
    progress: Arc<Progress>,
    faults: Faults,
) -> BoxFuture<'static, Result<ImportSummary>> {
    Box::pin(async move {
        let source = options.source.clone();
        let root = Directory::open(&source).map_err(|error| {
            Error::invalid(format!("the directory {} cannot be opened: {error}", source.display())).with_source(error)
        })?;
        let folder = session.import_folder(&options.target).await?;
        let owners = owners::resolve(&session, options.mapping.as_ref(), &options.target).await?;
        let exclude = options.exclude.as_deref().and_then(|path| Directory::open(path).ok());
        let context = Arc::new(Context {
            session,
            owners,
            progress: progress.clone(),
            faults,
            dry_run: options.dry_run,
            exclude: exclude.and_then(|directory| directory.own_status().ok()),
            created: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
            unchanged: AtomicU64::new(0),
            folders: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            unmapped: Mutex::default(),
            buffers: Buffers::default(),
        });
        let stop = Arc::new(AtomicBool::new(false));
        if options.count {
            let stop = stop.clone();
            tokio::task::spawn_blocking(move || scan::count(&source, &progress, &stop));
        }
        let outcome = run(&context, root, folder).await;
        stop.store(true, Ordering::Relaxed);
        outcome?;
        Ok(context.summary())
    })
}

async fn run(context: &Arc<Context>, root: Directory, folder: ImportFolder) -> Result<()> {
    let (small, small_jobs) = mpsc::channel(WAITING);
    let (large, large_jobs) = mpsc::channel(WAITING);
    let large_jobs = Arc::new(AsyncMutex::new(large_jobs));
    let streams = (0..STREAMS).map(|_| stream::run(context.clone(), large_jobs.clone()));
    tokio::try_join!(
        walk::run(context.clone(), root, folder, Workers { small, large }),
        batch::run(context.clone(), small_jobs),
        futures_util::future::try_join_all(streams),
    )?;
    Ok(())
}

impl Context {
    fn summary(&self) -> ImportSummary {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let unmapped = self.unmapped.lock().unwrap_or_else(PoisonError::into_inner);
        let accounts = Accounts::of_this_machine();
        ImportSummary {
            created: load(&self.created),
            replaced: load(&self.replaced),
            unchanged: load(&self.unchanged),
            folders: load(&self.folders),
            bytes: load(&self.bytes),
            faults: self.faults.counts(),
            unmapped_users: unmapped.0.iter().map(|number| accounts.user_name(*number)).collect(),
            unmapped_groups: unmapped.1.iter().map(|number| accounts.group_name(*number)).collect(),
        }
    }
}
