//! Whether a place is one of its own: no part of the farm, no BLOB store and no other place of backups, nor within one or around one.
//! What lies somewhere shows by its mark there, by whatever address it is reached.

use std::path::{Path, PathBuf};

use blobs::{ObjectNotes, ObjectOptions, ObjectSecrets, STORE_MARK};
use model::{Error, Result};
use repository::{BACKUP_MARK, Storage};

use super::papers::{Papers, blocking};
use super::place::BackupPlace;

/// The code of the error that a credential does not open a part of a bucket.
const REFUSED: &str = "store_credential_refused";

/// The place, a directory without links and from the root on.
///
/// # Errors
/// Conflict when it is not one of its own.
pub(super) async fn require_own(place: &BackupPlace, storage: &Storage) -> Result<BackupPlace> {
    match place {
        BackupPlace::Directory(path) => {
            let (path, storage) = (path.clone(), storage.clone());
            let find = move || {
                let path = absolute(&path)?;
                refuse_farm(&storage, &path).map(|()| path)
            };
            let path = blocking(find).await?;
            for above in path.ancestors() {
                refuse_marks(&Papers::in_directory(above), above == path, place, None).await?;
            }
            Ok(BackupPlace::Directory(path))
        }
        BackupPlace::Objects(options, secrets) => {
            refuse_prefix(place, options, secrets, storage).await?;
            Ok(place.clone())
        }
    }
}

/// Refuses a prefix that holds, or lies within, a store or another place of backups.
async fn refuse_prefix(
    place: &BackupPlace,
    options: &ObjectOptions,
    secrets: &ObjectSecrets,
    storage: &Storage,
) -> Result<()> {
    let own = options.prefix.trim_matches('/');
    let papers = |prefix: &str| {
        let options = ObjectOptions { prefix: prefix.to_owned(), ..options.clone() };
        let name = format!("{}://{}/{prefix}", options.kind.as_str(), options.bucket);
        ObjectNotes::open(&options, secrets).map(|notes| Papers::Bucket(notes, name))
    };
    let rows = storage.stores().iter().map(|(row, _)| row).filter(|row| row.kind == options.kind.as_str());
    let stores: Vec<(&str, &str, &str)> = rows
        .map(|row| {
            let (bucket, prefix) = row.location.split_once('/').unwrap_or((&row.location, ""));
            (row.name.as_str(), bucket, prefix.trim_matches('/'))
        })
        .collect();
    for above in prefixes(own) {
        let named = stores.iter().find(|(_, bucket, prefix)| *bucket == options.bucket && *prefix == above);
        let named = named.map(|(name, ..)| *name);
        match refuse_marks(&papers(above)?, above == own, place, named).await {
            // A credential for the place alone tells nothing of what is around it: its name has to.
            Err(error) if error.code() == REFUSED && above != own => match named {
                Some(name) => return Err(in_store(place, Some(name), &papers(above)?)),
                None => continue,
            },
            looked => looked?,
        }
    }
    for (name, _, prefix) in stores.iter().filter(|(.., prefix)| *prefix != own) {
        if prefixes(prefix).any(|above| above == own) && is_store(&papers(prefix)?).await? {
            return Err(taken(place, &format!("the BLOB store \"{name}\" lies within it, at {prefix}")));
        }
    }
    Ok(())
}

/// Refuses a place whose own mark, or that of something around it, is that of a store or of another place of backups.
async fn refuse_marks(papers: &Papers, is_place: bool, place: &BackupPlace, named: Option<&str>) -> Result<()> {
    if is_store(papers).await? {
        return Err(in_store(place, named, papers));
    }
    if !is_place && papers.read(BACKUP_MARK).await?.is_some() {
        return Err(taken(place, &format!("it lies within {}, another place of backups", papers.place())));
    }
    Ok(())
}

async fn is_store(papers: &Papers) -> Result<bool> {
    let found = papers.read(STORE_MARK).await?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&found).lines().any(|line| line.starts_with("owner = ")))
}

fn in_store(place: &BackupPlace, named: Option<&str>, papers: &Papers) -> Error {
    let store = named.map_or_else(|| "a BLOB store".to_owned(), |name| format!("the BLOB store \"{name}\""));
    taken(place, &format!("{store} is there, in {}", papers.place()))
}

fn taken(place: &BackupPlace, why: &str) -> Error {
    let advice = match place {
        BackupPlace::Directory(_) => "choose a directory outside of it, best on another disk",
        BackupPlace::Objects(..) => "choose a prefix outside of it, best in another bucket",
    };
    Error::conflict(format!("{place} cannot be a place of backups: {why}: {advice}")).with_code("backup_place_taken")
}

/// A prefix and everything around it, the bucket as a whole last.
fn prefixes(prefix: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(prefix), |prefix| {
        if prefix.is_empty() { None } else { Some(prefix.rsplit_once('/').map_or("", |(above, _)| above)) }
    })
}

/// Refuses a directory that is part of the farm: it would back up itself, and be lost with it.
fn refuse_farm(storage: &Storage, place: &Path) -> Result<()> {
    let data = absolute(&storage.directory())?;
    let mut parts = vec![("the data directory".to_owned(), data.clone())];
    for (row, _) in storage.stores().iter().filter(|(row, _)| row.kind == "directory") {
        parts.push((format!("the BLOB store \"{}\"", row.name), absolute(&data.join(&row.location))?));
    }
    // The innermost of those that hold the place, or the outermost in it.
    let around = |(_, part): &&(String, PathBuf)| place.starts_with(part);
    let inside = |(_, part): &&(String, PathBuf)| part.starts_with(place);
    let length = |(_, part): &&(String, PathBuf)| part.as_os_str().len();
    match parts.iter().filter(around).max_by_key(length).or_else(|| parts.iter().filter(inside).min_by_key(length)) {
        Some((name, part)) => Err(Error::conflict(format!(
            "{} and {name}, {}, lie within each other: choose a place outside, best on another disk",
            place.display(),
            part.display()
        ))
        .with_code("backup_within_farm")),
        None => Ok(()),
    }
}

/// A path without links, as far as it exists.
fn absolute(path: &Path) -> Result<PathBuf> {
    let whole = std::path::absolute(path)
        .map_err(|e| Error::invalid(format!("{} is no usable path: {e}", path.display())).with_source(e))?;
    let mut missing = Vec::new();
    let mut present = whole.as_path();
    loop {
        if let Ok(found) = present.canonicalize() {
            return Ok(missing.iter().rev().fold(found, |path, name| path.join(name)));
        }
        let (Some(parent), Some(name)) = (present.parent(), present.file_name()) else { return Ok(whole.clone()) };
        missing.push(name);
        present = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_a_prefix_ends_with_the_bucket() {
        assert_eq!(prefixes("a/b/c").collect::<Vec<_>>(), ["a/b/c", "a/b", "a", ""]);
        assert_eq!(prefixes("").collect::<Vec<_>>(), [""]);
    }
}
