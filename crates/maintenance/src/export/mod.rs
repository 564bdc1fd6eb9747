//! Export of a library into a directory: the same bytes, names and times as files.
//!
//! Each document is written to a temporary file and renamed, so that a file with its final name is always complete.
//! Files that already have the same size and time are not written again. All access is relative to directory handles
//! and does not follow links, so nothing outside the destination is touched.

mod context;
mod file;
mod versions;
mod walk;
mod writers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use model::{Code, Error, Result};
use repository::{Item, Session, Target};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use context::{Context, ended};

use crate::posix::Directory;
use crate::progress::{Fault, Faults, Progress, Reason};

/// Number of documents that are read and written concurrently.
const AT_ONCE: usize = 8;
/// Capacity of the queue of documents. Each queued document may keep one directory open.
const WAITING: usize = 64;

/// Options of an export.
pub struct ExportOptions {
    /// Library or folder.
    pub source: Target,
    /// Destination directory. It is created if missing.
    pub destination: PathBuf,
    /// Also write earlier versions, into the directory `.versions`.
    pub versions: bool,
    /// Count documents and bytes concurrently with the export, for a progress bar.
    pub count: bool,
}

/// Result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// Number of documents written.
    pub written: u64,
    /// Number of documents whose file already had the same size and time.
    pub unchanged: u64,
    /// Number of earlier versions written.
    pub versions: u64,
    /// Number of folders.
    pub folders: u64,
    /// Number of bytes written.
    pub bytes: u64,
    /// Number of skipped items, by reason.
    pub faults: BTreeMap<Reason, u64>,
}

/// Exports a library or folder. Calls `on_fault` for each skipped item, and continues. On return all written data is on
/// stable storage.
///
/// # Errors
/// An error ends the export; running it again resumes it. `NotFound`; `Exhausted` for a full disk; `Unavailable`;
/// `Conflict` when another export writes into the directory, or when the source cannot be exported.
pub fn export(
    session: Session,
    options: ExportOptions,
    progress: Arc<Progress>,
    on_fault: impl FnMut(&Fault) + Send + 'static,
) -> BoxFuture<'static, Result<ExportSummary>> {
    begin(session, options, progress, Faults::new(Box::new(on_fault)))
}

fn begin(
    session: Session,
    options: ExportOptions,
    progress: Arc<Progress>,
    faults: Faults,
) -> BoxFuture<'static, Result<ExportSummary>> {
    Box::pin(async move {
        let source = session.item(&options.source).await?;
        if !source.kind.holds_documents() {
            return Err(Error::conflict(format!(
                "\"{}\" is a {}: name a library or a folder in one, as SITE/LIBRARY/FOLDER",
                source.path,
                source.kind.as_str()
            ))
            .with_code(Code::WrongKind));
        }
        let destination = options.destination.clone();
        let root = tokio::task::spawn_blocking(move || open_destination(&destination)).await.map_err(ended)??;
        let context = Arc::new(Context {
            session,
            root,
            progress,
            faults,
            versions: options.versions,
            written: AtomicU64::new(0),
            unchanged: AtomicU64::new(0),
            version_files: AtomicU64::new(0),
            folders: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            part: AtomicU64::new(0),
            times: Mutex::default(),
        });
        run(&context, source, options.count).await?;
        let finishing = context.clone();
        tokio::task::spawn_blocking(move || finishing.finish()).await.map_err(ended)??;
        Ok(context.summary())
    })
}

fn open_destination(path: &std::path::Path) -> Result<Directory> {
    let failed = |error: std::io::Error| {
        Error::unavailable(format!("the directory {} cannot be written: {error}", path.display())).with_source(error)
    };
    std::fs::create_dir_all(path).map_err(failed)?;
    let directory = Directory::open(path).map_err(failed)?;
    if !directory.try_lock().map_err(failed)? {
        return Err(Error::conflict(format!(
            "another export is writing into {}: wait until it has ended",
            path.display()
        )));
    }
    Ok(directory)
}

async fn run(context: &Arc<Context>, source: Item, count: bool) -> Result<()> {
    let (jobs, waiting) = mpsc::channel(WAITING);
    let waiting = Arc::new(AsyncMutex::new(waiting));
    let writers = (0..AT_ONCE).map(|_| writers::run(context.clone(), waiting.clone()));
    let counting = async {
        if count {
            let (documents, bytes) = context.session.contents(&source.id.into()).await?;
            context.progress.count(documents, bytes);
            context.progress.counted_all();
        }
        Ok(())
    };
    tokio::try_join!(
        counting,
        walk::run(context.clone(), source.clone(), jobs),
        futures_util::future::try_join_all(writers),
    )?;
    Ok(())
}

impl Context {
    /// Sets the times of directories and flushes everything to stable storage. Blocking.
    fn finish(&self) -> Result<()> {
        let times = std::mem::take(&mut *self.times.lock().unwrap_or_else(PoisonError::into_inner));
        for (path, time) in times {
            let set = self.root.descend(&path).and_then(|directory| directory.set_modified(time));
            if let Err(error) = set {
                let message = format!("its modification time cannot be set: {error}");
                self.faults.add(&Fault::new(&path, Reason::Unwritable, message));
            }
        }
        self.root.sync_file_system().map_err(|error| {
            Error::unavailable(format!("the exported files may not be on stable storage: {error}; export again"))
                .with_source(error)
        })
    }

    fn summary(&self) -> ExportSummary {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ExportSummary {
            written: load(&self.written),
            unchanged: load(&self.unchanged),
            versions: load(&self.version_files),
            folders: load(&self.folders),
            bytes: load(&self.bytes),
            faults: self.faults.counts(),
        }
    }
}
