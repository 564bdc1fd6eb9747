//! Reassembly of databases from their chunks: into a file, or as a dump that is loaded into a server.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ::blobs::BlobHasher;
use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use database::{Database, Load, Location};
use futures_util::future::join_all;
use model::{Code, Error, ErrorKind, Result, counted};

use crate::Progress;
use crate::backup::format::index::{Entry, MAX_CHUNK};
use crate::backup::format::list::List;
use crate::backup::format::manifest::DatabasePart;
use crate::backup::format::vault::BackupObjects;
use crate::backup::place::small_files::{blocking, failed};

/// Number of chunks read concurrently.
const AT_ONCE: usize = 64;

/// Reads the bytes of a database in order, several chunks at a time.
pub(super) struct Pieces<'a> {
    vault: &'a BackupObjects,
    part: &'a DatabasePart,
    list: List,
    hasher: BlobHasher,
    bytes: u64,
}

impl<'a> Pieces<'a> {
    pub fn new(vault: &'a BackupObjects, part: &'a DatabasePart) -> Self {
        Self { vault, part, list: List::new(part.chunks.clone()), hasher: BlobHasher::new(), bytes: 0 }
    }

    /// Returns the next pieces, or an empty list after the last. Reaching the end means that length and digest of the
    /// whole matched.
    #[boxed]
    pub async fn next(&mut self) -> Result<Vec<Bytes>> {
        let mut entries: Vec<Entry> = Vec::new();
        while entries.len() < AT_ONCE {
            match self.list.next(self.vault).await {
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => break,
                Err(error) => return Err(self.named(&error)),
            }
        }
        let reads = entries.into_iter().map(|entry| {
            let vault = self.vault.clone();
            tokio::spawn(async move { vault.get_all(&entry, MAX_CHUNK).await })
        });
        let mut pieces = Vec::new();
        for read in join_all(reads).await {
            let read = read.map_err(|e| Error::unavailable("reading a backup was interrupted").with_source(e))?;
            let piece = read.map_err(|error| self.named(&error))?;
            self.hasher.update(&piece);
            self.bytes += piece.len() as u64;
            pieces.push(piece);
        }
        if pieces.is_empty() && (self.bytes != self.part.bytes || self.hasher.finish().to_string() != self.part.digest)
        {
            return Err(self.named(&Error::corrupt("its chunks do not add up to what was backed up")));
        }
        Ok(pieces)
    }

    fn named(&self, error: &Error) -> Error {
        let text = format!("the database \"{}\" cannot be restored from this set: {}", self.part.name, error.message());
        Error::new(error.kind(), text)
    }
}

/// Writes a database into a new file, flushes it, and compares its pages with their checksums. With `rebuilds`, wrong
/// checksums are rebuilt, and a note about them is returned.
///
/// # Errors
/// `Corrupt` with code [`Code::PageChecksum`] when a page does not match its checksum; `Corrupt` when the file is not a
/// valid database.
pub(super) async fn file(
    vault: &BackupObjects,
    part: &DatabasePart,
    path: &Path,
    rebuilds: bool,
    progress: &Progress,
) -> Result<Option<String>> {
    let mut pieces = Pieces::new(vault, part);
    let place = path.to_owned();
    let open = move || {
        OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&place)
            .map_err(|e| failed("create", &place, e))
    };
    let mut file = blocking(open).await?;
    loop {
        let next = pieces.next().await?;
        let (ended, place) = (next.is_empty(), path.to_owned());
        progress.add_bytes(next.iter().map(|piece| piece.len() as u64).sum());
        file = blocking(move || {
            let mut write = || {
                next.iter().try_for_each(|piece| file.write_all(piece))?;
                if ended { file.sync_all() } else { Ok(()) }
            };
            write().map_err(|e| failed("write", &place, e))?;
            Ok(file)
        })
        .await?;
        if ended {
            let place = path.to_owned();
            if rebuilds {
                let rebuilt = blocking(move || Database::rebuild_checksums(&place)).await;
                return rebuilt.map(|pages| rebuilt_note(part, pages)).map_err(|error| damage_error(part, &error));
            }
            let compared = blocking(move || Database::require_intact_pages(&place)).await;
            return compared.map(|()| None).map_err(|error| checksum_error(part, &error));
        }
    }
}

/// Names the database in the error, and adds advice if page checksums do not match.
fn checksum_error(part: &DatabasePart, error: &Error) -> Error {
    let advice = match error.code() {
        Code::PageChecksum => {
            ". Take another set. Sets made by earlier versions of the program may hold intact pages with the checksums \
             of older pages: if all sets are like this, --rebuild-checksums restores this one, provided that SQLite \
             finds it intact"
        }
        _ => "",
    };
    let text = format!("the database \"{}\" of this set cannot be restored: {}{advice}", part.name, error.message());
    Error::new(error.kind(), text).with_code(error.code())
}

/// Returns the error for a database that is damaged beyond its checksums.
fn damage_error(part: &DatabasePart, error: &Error) -> Error {
    let text = match error.kind() {
        ErrorKind::Corrupt => format!(
            "the database \"{}\" of this set is damaged beyond the checksums of its pages: take another set ({})",
            part.name,
            error.report()
        ),
        _ => format!("the database \"{}\" of this set cannot be restored: {}", part.name, error.message()),
    };
    Error::new(error.kind(), text).with_code(error.code())
}

/// Returns the note about rebuilt checksums, or none when there are none.
fn rebuilt_note(part: &DatabasePart, pages: u64) -> Option<String> {
    (pages > 0).then(|| {
        format!(
            "{} of the database \"{}\" did not match their checksums, which were rebuilt: SQLite finds the database \
             intact, but it cannot be proved that every value in those pages is what was written",
            counted(pages, "page"),
            part.name
        )
    })
}

/// Loads a dump into a database of a server. With `replaces`, existing content of the database is dropped.
pub(super) async fn load(
    vault: &BackupObjects,
    part: &DatabasePart,
    location: &Location,
    replaces: bool,
    progress: &Progress,
) -> Result<()> {
    let mut pieces = Pieces::new(vault, part);
    let mut load = Load::begin(location, replaces)?;
    let loading = async {
        loop {
            let next = pieces.next().await?;
            if next.is_empty() {
                return load.finish().await;
            }
            for piece in next {
                load.write(&piece).await?;
                progress.add_bytes(piece.len() as u64);
            }
        }
    };
    loading.await.map_err(|error: Error| {
        let hint = if replaces {
            ""
        } else {
            "; name a new, empty database, or add --force to replace the content of this one permanently"
        };
        Error::new(
            error.kind(),
            format!("the database \"{}\" could not be loaded into {location}: {}{hint}", part.name, error.message()),
        )
    })
}

#[cfg(test)]
mod tests;
