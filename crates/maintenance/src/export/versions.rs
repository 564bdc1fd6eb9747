//! Export of a document's earlier versions, as files `.versions/<path of the document>/<number>.<extension>`.

use std::ffi::OsStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::Result;
use repository::{Target, Version, VersionChoice};

use super::context::{Context, Job, ended};
use super::file::{fault_or_error, write_file};
use crate::posix::{Directory, EntryKind};
use crate::progress::{Fault, Reason};

/// Name of the directory for earlier versions. The name is identical to its folded form.
pub(super) const DIRECTORY: &str = ".versions";
/// Number of versions per page.
const PAGE: usize = 1_000;

/// Writes all versions of a document except the one that was exported as the document itself.
pub(super) async fn write(context: &Arc<Context>, job: &Job) -> Result<()> {
    let target: Target = job.item.id.into();
    let mut directory: Option<Arc<Directory>> = None;
    let mut before = None;
    loop {
        let page = match context.session.versions(&target, before, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                context.faults.add(&fault_or_error(&job.directory, &job.item.name, error)?);
                return Ok(());
            }
        };
        for version in page.items.iter().filter(|version| Some(version.id) != job.item.version_id) {
            let into = match &directory {
                Some(directory) => directory.clone(),
                None => match make(context, job).await? {
                    Ok(made) => directory.insert(Arc::new(made)).clone(),
                    Err(fault) => {
                        context.faults.add(&fault);
                        return Ok(());
                    }
                },
            };
            one(context, job, &into, version).await?;
        }
        before = page.next;
        if before.is_none() {
            return Ok(());
        }
    }
}

async fn make(context: &Arc<Context>, job: &Job) -> Result<Result<Directory, Fault>> {
    let (context, path) = (context.clone(), job.directory.path_of(job.item.name.as_ref()));
    let made = tokio::task::spawn_blocking(move || {
        let mut directory = context.root.make(DIRECTORY.as_ref())?;
        for name in path.iter() {
            directory = directory.make(name)?;
        }
        Ok(directory)
    });
    let made: std::io::Result<Directory> = made.await.map_err(ended)?;
    Ok(made.map_err(|error| {
        let path = job.directory.path_of(job.item.name.as_ref());
        Fault::new(&path, Reason::Unwritable, format!("the directory for its versions cannot be created: {error}"))
    }))
}

async fn one(context: &Arc<Context>, job: &Job, directory: &Arc<Directory>, version: &Version) -> Result<()> {
    let extension = model::Name::new(job.item.name.as_str())?.extension();
    let dot = if extension.is_empty() { "" } else { "." };
    let name = format!("{}{dot}{extension}", version.number);
    let present = directory.status(OsStr::new(&name)).is_ok_and(|status| {
        status.kind == EntryKind::File && status.size == version.size && status.modified == version.created_at
    });
    if present {
        return Ok(());
    }
    let written = match context.session.open(&job.item.id.into(), VersionChoice::Number(version.number)).await {
        Ok(content) => write_file(context, directory, &name, content, version.created_at).await?,
        Err(error) => Err(fault_or_error(directory, &name, error)?),
    };
    match written {
        Ok(bytes) => {
            context.version_files.fetch_add(1, Ordering::Relaxed);
            context.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        Err(fault) => context.faults.add(&fault),
    }
    Ok(())
}
