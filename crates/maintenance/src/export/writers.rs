//! Writer tasks: each takes a document from the queue and writes it, together with its earlier versions if requested.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::Result;
use repository::VersionChoice;
use tokio::sync::{Mutex, mpsc};

use super::context::{Context, Job};
use super::file::{fault_or_error, write_file};
use super::versions;

/// Writes documents until the queue is closed.
pub(super) async fn run(context: Arc<Context>, jobs: Arc<Mutex<mpsc::Receiver<Job>>>) -> Result<()> {
    loop {
        let next = jobs.lock().await.recv().await;
        let Some(job) = next else { return Ok(()) };
        if !job.present {
            document(&context, &job).await?;
        }
        if context.versions {
            versions::write(&context, &job).await?;
        }
    }
}

async fn document(context: &Arc<Context>, job: &Job) -> Result<()> {
    let opened = context.session.open(&job.item.id.into(), VersionChoice::Visible).await;
    let written = match opened {
        Ok(content) => {
            let time = content.item.modified_at;
            write_file(context, &job.directory, &job.item.name, content, time).await?
        }
        Err(error) => Err(fault_or_error(&job.directory, &job.item.name, error)?),
    };
    context.progress.add_files(1);
    match written {
        Ok(bytes) => {
            context.written.fetch_add(1, Ordering::Relaxed);
            context.bytes.fetch_add(bytes, Ordering::Relaxed);
            context.progress.add_bytes(bytes);
        }
        Err(fault) => {
            context.faults.add(&fault);
            context.progress.add_bytes(job.item.size);
        }
    }
    Ok(())
}
