//! Traversal of the library: several folders concurrently, depth first, so that only directories on the current paths
//! are open.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use model::{Error, NodeKind, Result, fold};
use repository::{Item, Sort};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::context::{Context, Job, ended};
use super::file::{cannot_name, is_part};
use super::versions;
use crate::posix::{Directory, EntryKind};
use crate::progress::{Fault, Reason};

/// Number of folders that are listed concurrently.
const AT_ONCE: usize = 4;
/// Number of folder entries per page.
const PAGE: usize = 500;

/// A folder waiting to be visited.
struct PendingFolder {
    /// Parent directory. None for the root.
    above: Option<Arc<Directory>>,
    folder: Item,
}

/// Visits all folders. Returns when every document has been sent to the writers.
pub(super) async fn run(context: Arc<Context>, source: Item, jobs: mpsc::Sender<Job>) -> Result<()> {
    let mut waiting = vec![PendingFolder { above: None, folder: source }];
    let mut running = JoinSet::new();
    loop {
        while running.len() < AT_ONCE
            && let Some(place) = waiting.pop()
        {
            running.spawn(visit(context.clone(), jobs.clone(), place));
        }
        match running.join_next().await {
            None => return Ok(()),
            Some(visited) => waiting.extend(visited.map_err(ended)??),
        }
    }
}

/// Creates a folder's directory, sends its documents to the writers, and returns its subfolders.
async fn visit(context: Arc<Context>, jobs: mpsc::Sender<Job>, place: PendingFolder) -> Result<Vec<PendingFolder>> {
    let PendingFolder { above, folder } = place;
    let (making, item) = (context.clone(), folder.clone());
    let is_root = above.is_none();
    let made = tokio::task::spawn_blocking(move || make(&making, above.as_deref(), &item)).await.map_err(ended)?;
    let directory = match made {
        Ok(directory) => Arc::new(directory),
        Err(fault) => {
            context.faults.add(&fault);
            return Ok(Vec::new());
        }
    };
    if !is_root {
        context.folders.fetch_add(1, Ordering::Relaxed);
        let mut times = context.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push((directory.path().to_owned(), folder.modified_at));
    }
    let mut below = Vec::new();
    let mut after = None;
    loop {
        let (_, page) = context.session.list(&folder.id.into(), Sort::Name, false, after, PAGE).await?;
        if is_root && context.versions && page.items.iter().any(|item| fold(&item.name) == versions::DIRECTORY) {
            return Err(Error::conflict(format!(
                "the library has an item named \"{}\", where earlier versions would go: rename it, or export without \
                 versions",
                versions::DIRECTORY
            )));
        }
        let (folders, documents): (Vec<_>, Vec<_>) =
            page.items.into_iter().partition(|item| item.kind != NodeKind::Document);
        below.extend(folders.into_iter().map(|folder| PendingFolder { above: Some(directory.clone()), folder }));
        let (comparing, comparing_in) = (context.clone(), directory.clone());
        let compared = tokio::task::spawn_blocking(move || compare(&comparing, &comparing_in, documents));
        for job in compared.await.map_err(ended)? {
            jobs.send(job).await.map_err(|_| Error::unavailable("the export was stopped"))?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(below);
        }
    }
}

/// Creates or opens the directory, and removes the temporary files of a killed export. Blocking.
fn make(context: &Context, above: Option<&Directory>, folder: &Item) -> Result<Directory, Fault> {
    let path = above.map_or_else(PathBuf::new, |above| above.path_of(folder.name.as_ref()));
    let made = match above {
        Some(above) => above.make(folder.name.as_ref()),
        None => context.root.again(),
    };
    let cleaned = made.and_then(|directory| {
        for name in directory.names()?.iter().filter(|name| is_part(name)) {
            directory.remove(name)?;
        }
        Ok(directory)
    });
    cleaned.map_err(|error| {
        let reason = if cannot_name(&error) { Reason::Name } else { Reason::Unwritable };
        Fault::new(&path, reason, format!("the directory cannot be created, so nothing in it was exported: {error}"))
    })
}

/// Returns the documents of a page that must be written. Blocking.
fn compare(context: &Context, directory: &Arc<Directory>, documents: Vec<Item>) -> Vec<Job> {
    let mut jobs = Vec::new();
    for item in documents {
        let refuse = |reason, message: String| {
            context.faults.add(&Fault::new(&directory.path_of(item.name.as_ref()), reason, message));
            context.progress.add_files(1);
            context.progress.add_bytes(item.size);
        };
        let present = match directory.status(OsStr::new(&item.name)) {
            Ok(status) if status.kind == EntryKind::File => {
                status.size == item.size && status.modified == item.modified_at
            }
            Ok(_) => {
                refuse(Reason::Unwritable, "a directory, link or special file has its name".to_owned());
                continue;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => {
                let reason = if cannot_name(&error) { Reason::Name } else { Reason::Unwritable };
                refuse(reason, format!("it cannot be written: {error}"));
                continue;
            }
        };
        if present {
            context.unchanged.fetch_add(1, Ordering::Relaxed);
            context.progress.add_files(1);
            context.progress.add_bytes(item.size);
        }
        if !present || context.versions {
            jobs.push(Job { directory: directory.clone(), item, present });
        }
    }
    jobs
}
