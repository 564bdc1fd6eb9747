//! Import of a file tree into a library.
//!
//! Several directories are read concurrently and compared with the folders of the farm. Missing and changed files go to
//! workers, which read, hash and store them, with many small documents per transaction. Running the import again does
//! only the remaining work.

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
use model::{Error, ErrorKind, MAX_PAGE, NodeKind, Result};
use repository::{ImportFolder, Session, Sort, Target, shell_word};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

pub use mapping::Mapping;

use crate::posix::{Accounts, Directory};
use crate::progress::{Fault, Faults, Progress, Reason};
use buffers::Buffers;
use context::{Context, Workers};

/// Capacity of a queue of files. Each queued file may keep one directory open.
const WAITING: usize = 64;
/// Number of large files that are read concurrently.
const STREAMS: usize = 2;
/// Maximum number of libraries that the error about an unknown one names.
const MAX_NAMED: usize = 10;

/// Options of an import.
pub struct ImportOptions {
    /// Directory whose content is imported.
    pub source: PathBuf,
    /// Destination library or folder.
    pub target: Target,
    /// Mapping of owners and permissions. Without it the caller owns everything, and permissions are inherited.
    pub mapping: Option<Mapping>,
    /// Compare and count only, without changes.
    pub dry_run: bool,
    /// Directory that is skipped wherever it occurs: the farm's own data directory.
    pub exclude: Option<PathBuf>,
    /// Count files and bytes concurrently with the import, for a progress bar.
    pub count: bool,
}

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Number of documents created.
    pub created: u64,
    /// Number of documents that got a new version.
    pub replaced: u64,
    /// Number of documents that already had the same size and time.
    pub unchanged: u64,
    /// Number of folders created.
    pub folders: u64,
    /// Total bytes of documents created or replaced.
    pub bytes: u64,
    /// Number of skipped items, by reason.
    pub faults: BTreeMap<Reason, u64>,
    /// Operating-system users that own something and are not in the mapping. Their files belong to the default owner.
    pub unmapped_users: Vec<String>,
    /// Operating-system groups that have permissions and are not in the mapping. They get no permission.
    pub unmapped_groups: Vec<String>,
}

/// Imports a tree. Calls `on_fault` for each skipped item, and continues.
///
/// # Errors
/// An error ends the import; running it again resumes it. `NotFound` for a missing target; `Invalid` for a source that
/// cannot be opened, or a mapping that names unknown users, groups or roles; `Exhausted` for a full disk or quota;
/// `Unavailable`.
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
        let folder = match session.import_folder(&options.target).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(unknown_library(&session, &options.target).await.unwrap_or(error));
            }
            found => found?,
        };
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

/// Returns the error for a target whose library does not exist: the command that creates it, and the libraries that
/// exist in its site. `None` if the library exists, but not the folder, or if an item above it cannot be read.
async fn unknown_library(session: &Session, target: &Target) -> Option<Error> {
    let Target::Path(path) = target else { return None };
    let mut site = path.clone();
    let (found, missing) = loop {
        let above = site.split_last().map(|(above, _)| above)?;
        let missing = std::mem::replace(&mut site, above);
        match session.item(&Target::Path(site.clone())).await {
            Ok(item) => break (item, missing),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    };
    if found.kind != NodeKind::Site {
        return None;
    }
    let (_, page) = session.list(&Target::Path(site), Sort::Name, false, None, MAX_PAGE).await.ok()?;
    let libraries = page.items.iter().filter(|item| item.kind == NodeKind::Library);
    let mut names: Vec<String> = libraries.take(MAX_NAMED + 1).map(|item| format!("\"{}\"", item.path)).collect();
    if names.len() > MAX_NAMED {
        names.truncate(MAX_NAMED);
        names.push("...".to_owned());
    }
    let present = if names.is_empty() { String::new() } else { format!("; there are: {}", names.join(", ")) };
    Some(Error::not_found(format!(
        "there is no library \"{missing}\": `strongroom site add-library {}` creates it{present}",
        shell_word(&missing.to_string())
    )))
}
