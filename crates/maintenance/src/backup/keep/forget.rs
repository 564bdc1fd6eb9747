//! Removal of a backup from the farm's records when its location is lost, so that the backup no longer holds back
//! garbage collection.

use database::Transaction;
use database::configuration::backup;
use futures_util::future::BoxFuture;
use model::{Code, Error, Id, Result};
use repository::{BACKUP_MARKER, BackupHold, NotedBackup, Session};

use crate::backup::place::destination::sets_in;
use crate::backup::place::location::BackupLocation;

/// Result of forgetting a backup.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// The forgotten backup.
    pub backup: NotedBackup,
    /// Hold on garbage collection that the backup had. None for a backup that contains its own BLOBs.
    pub held: Option<BackupHold>,
    /// Set when the location still holds other backups of the farm. None when the location was not checked.
    pub other_backups_present: Option<bool>,
}

/// Removes a backup from the farm's records. Unless `place` is none, the location is checked first: a backup that still
/// exists is not forgotten.
///
/// # Errors
/// `Forbidden` for callers other than farm administrators; `NotFound`; `Conflict` with code `backup_not_kept`, or with
/// `backup_is_there` when the location still holds the backup; `Unavailable` when the location gives no conclusive
/// answer.
pub fn forget_backup<'a>(
    session: &'a Session,
    id: Id,
    place: Option<&'a BackupLocation>,
) -> BoxFuture<'a, Result<Forgotten>> {
    Box::pin(async move {
        let backup = session.kept_backup(id).await?;
        let place_answers = match place {
            Some(place) => Some(check_absent(place, id).await?),
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
        Ok(Forgotten { backup, held, other_backups_present: place_answers })
    })
}

/// Refuses when the location holds the set, or when that cannot be determined. Returns whether the location holds any
/// backups.
async fn check_absent(place: &BackupLocation, id: Id) -> Result<bool> {
    let unsure = |error: Error| {
        let text = format!(
            "it cannot be determined whether {place} still has the backup {id} ({}): make it reachable, or, if it is \
             gone for good, add --force",
            error.message()
        );
        Error::new(error.kind(), text).with_source(error)
    };
    let files = place.files()?;
    if files.read(BACKUP_MARKER).await.map_err(unsure)?.is_none() {
        return Ok(false);
    }
    if sets_in(&files).await.map_err(unsure)?.iter().any(|set| set.id == id) {
        return Err(Error::conflict(format!(
            "{place} still has the backup {id}, which needs the BLOBs that it holds: remove it there with \
             `strongroom backup remove {place} {id}`, or by rules with \
             `strongroom backup prune {place} --retain RULES`; --force forgets it anyway"
        ))
        .with_code(Code::BackupIsThere));
    }
    Ok(true)
}
