//! Owns a cheap test for whether anything has been committed: the header of the WAL index. It lies in memory that all
//! processes share, and each commit changes it before it is acknowledged.
//!
//! The header is described in the section "The WAL-Index Header" of SQLite's description of its WAL format: two equal
//! copies of 48 bytes, the second of which is written first.

use std::ffi::{c_int, c_void};
use std::path::PathBuf;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use model::Result;
use rusqlite::ffi;

use super::connection::{Connection, Role};
use crate::engine::state::Mark;

/// Number of 32-bit words in one copy of the header.
const WORDS: usize = 12;
/// Index of the word that contains the `isInit` flag, which is non-zero in either byte order once the header has been
/// written.
const STATE: usize = 3;
/// Unit in which SQLite maps the WAL index.
const REGION: c_int = 32 * 1024;

/// The mapping of the header, valid as long as the connection from which it was obtained.
pub(super) struct Header {
    words: Option<NonNull<AtomicU32>>,
    _connection: Connection,
}

// SAFETY: the memory is shared between processes by design. It is only read here, word by word and atomically.
unsafe impl Send for Header {}
// SAFETY: as above; the connection is never used again.
unsafe impl Sync for Header {}

impl Header {
    pub(super) fn open(path: &Arc<PathBuf>, patience: Duration) -> Result<Self> {
        let connection = Connection::open(path, Role::Reader, patience)?;
        let words = words(connection.raw());
        if words.is_none() {
            tracing::warn!(
                database = %path.display(),
                "changes of the database cannot be detected cheaply; data that could be cached is read each time"
            );
        }
        Ok(Self { words, _connection: connection })
    }

    /// Returns `None` while a commit is in progress.
    pub(super) fn mark(&self) -> Option<Mark> {
        let words = self.words?;
        // SAFETY: the mapping has `REGION` bytes, is aligned to a page and stays while the connection is open.
        let word = |index: usize| unsafe { words.add(index).as_ref() }.load(Ordering::Acquire);
        let first: [u32; WORDS] = std::array::from_fn(word);
        fence(Ordering::SeqCst);
        let second: [u32; WORDS] = std::array::from_fn(|index| word(WORDS + index));
        (first == second && first[STATE] != 0).then_some(Mark(first))
    }
}

/// Obtains SQLite's own mapping of the header. Opening the file again would be wrong, since closing it would drop the
/// locks that this process holds on it.
fn words(raw: &rusqlite::Connection) -> Option<NonNull<AtomicU32>> {
    // The WAL is opened by the first read.
    raw.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).ok()?;
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the handle is open, the name ends with a zero, and this control stores one pointer at the given address.
    let answer = unsafe {
        let out = (&raw mut file).cast::<c_void>();
        ffi::sqlite3_file_control(raw.handle(), c"main".as_ptr(), ffi::SQLITE_FCNTL_FILE_POINTER, out)
    };
    if answer != ffi::SQLITE_OK || file.is_null() {
        return None;
    }
    let mut region: *mut c_void = ptr::null_mut();
    // SAFETY: the file belongs to the open connection. Mapping a region that is already mapped only returns its
    // address, and with 0 as the penultimate argument nothing is created.
    let answer = unsafe {
        let map = (*file).pMethods.as_ref()?.xShmMap?;
        map(file, 0, REGION, 0, &raw mut region)
    };
    if answer != ffi::SQLITE_OK { None } else { NonNull::new(region.cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_changes_with_each_commit_of_any_connection_and_with_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = Arc::new(directory.path().join("a.sqlite"));
        let patience = Duration::from_secs(5);
        let other = rusqlite::Connection::open(path.as_path()).unwrap();
        other.pragma_update(None, "journal_mode", "wal").unwrap();
        other.execute("CREATE TABLE a (b INTEGER)", []).unwrap();
        let header = Header::open(&path, patience).unwrap();
        let mut last = header.mark().unwrap();
        for round in 0..50 {
            other.execute("BEGIN", []).unwrap();
            other.execute("INSERT INTO a VALUES (1)", []).unwrap();
            assert_eq!(header.mark(), Some(last), "before the commit of round {round}");
            other.execute(if round % 3 == 2 { "ROLLBACK" } else { "COMMIT" }, []).unwrap();
            let now = header.mark().unwrap();
            assert_eq!(now != last, round % 3 != 2, "after round {round}");
            last = now;
            if round % 7 == 0 {
                other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
                last = header.mark().unwrap();
            }
        }
    }
}
