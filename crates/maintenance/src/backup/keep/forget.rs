//! Ending what the farm knows of a backup whose place is gone, so that it holds nothing back any more.

use database::Transaction;
use database::configuration::backup;
use futures_util::future::BoxFuture;
use model::{Code, Error, Id, Result};
use repository::{BACKUP_MARK, BackupHold, NotedBackup, Session};

use crate::backup::place::destination::sets_in;
use crate::backup::place::location::BackupPlace;

/// What the farm forgot.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// The backup.
    pub backup: NotedBackup,
    /// What it held back; none for a backup with BLOBs of its own.
    pub held: Option<BackupHold>,
    /// Whether there are backups of the farm in its place, though not this one; none when nobody looked.
    pub place_answers: Option<bool>,
}

/// Drops the farm's knowledge of a backup. Its place is looked into first, unless none is given: a backup that is there is not forgotten.
///
/// # Errors
/// `Forbidden` for others than farm administrators; `NotFound`; `Conflict` with code `backup_not_kept`, or with `backup_is_there` when
/// its place has it; `Unavailable` when its place gives no certain answer.
pub fn forget_backup<'a>(
    session: &'a Session,
    id: Id,
    place: Option<&'a BackupPlace>,
) -> BoxFuture<'a, Result<Forgotten>> {
    Box::pin(async move {
        let backup = session.kept_backup(id).await?;
        let place_answers = match place {
            Some(place) => Some(look(place, id).await?),
            None => None,
        };
        let storage = session.storage().await?;
        let held = storage.backup_holds().await?.into_iter().find(|hold| hold.id == id);
        let (actor, destination) = (storage.clone(), backup.destination.clone());
        let forget = move |transaction: &mut Transaction<'_>| {
            backup::remove(transaction, id)?;
            actor.record(transaction, "backup.forget", &id.to_string(), &destination)
        };
        storage.configuration().write(forget).await?;
        Ok(Forgotten { backup, held, place_answers })
    })
}

/// Refuses a place that has the set, or of which that is not certain. Whether there are backups.
async fn look(place: &BackupPlace, id: Id) -> Result<bool> {
    let unsure = |error: Error| {
        let text = format!(
            "whether {place} still has the backup {id} cannot be told ({}): make it answer, or, when it is gone for good, add --force",
            error.message()
        );
        Error::new(error.kind(), text).with_source(error)
    };
    let papers = place.papers()?;
    if papers.read(BACKUP_MARK).await.map_err(unsure)?.is_none() {
        return Ok(false);
    }
    if sets_in(&papers).await.map_err(unsure)?.iter().any(|set| set.id == id) {
        return Err(Error::conflict(format!(
            "{place} still has the backup {id}, which needs what it holds back: remove it there, with `strongroom backup remove {place} {id}` \
             or by rules with `strongroom backup prune {place} --retain RULES`; --force forgets it all the same"
        ))
        .with_code(Code::BackupIsThere));
    }
    Ok(true)
}
