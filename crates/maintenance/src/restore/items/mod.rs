//! Restore of a site, a library, a list or a single document from a set into the live farm, with versions, permissions,
//! columns, authors and times. Everything is created through a [`Session`], which checks the caller's permissions.

mod context;
mod destination;
mod lists;
mod options;
mod places;
mod source;
mod walk;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use model::{Code, Error, Result, Timestamp};
use repository::Session;
use time::OffsetDateTime;

use crate::Progress;
use crate::backup::TemporaryDirectory;
use crate::backup::place::destination::{Destination, Use};
use context::Walk;
pub use options::{ItemsOptions, ItemsSummary};
use source::Source;

/// Restores a site, library, list or document, with everything below it.
///
/// # Errors
/// `NotFound` when the set has no item at the path; `Conflict` when the item there is of another kind; errors of the
/// session. A single document that cannot be restored is reported as a fault, and the others are restored.
pub fn restore_items<'a>(
    session: &'a Session,
    options: &'a ItemsOptions,
    progress: Arc<Progress>,
) -> BoxFuture<'a, Result<ItemsSummary>> {
    Box::pin(async move {
        let storage = session.storage().await?;
        let destination = Destination::open(&options.source, options.key_file.as_deref(), Use::Read).await?;
        let scratch = TemporaryDirectory::new_shared(storage.directory(), "restore-items-").await?;
        let restored = async {
            let source = Source::open(session, storage, &destination, &scratch, options, &progress).await?;
            let restored = bring(session, &source, options, &progress).await;
            source.close().await;
            restored
        };
        let restored = restored.await;
        destination.close().await;
        restored
    })
}

async fn bring(
    session: &Session,
    source: &Source<'_>,
    options: &ItemsOptions,
    progress: &Arc<Progress>,
) -> Result<ItemsSummary> {
    let top = source.find(&options.path).await?;
    if top.kind != options.kind {
        return Err(Error::conflict(format!(
            "\"{}\" is a {} in this backup, not a {}",
            options.path,
            top.kind.as_str(),
            options.kind.as_str()
        ))
        .with_code(Code::WrongKind));
    }
    let mut walk = Walk::new(session, source, progress.clone());
    walk.summary.set = Some(source.set);
    walk.summary.notes.clone_from(&source.notes);
    let suffix = options.beside.then(|| label(source.started));
    walk.top(&options.path, &top, suffix.as_deref()).await?;
    Ok(walk.summary)
}

/// Returns the suffix for the name of an item that is restored beside the existing one.
fn label(at: Timestamp) -> String {
    let at = OffsetDateTime::from_unix_timestamp(at.seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!(" (backup of {})", at.date())
}
