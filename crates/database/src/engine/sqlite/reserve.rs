//! Owns the disk space reserved for a full disk: a file beside the database, `NAME-reserve`, without meaningful
//! content.
//!
//! The reserve covers the growth of the database file during a checkpoint of the WAL, plus a fixed part for the WAL of
//! vital transactions. When the disk is full, all other transactions are refused first. The space is released only for
//! the vital ones, and reclaimed before the others are accepted again. Processes that use one database share the file:
//! its length says whether the reserve is intact.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// Fixed part of the reserve in bytes, beyond the growth of the database file.
const KEPT: u64 = 4 << 20;
/// Step in bytes by which the reserve grows, so that few transactions have to wait for it.
const GROWTH_STEP: u64 = 1 << 20;
/// Interval between attempts to reclaim the reserve while the disk is full.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// The space reserved for one database.
pub(super) struct Reserve {
    database: Arc<PathBuf>,
    // `None` if the space cannot be reserved for a reason other than a full disk; writes then go on without a reserve.
    file: Option<File>,
    // Lower bound of the size of the database file, which never shrinks.
    reaches: u64,
    tried: Option<Instant>,
    given_up: Arc<AtomicBool>,
}

impl Reserve {
    /// Opens the reserve of a database that needs `bytes` after a checkpoint, and allocates the space.
    pub(super) fn open(database: &Arc<PathBuf>, bytes: u64, given_up: Arc<AtomicBool>) -> Self {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(place(database));
        let file = opened.inspect_err(|error| tell_missing(database, error));
        let mut reserve = Self { database: Arc::clone(database), file: file.ok(), reaches: 0, tried: None, given_up };
        let wanted = KEPT + reserve.beyond_file(bytes);
        // An earlier process may have reserved more, for a longer WAL. That is no longer needed.
        if let Some(file) = reserve.file.as_ref().filter(|_| reserve.length() > wanted) {
            let _ = file.set_len(wanted);
        }
        if !reserve.allocate(wanted) {
            reserve.tell_given_up();
        }
        reserve
    }

    /// Releases the reserve of a database that is not open. Returns whether there was any.
    pub(super) fn give_up_of(database: &Path) -> bool {
        let file = OpenOptions::new().write(true).open(place(database));
        file.is_ok_and(|file| file.metadata().is_ok_and(|data| data.len() > 0) && file.set_len(0).is_ok())
    }

    /// Returns whether the reserve is intact.
    pub(super) fn is_whole(&self) -> bool {
        self.file.is_none() || self.length() >= KEPT
    }

    /// Returns whether a commit may leave a database of `bytes`. Extends the reserve if it does not cover the
    /// checkpoint.
    pub(super) fn ensure_covers(&mut self, bytes: u64) -> bool {
        let length = self.length();
        if self.file.is_none() || KEPT + bytes <= self.reaches + length {
            return true;
        }
        let wanted = KEPT + self.beyond_file(bytes);
        length >= wanted || self.allocate(wanted.next_multiple_of(GROWTH_STEP))
    }

    /// Returns whether the database file can grow to `bytes` in the free space of the disk.
    pub(super) fn has_room_for(&mut self, bytes: u64) -> bool {
        let needed = self.beyond_file(bytes);
        // If the system does not report the free space, the checkpoint is attempted.
        needed == 0
            || rustix::fs::statvfs(self.database.as_path()).map_or(true, |disk| disk.f_bavail * disk.f_frsize >= needed)
    }

    /// Releases a part of the reserve; false if there is none. Uploads that began before the release of the first part
    /// may consume that part. Later ones are refused, so that the remaining parts are left to the vital transactions.
    pub(super) fn release_part(&mut self) -> bool {
        let Some(file) = &self.file else { return false };
        // The flag is set before any space becomes free for others.
        let was = self.given_up.swap(true, Ordering::Relaxed);
        let length = self.length();
        // The excess over the fixed part is meant for the checkpoint, which follows next.
        if length == 0 || file.set_len(length.min(KEPT).saturating_sub(GROWTH_STEP)).is_err() {
            return false;
        }
        if !was {
            self.tell_given_up();
        }
        true
    }

    /// Reclaims the reserve for a database of `bytes`, if an attempt is due. Returns whether the reserve is intact.
    pub(super) fn reclaim(&mut self, bytes: u64) -> bool {
        if self.tried.is_some_and(|tried| tried.elapsed() < TRY_EVERY) {
            return false;
        }
        let wanted = KEPT + self.beyond_file(bytes);
        let taken = self.allocate(wanted);
        self.tried = (!taken).then(Instant::now);
        if taken && self.given_up.swap(false, Ordering::Relaxed) {
            tracing::info!(
                database = %self.database.display(),
                "the disk has free space again; all writes are accepted"
            );
        }
        taken
    }

    fn tell_given_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        tracing::warn!(
            database = %self.database.display(),
            "the disk is full; deletion and sign-in still work in the reserved space, other writes are refused"
        );
    }

    /// Extends the file to `length` bytes, all allocated on the disk; false if the disk is full.
    fn allocate(&mut self, length: u64) -> bool {
        let Some(file) = &self.file else { return true };
        let before = self.length();
        let taken = match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, before, length),
            other => other.map_err(io::Error::from),
        };
        let Err(error) = taken else { return true };
        // A partial allocation is useless, and others need the space.
        let _ = file.set_len(before);
        let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        if !full {
            tell_missing(&self.database, &error);
            self.file = None;
        }
        !full
    }

    /// Number of bytes by which the file has to grow for a database of `bytes`.
    fn beyond_file(&mut self, bytes: u64) -> u64 {
        self.reaches = std::fs::metadata(self.database.as_path()).map_or(0, |data| data.len());
        bytes.saturating_sub(self.reaches)
    }

    fn length(&self) -> u64 {
        self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |data| data.len())
    }
}

fn tell_missing(database: &Path, error: &io::Error) {
    tracing::warn!(database = %database.display(), %error, "no space can be reserved for when the disk is full");
}

/// Fallback for file systems without preallocation.
fn write_zeros(file: &File, from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0; GROWTH_STEP as usize];
    let mut at = from;
    while at < to {
        let length = (to - at).min(GROWTH_STEP);
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
