//! Traversal of the tree: several directories concurrently, depth first, so that only directories on the current paths
//! are open.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::{Error, NodeKind, Result};
use repository::{ImportFolder, NewFolder};
use tokio::task::JoinSet;

use super::batch;
use super::compare::{self, Comparison, DirectoryEntry};
use super::context::{Context, Job, Workers};
use super::owners::Grants;
use crate::posix::{Directory, EntryKind};
use crate::progress::{Fault, Reason};

/// Number of directories that are read and compared concurrently.
const AT_ONCE: usize = 6;

/// A directory waiting to be visited.
struct PendingDirectory {
    /// Parent directory and name. The root is already open.
    way: DirectorySource,
    /// Folder in the farm. None in a dry run when the folder does not exist yet.
    folder: Option<ImportFolder>,
    /// Set when the folder existed before and may have content.
    present: bool,
    /// Grants of the directory. Subdirectories are compared with them.
    grants: Grants,
}

enum DirectorySource {
    Root(Directory),
    Below(Arc<Directory>, OsString),
}

/// Visits all directories. Returns when everything has been compared and sent to the workers.
pub(super) async fn run(context: Arc<Context>, root: Directory, folder: ImportFolder, workers: Workers) -> Result<()> {
    let workers = Arc::new(workers);
    let grants = context.owners.of_target();
    let mut waiting =
        vec![PendingDirectory { way: DirectorySource::Root(root), folder: Some(folder), present: true, grants }];
    let mut running = JoinSet::new();
    loop {
        while running.len() < AT_ONCE
            && let Some(place) = waiting.pop()
        {
            running.spawn(visit(context.clone(), workers.clone(), place));
        }
        match running.join_next().await {
            None => return Ok(()),
            Some(Ok(found)) => waiting.extend(found?),
            Some(Err(error)) => {
                return Err(Error::unavailable("a part of the import ended unexpectedly").with_source(error));
            }
        }
    }
}

/// Compares one directory with its folder, sends its files to the workers, and returns its subdirectories.
async fn visit(context: Arc<Context>, workers: Arc<Workers>, place: PendingDirectory) -> Result<Vec<PendingDirectory>> {
    let PendingDirectory { way, folder, present, grants } = place;
    let reading = context.clone();
    let read = tokio::task::spawn_blocking(move || {
        let directory = match way {
            DirectorySource::Root(directory) => directory,
            DirectorySource::Below(above, name) => above.enter(&name).map_err(|error| (above.path_of(&name), error))?,
        };
        let found = compare::read(&reading, &directory).map_err(|error| (directory.path().to_owned(), error))?;
        Ok((directory, found))
    });
    let read = read.await.map_err(|error| Error::unavailable("reading a directory failed").with_source(error))?;
    let (directory, (mut local, faults)) = match read {
        Ok(read) => read,
        Err((path, error)) => {
            let error: std::io::Error = error;
            let message = format!("the directory cannot be read: {error}");
            context.faults.add(&Fault::new(&path, Reason::Unreadable, message));
            return Ok(Vec::new());
        }
    };
    faults.iter().for_each(|fault| context.faults.add(fault));
    let mut found = match &folder {
        Some(folder) if present => {
            let unchanged = |local: &DirectoryEntry| {
                context.unchanged.fetch_add(1, Ordering::Relaxed);
                context.progress.add_files(1);
                context.progress.add_bytes(local.status.size);
            };
            compare::look_up(&context.session, folder.id(), &mut local, unchanged).await?
        }
        _ => HashMap::new(),
    };
    let directory = Arc::new(directory);
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for (folded, local) in local {
        let present = found.remove(&folded).unwrap_or(Comparison::Missing);
        match local.status.kind {
            EntryKind::Directory => folders.push((local, present)),
            _ => files.push((local, present)),
        }
    }
    let visited = Visited { context: &context, directory: &directory, folder: folder.as_ref(), grants };
    let below = visited.folders(folders).await?;
    visited.files(&workers, files).await?;
    Ok(below)
}

struct Visited<'a> {
    context: &'a Arc<Context>,
    directory: &'a Arc<Directory>,
    folder: Option<&'a ImportFolder>,
    grants: Grants,
}

impl Visited<'_> {
    /// Creates missing folders and returns all subdirectories to visit.
    async fn folders(&self, found: Vec<(DirectoryEntry, Comparison)>) -> Result<Vec<PendingDirectory>> {
        let mut below = Vec::with_capacity(found.len());
        let mut missing = Vec::new();
        for (local, present) in found {
            match present {
                Comparison::Present(item) if item.kind == NodeKind::Folder => {
                    match self.context.session.import_folder(&item.id.into()).await {
                        Ok(folder) => below.push(self.place(local, Some(folder), true)),
                        Err(error) => self.refuse(&local, &error).await?,
                    }
                }
                Comparison::Present(item) => self.refuse(&local, &taken(&item.name, item.kind)).await?,
                Comparison::Missing => missing.push(local),
            }
        }
        let Some(parent) = self.folder.filter(|_| !self.context.dry_run) else {
            self.context.folders.fetch_add(missing.len() as u64, Ordering::Relaxed);
            below.extend(missing.into_iter().map(|local| self.place(local, None, false)));
            return Ok(below);
        };
        let mut fitting = Vec::with_capacity(missing.len());
        for local in missing {
            match parent.check_depth(&local.name) {
                Ok(()) => fitting.push(local),
                Err(error) => self.refuse(&local, &error).await?,
            }
        }
        if fitting.is_empty() {
            return Ok(below);
        }
        let new = fitting.iter().map(|local| self.new_folder(local)).collect();
        let made = self.context.session.import_folders(parent, new).await?;
        for (local, made) in fitting.into_iter().zip(made) {
            match made {
                Ok(folder) => {
                    self.context.folders.fetch_add(1, Ordering::Relaxed);
                    below.push(self.place(local, Some(folder), false));
                }
                Err(error) => self.refuse(&local, &error).await?,
            }
        }
        Ok(below)
    }

    fn place(&self, local: DirectoryEntry, folder: Option<ImportFolder>, present: bool) -> PendingDirectory {
        let way = DirectorySource::Below(self.directory.clone(), OsString::from(local.name.as_str()));
        PendingDirectory { way, folder, present, grants: local.grants }
    }

    fn new_folder(&self, local: &DirectoryEntry) -> NewFolder {
        let own = self.context.owners.maps_permissions() && local.grants != self.grants;
        NewFolder {
            name: local.name.clone(),
            ownership: Some(batch::ownership(self.context, &local.status)),
            grants: own.then(|| local.grants.iter().copied().collect()),
        }
    }

    /// Sends files to the workers. In a dry run the files are only counted.
    async fn files(&self, workers: &Workers, found: Vec<(DirectoryEntry, Comparison)>) -> Result<()> {
        for (local, present) in found {
            let size = local.status.size;
            let replaces = match &present {
                Comparison::Present(item) if item.kind != NodeKind::Document => {
                    self.refuse(&local, &taken(&item.name, item.kind)).await?;
                    continue;
                }
                Comparison::Present(_) => true,
                Comparison::Missing => false,
            };
            if let Some(Err(error)) = self.folder.map(|folder| folder.check_depth(&local.name)) {
                self.refuse(&local, &error).await?;
                continue;
            }
            match self.folder.filter(|_| !self.context.dry_run) {
                Some(folder) => {
                    let (directory, folder) = (self.directory.clone(), folder.clone());
                    workers.send(Job { directory, name: local.name, size, folder }).await?;
                }
                None => {
                    let counter = if replaces { &self.context.replaced } else { &self.context.created };
                    counter.fetch_add(1, Ordering::Relaxed);
                    self.context.bytes.fetch_add(size, Ordering::Relaxed);
                    self.context.progress.add_files(1);
                    self.context.progress.add_bytes(size);
                }
            }
        }
        Ok(())
    }

    /// Reports an entry that is left out, and adds it to the progress with everything below it.
    async fn refuse(&self, local: &DirectoryEntry, error: &Error) -> Result<()> {
        let name = OsString::from(local.name.as_str());
        let path = self.directory.path_of(&name);
        self.context.faults.add(&Fault::new(&path, Reason::Refused, error.message()));
        let (context, directory, status) = (self.context.clone(), self.directory.clone(), local.status);
        let passed = tokio::task::spawn_blocking(move || compare::pass_over(&context, &directory, &name, &status));
        passed.await.map_err(|error| Error::unavailable("reading a directory failed").with_source(error))
    }
}

fn taken(name: &str, kind: NodeKind) -> Error {
    Error::conflict(format!("a {} already has the name \"{name}\": rename one of the two", kind.as_str()))
}
