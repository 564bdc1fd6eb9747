//! Writing of one document: into a temporary file that gets the document's time and is then renamed to the final name.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use model::{Error, ErrorKind, Result, Timestamp};
use repository::Content;
use tokio::sync::mpsc;

use super::context::{Context, ended};
use crate::posix::{Directory, set_modified};
use crate::progress::{Fault, Reason};

/// Prefix and suffix of temporary file names.
const PART: (&str, &str) = (".strongroom-export-", ".part");
/// Number of 256 KiB pieces that are read ahead of the disk.
const AHEAD: usize = 8;

/// Returns whether a file name is that of a temporary file.
pub(super) fn is_part(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(PART.0.as_bytes()) && name.ends_with(PART.1.as_bytes())
}

/// Returns the fault if the error concerns only this document. Returns the error if it must end the export.
pub(super) fn fault_or_error(directory: &Directory, name: &str, error: Error) -> Result<Fault> {
    let reason = match error.kind() {
        ErrorKind::Corrupt => Reason::Damaged,
        ErrorKind::Unavailable | ErrorKind::Exhausted => return Err(error),
        _ => Reason::Refused,
    };
    Ok(Fault::new(&directory.path_of(name.as_ref()), reason, error.message()))
}

/// Cause of a document that was not written.
enum WriteError {
    /// Reading the content from the farm failed.
    Content(Error),
    /// Writing to the file system failed.
    File(io::Error),
}

/// Writes content to a file and returns its length.
pub(super) async fn write_file(
    context: &Arc<Context>,
    directory: &Arc<Directory>,
    name: &str,
    mut content: Content,
    time: Timestamp,
) -> Result<Result<u64, Fault>> {
    let (pieces, received) = mpsc::channel(AHEAD);
    let (part, directory_, name_) = (context.part.fetch_add(1, Ordering::Relaxed), directory.clone(), name.to_owned());
    let writing = tokio::task::spawn_blocking(move || write(&directory_, &name_, part, time, received));
    let mut failure = None;
    loop {
        let piece = match content.next_chunk().await {
            Ok(Some(piece)) => Ok(piece),
            Ok(None) => break,
            Err(error) => Err(error),
        };
        let ends = piece.is_err();
        // A writer that has stopped returns its error below, when it is joined.
        if pieces.send(piece.map_err(|error| failure = Some(error))).await.is_err() || ends {
            break;
        }
    }
    drop(pieces);
    let written = writing.await.map_err(ended)?;
    let trouble = match (written, failure) {
        (_, Some(error)) => WriteError::Content(error),
        (Err(error), None) => WriteError::File(error),
        (Ok(bytes), None) => return Ok(Ok(bytes)),
    };
    match trouble {
        WriteError::Content(error) => fault_or_error(directory, name, error).map(Err),
        WriteError::File(error) if is_full(&error) => Err(Error::exhausted(format!(
            "the destination's disk is full ({error}): make room, then export again to continue"
        ))
        .with_source(error)),
        WriteError::File(error) => {
            let reason = if cannot_name(&error) { Reason::Name } else { Reason::Unwritable };
            Ok(Err(Fault::new(&directory.path_of(name.as_ref()), reason, format!("it cannot be written: {error}"))))
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Writes pieces to the file until the channel is closed. Blocking. An error in place of a piece abandons the file.
fn write(
    directory: &Directory,
    name: &str,
    part: u64,
    time: Timestamp,
    mut pieces: mpsc::Receiver<Result<Bytes, ()>>,
) -> io::Result<u64> {
    let temporary = format!("{}{part}{}", PART.0, PART.1);
    let temporary = OsStr::new(&temporary);
    let file = directory.create(temporary)?;
    let written = fill(&file, &mut pieces).and_then(|length| {
        set_modified(&file, time)?;
        directory.rename(temporary, name.as_ref())?;
        Ok(length)
    });
    if written.is_err() {
        // The next export removes a temporary file that cannot be removed now.
        let _ = directory.remove(temporary);
    }
    written
}

fn fill(mut file: &File, pieces: &mut mpsc::Receiver<Result<Bytes, ()>>) -> io::Result<u64> {
    let mut length = 0;
    while let Some(piece) = pieces.blocking_recv() {
        let piece = piece.map_err(|()| io::Error::other("the content ended early"))?;
        file.write_all(&piece)?;
        length += piece.len() as u64;
    }
    Ok(length)
}

/// Returns whether the file system rejected a name.
pub(super) fn cannot_name(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidFilename, InvalidInput};
    matches!(error.kind(), InvalidFilename | InvalidInput)
        || error.raw_os_error() == Some(rustix::io::Errno::ILSEQ.raw_os_error())
}
