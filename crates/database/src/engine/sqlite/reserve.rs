//! Owns the room on the disk that is kept back for when it is full: a file beside the database, `NAME-reserve`, that
//! holds nothing.
//!
//! It covers what the database file still has to grow by when the log is copied into it, and a fixed part beyond that for
//! the log of the transactions that go on then. A full disk refuses all others first; its room is given up for these
//! only, and taken back before others go on. Processes that use one database share the file: its length says
//! whether the room is there.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// Kept back beyond what the database file has to grow by.
const KEPT: u64 = 4 << 20;
/// The file grows by this much, so that few transactions have to wait for it.
const STEP: u64 = 1 << 20;
/// How often taking the room back is tried while the disk is full.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// The room that one database keeps back.
pub(super) struct Reserve {
    database: Arc<PathBuf>,
    // None where the room cannot be had for another reason than a full disk; then writes go on without it.
    file: Option<File>,
    // What the database file has at least; it never shrinks.
    reaches: u64,
    tried: Option<Instant>,
    given_up: Arc<AtomicBool>,
}

impl Reserve {
    /// Opens the file of a database that needs `bytes` when its log is copied, and takes the room.
    pub(super) fn open(database: &Arc<PathBuf>, bytes: u64, given_up: Arc<AtomicBool>) -> Self {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(place(database));
        let file = opened.inspect_err(|error| tell_missing(database, error));
        let mut reserve = Self { database: Arc::clone(database), file: file.ok(), reaches: 0, tried: None, given_up };
        let wanted = KEPT + reserve.beyond_file(bytes);
        // What an earlier process kept for a longer log is not needed any more.
        if let Some(file) = reserve.file.as_ref().filter(|_| reserve.length() > wanted) {
            let _ = file.set_len(wanted);
        }
        if !reserve.take(wanted) {
            reserve.tell_given_up();
        }
        reserve
    }

    /// Gives up the room of a database that is not open, if there is any.
    pub(super) fn give_up_of(database: &Path) -> bool {
        let file = OpenOptions::new().write(true).open(place(database));
        file.is_ok_and(|file| file.metadata().is_ok_and(|data| data.len() > 0) && file.set_len(0).is_ok())
    }

    /// Whether the room is there.
    pub(super) fn is_whole(&self) -> bool {
        self.file.is_none() || self.length() >= KEPT
    }

    /// Whether a commit may leave a database of `bytes`: the room for copying the log is taken where it is missing.
    pub(super) fn covers(&mut self, bytes: u64) -> bool {
        let length = self.length();
        if self.file.is_none() || KEPT + bytes <= self.reaches + length {
            return true;
        }
        let wanted = KEPT + self.beyond_file(bytes);
        length >= wanted || self.take(wanted.next_multiple_of(STEP))
    }

    /// Whether the database file can grow to `bytes` in what others left of the disk.
    pub(super) fn has_room_for(&mut self, bytes: u64) -> bool {
        let needed = self.beyond_file(bytes);
        // Where the system does not say, trying is all that is left.
        needed == 0
            || rustix::fs::statvfs(self.database.as_path()).map_or(true, |disk| disk.f_bavail * disk.f_frsize >= needed)
    }

    /// Gives up a part of the room; false when there is none. Uploads that began before the first part was given up can take that
    /// one; those that begin after it are refused, so that the last parts stay for whom they are meant.
    pub(super) fn give_up(&mut self) -> bool {
        let Some(file) = &self.file else { return false };
        // Before the room is there for anybody to take.
        let was = self.given_up.swap(true, Ordering::Relaxed);
        let length = self.length();
        // What exceeds the fixed part is for copying the log, which happens next.
        if length == 0 || file.set_len(length.min(KEPT).saturating_sub(STEP)).is_err() {
            return false;
        }
        if !was {
            self.tell_given_up();
        }
        true
    }

    /// Takes the room back for a database of `bytes`, if a try is due; whether it is there.
    pub(super) fn take_back(&mut self, bytes: u64) -> bool {
        if self.tried.is_some_and(|tried| tried.elapsed() < TRY_EVERY) {
            return false;
        }
        let wanted = KEPT + self.beyond_file(bytes);
        let taken = self.take(wanted);
        self.tried = (!taken).then(Instant::now);
        if taken && self.given_up.swap(false, Ordering::Relaxed) {
            tracing::info!(database = %self.database.display(), "the disk has room again; all writes go on");
        }
        taken
    }

    fn tell_given_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        tracing::warn!(
            database = %self.database.display(),
            "the disk is full; deleting and signing in go on in the room kept back for that, other writes are refused"
        );
    }

    /// Makes the file `length` bytes long, all of them on the disk; false when that is full.
    fn take(&mut self, length: u64) -> bool {
        let Some(file) = &self.file else { return true };
        let before = self.length();
        let taken = match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, before, length),
            other => other.map_err(io::Error::from),
        };
        let Err(error) = taken else { return true };
        // What was got before the failure is of no use, and others need it.
        let _ = file.set_len(before);
        let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        if !full {
            tell_missing(&self.database, &error);
            self.file = None;
        }
        !full
    }

    /// Bytes that a database file of `bytes` has to grow by.
    fn beyond_file(&mut self, bytes: u64) -> u64 {
        self.reaches = std::fs::metadata(self.database.as_path()).map_or(0, |data| data.len());
        bytes.saturating_sub(self.reaches)
    }

    fn length(&self) -> u64 {
        self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |data| data.len())
    }
}

fn tell_missing(database: &Path, error: &io::Error) {
    tracing::warn!(database = %database.display(), %error, "no room can be kept back for when the disk is full");
}

/// For file systems that do not allocate ahead.
fn write_zeros(file: &File, from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0; STEP as usize];
    let mut at = from;
    while at < to {
        let length = (to - at).min(STEP);
        file.write_all_at(&zeros[..length as usize], at)?;
        at += length;
    }
    file.sync_all()
}

fn place(database: &Path) -> PathBuf {
    let mut place = database.as_os_str().to_owned();
    place.push("-reserve");
    place.into()
}
