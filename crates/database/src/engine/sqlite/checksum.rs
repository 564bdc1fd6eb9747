//! Owns the checksum at the end of each page of a database file: a VFS layer between SQLite and the operating system,
//! which writes the checksum with the page and verifies it on reading. A page that differs from what was written is an
//! error, never returned as data.
//!
//! The format is that of SQLite's own `cksumvfs`: 8 reserved bytes at the end of each page, and the number 8 in the
//! file's header, without which nothing is verified. That number alone is not trusted. If the first page has a valid
//! checksum once the number is put in, the header has lost the number. And a file for which checksums are recorded
//! beside it (`commits.rs`) has them whatever its header says. WAL frames have SQLite's own checksums. This module
//! knows no table and no connection.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};

use super::commits;

/// Name of the VFS layer.
pub(super) const NAME: &CStr = c"strongroom-checksums";
/// Bytes of the checksum at the end of each page.
const SUM: usize = 8;
/// Checksum of a page of zeros, so that a page that lost its content is not mistaken for one written as zeros.
const SUM_OF_ZEROS: [u8; SUM] = [0xff; SUM];
/// First bytes of each database file, the length of its header, and the offset of the number of reserved bytes in it.
const MAGIC: &[u8] = b"SQLite format 3\0";
const HEADER: usize = 100;
const RESERVED_AT: usize = 20;
/// Minimum page size.
const SMALLEST: usize = 512;

/// The system's VFS, which does everything but the checksums.
struct System(*mut sqlite3_vfs);

// SAFETY: SQLite's own layers are never changed or removed after registration, and any thread may use them.
unsafe impl Send for System {}
// SAFETY: as above.
unsafe impl Sync for System {}

static SYSTEM: OnceLock<Option<System>> = OnceLock::new();

/// Registers the layer, once per process. Returns false if SQLite refuses it.
pub(super) fn register() -> bool {
    SYSTEM.get_or_init(install).is_some()
}

fn install() -> Option<System> {
    // SAFETY: without a name SQLite returns its default layer, or null.
    let system = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    // SAFETY: the pointer is null or points to a registered layer, which never changes.
    let mut layer = unsafe { *system.as_ref()? };
    layer.szOsFile += c_int::try_from(mem::size_of::<Checked>()).ok()?;
    layer.pNext = ptr::null_mut();
    layer.zName = NAME.as_ptr();
    layer.xOpen = Some(open);
    // SQLite keeps the address for the lifetime of the process.
    let layer = Box::leak(Box::new(layer));
    // SAFETY: the layer lives for ever. Its other functions are those of the system's layer, which treat it as their
    // own.
    let answer = unsafe { ffi::sqlite3_vfs_register(layer, 0) };
    (answer == ffi::SQLITE_OK).then_some(System(system))
}

/// An open database file. The file object of the system's layer follows it in memory.
#[repr(C)]
struct Checked {
    base: sqlite3_file,
    /// Set if the pages of this file end with checksums.
    sums: bool,
    /// Set once the disk has failed to read or write a part of this file, or has returned other bytes than were
    /// written.
    failed: bool,
}

/// The file object of the system's layer.
///
/// # Safety
/// `file` must have been opened by [`open`] as a database file or its log.
unsafe fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: SQLite allocated as much memory as the layer requested, so the system's file object follows `Checked`.
    unsafe { file.cast::<Checked>().add(1).cast() }
}

/// Returns whether a first page has lost the number in its header: its checksum is valid once the number is restored.
fn has_lost_marker(page: &[u8]) -> bool {
    let mut whole = page.to_vec();
    whole[RESERVED_AT] = SUM as u8;
    is_intact(&whole)
}

/// Returns whether checksums are recorded beside the file that SQLite opens.
///
/// # Safety
/// `name` must be null or end with a zero.
unsafe fn are_noted(name: ffi::sqlite3_filename) -> bool {
    if name.is_null() {
        return false;
    }
    // SAFETY: guaranteed by the caller.
    let name = unsafe { CStr::from_ptr(name) };
    commits::has_checksums(Path::new(OsStr::from_bytes(name.to_bytes())))
}

/// Computes two interleaved sums over the page, read as little-endian 32-bit words.
fn sum_of(content: &[u8]) -> [u8; SUM] {
    let (mut first, mut second) = (0u32, 0u32);
    for pair in content.chunks_exact(SUM) {
        let word = |at: usize| u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        first = first.wrapping_add(word(0)).wrapping_add(second);
        second = second.wrapping_add(word(4)).wrapping_add(first);
    }
    if (first, second) == (0, 0) && content.iter().all(|byte| *byte == 0) {
        return SUM_OF_ZEROS;
    }
    let mut sum = [0; SUM];
    sum[..4].copy_from_slice(&first.to_le_bytes());
    sum[4..].copy_from_slice(&second.to_le_bytes());
    sum
}

/// Returns whether a page matches its checksum.
fn is_intact(page: &[u8]) -> bool {
    let (content, sum) = page.split_at(page.len() - SUM);
    sum_of(content) == sum
}

/// Returns whether this length is that of a whole page.
fn is_page(length: usize) -> bool {
    length >= SMALLEST && length.is_power_of_two()
}

impl Checked {
    /// Learns from the header that the file has checksums. Once known, this stays true: a header that later denies it
    /// is damaged.
    fn learn_from_header(&mut self, offset: sqlite3_int64, bytes: &[u8]) {
        if offset == 0 && bytes.len() >= HEADER && bytes.starts_with(MAGIC) {
            self.sums |= usize::from(bytes[RESERVED_AT]) == SUM;
        }
    }

    /// Returns whether these bytes at this offset are intact, as far as that can be determined.
    fn is_plausible(&self, offset: sqlite3_int64, bytes: &[u8]) -> bool {
        match (is_page(bytes.len()), self.sums) {
            (false, _) => true,
            (true, true) => is_intact(bytes),
            (true, false) => offset != 0 || !has_lost_marker(bytes),
        }
    }
}

unsafe extern "C" fn open(
    _layer: *mut sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    given: *mut c_int,
) -> c_int {
    let Some(Some(System(system))) = SYSTEM.get() else { return ffi::SQLITE_ERROR };
    // SAFETY: SQLite calls this with memory for a file of this layer, which is larger than one of the system's.
    // Temporary files are passed to the system's layer unchanged. A WAL has no checksums of this layer, but it is
    // included because a disk error while reading it must not count as a damaged database either.
    unsafe {
        let Some(open) = (**system).xOpen else { return ffi::SQLITE_ERROR };
        if flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) == 0 {
            return open(*system, name, file, flags, given);
        }
        let checked = file.cast::<Checked>();
        checked.write(Checked { base: sqlite3_file { pMethods: ptr::null() }, sums: are_noted(name), failed: false });
        let answer = open(*system, name, inner(file), flags, given);
        if answer == ffi::SQLITE_OK {
            (*checked).base.pMethods = &raw const METHODS;
        }
        answer
    }
}

unsafe extern "C" fn read(file: *mut sqlite3_file, to: *mut c_void, count: c_int, offset: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls this with an open file of this layer and a buffer of `count` bytes.
    unsafe {
        let answer = read_checked(file, to, count, offset);
        (*file.cast::<Checked>()).failed |= !matches!(answer, ffi::SQLITE_OK | ffi::SQLITE_IOERR_SHORT_READ);
        answer
    }
}

/// Reads, and verifies the checksum of a whole page.
///
/// # Safety
/// As for the layer's [`read`].
unsafe fn read_checked(file: *mut sqlite3_file, to: *mut c_void, count: c_int, offset: sqlite3_int64) -> c_int {
    // SAFETY: the file is an open one of this layer. Its buffer has `count` bytes, which the system's layer fills.
    unsafe {
        let system = inner(file);
        let Some(read) = (*(*system).pMethods).xRead else { return ffi::SQLITE_IOERR_READ };
        match read(system, to, count, offset) {
            ffi::SQLITE_OK => {}
            // SQLite would take the missing end of a page for zeros. A page that is missing entirely may be just about
            // to be written.
            ffi::SQLITE_IOERR_SHORT_READ
                if (*file.cast::<Checked>()).sums && usize::try_from(count).is_ok_and(is_page) =>
            {
                let mut end = 0;
                let known = size(file, &raw mut end) == ffi::SQLITE_OK;
                return if known && end <= offset { ffi::SQLITE_IOERR_SHORT_READ } else { ffi::SQLITE_IOERR_DATA };
            }
            // A disk that reports an error is not a damaged database, but SQLite would take this code for one.
            ffi::SQLITE_IOERR_CORRUPTFS => return ffi::SQLITE_IOERR_READ,
            other => return other,
        }
        let bytes = slice::from_raw_parts(to.cast::<u8>(), usize::try_from(count).unwrap_or(0));
        let checked = &mut *file.cast::<Checked>();
        checked.learn_from_header(offset, bytes);
        if checked.is_plausible(offset, bytes) { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_DATA }
    }
}

unsafe extern "C" fn write(file: *mut sqlite3_file, from: *const c_void, count: c_int, offset: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls this with an open file of this layer and a buffer of `count` bytes of its own. The reserved
    // bytes of the buffer belong to the layer: nothing else reads them, and the buffer is not used elsewhere meanwhile.
    unsafe {
        let length = usize::try_from(count).unwrap_or(0);
        let checked = &mut *file.cast::<Checked>();
        checked.learn_from_header(offset, slice::from_raw_parts(from.cast::<u8>(), length));
        if checked.sums && is_page(length) {
            let page = slice::from_raw_parts_mut(from.cast_mut().cast::<u8>(), length);
            let (content, sum) = page.split_at_mut(length - SUM);
            sum.copy_from_slice(&sum_of(content));
        }
        let system = inner(file);
        let Some(write) = (*(*system).pMethods).xWrite else { return ffi::SQLITE_IOERR_WRITE };
        let answer = write(system, from, count, offset);
        checked.failed |= answer != ffi::SQLITE_OK;
        answer
    }
}

unsafe extern "C" fn characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls this with an open file of this layer.
    unsafe {
        let system = inner(file);
        let Some(characteristics) = (*(*system).pMethods).xDeviceCharacteristics else { return 0 };
        // Only whole pages can be verified.
        characteristics(system) & !ffi::SQLITE_IOCAP_SUBPAGE_READ
    }
}

/// Functions that only delegate to the system's layer.
macro_rules! pass_on {
    ($($name:ident = $method:ident($($argument:ident: $type:ty),*);)+) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file, $($argument: $type),*) -> c_int {
            // SAFETY: SQLite calls this with an open file of this layer and the arguments of the same function of the
            // system's layer.
            unsafe {
                let system = inner(file);
                let Some(method) = (*(*system).pMethods).$method else { return ffi::SQLITE_IOERR };
                method(system, $($argument),*)
            }
        }
    )+};
}

pass_on! {
    close = xClose();
    truncate = xTruncate(size: sqlite3_int64);
    sync = xSync(flags: c_int);
    size = xFileSize(size: *mut sqlite3_int64);
    lock = xLock(level: c_int);
    unlock = xUnlock(level: c_int);
    check_lock = xCheckReservedLock(held: *mut c_int);
    control = xFileControl(what: c_int, with: *mut c_void);
    sector = xSectorSize();
    map = xShmMap(region: c_int, size: c_int, extend: c_int, at: *mut *mut c_void);
    map_lock = xShmLock(offset: c_int, count: c_int, flags: c_int);
    unmap = xShmUnmap(delete: c_int);
}

unsafe extern "C" fn barrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite calls this with an open file of this layer.
    unsafe {
        let system = inner(file);
        if let Some(barrier) = (*(*system).pMethods).xShmBarrier {
            barrier(system);
        }
    }
}

/// Version 2 of the interface: pages are read, never memory-mapped.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_lock),
    xFileControl: Some(control),
    xSectorSize: Some(sector),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(map),
    xShmLock: Some(map_lock),
    xShmBarrier: Some(barrier),
    xShmUnmap: Some(unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Number of reserved bytes at the end of each page, as far as the connection has read the file. With `wanted`, sets
/// the number for the next new file of the connection.
fn reserved(raw: &rusqlite::Connection, wanted: c_int) -> Option<c_int> {
    let mut bytes = wanted;
    // SAFETY: the handle is open, the name ends with a zero, and this control reads and writes one number at the given
    // address.
    let answer = unsafe {
        let at = (&raw mut bytes).cast::<c_void>();
        ffi::sqlite3_file_control(raw.handle(), c"main".as_ptr(), ffi::SQLITE_FCNTL_RESERVE_BYTES, at)
    };
    (answer == ffi::SQLITE_OK).then_some(bytes)
}

/// Enables checksums for a file that this connection creates or rewrites.
pub(super) fn enable_for_new_file(raw: &rusqlite::Connection) {
    if reserved(raw, SUM as c_int).is_none() {
        tracing::warn!("checksums could not be enabled for the pages of a database");
    }
}

/// Returns whether the pages of the file have checksums.
pub(super) fn has(raw: &rusqlite::Connection) -> bool {
    // The header is known only after the first read.
    raw.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).is_ok()
        && reserved(raw, -1) == Some(SUM as c_int)
}

/// Makes the layer write checksums into all pages of this connection's file, from the first one on. Otherwise the layer
/// would learn of them from the first page, which SQLite writes last if the cache is too small for a new file. Returns
/// whether the file belongs to the layer.
pub(super) fn force(raw: &rusqlite::Connection) -> bool {
    with_file(raw, |file| file.sums = true).is_some()
}

/// Returns whether the disk has failed with the file of this connection, or has returned other bytes than were written.
pub(super) fn has_failed(raw: &rusqlite::Connection) -> bool {
    with_file(raw, |file| file.failed).unwrap_or(false)
}

/// Passes the open file of a connection to `show`, if the file belongs to this layer.
fn with_file<T>(raw: &rusqlite::Connection, show: impl FnOnce(&mut Checked) -> T) -> Option<T> {
    let mut file: *mut sqlite3_file = ptr::null_mut();
    // SAFETY: the handle is open, the name ends with a zero, and this control writes one pointer to the given address.
    // The pointer is that of an open file, which belongs to this layer if it has the layer's functions. The connection
    // is not used elsewhere meanwhile.
    unsafe {
        let at = (&raw mut file).cast::<c_void>();
        let answer = ffi::sqlite3_file_control(raw.handle(), c"main".as_ptr(), ffi::SQLITE_FCNTL_FILE_POINTER, at);
        if answer != ffi::SQLITE_OK || file.is_null() || !ptr::eq((*file).pMethods, &raw const METHODS) {
            return None;
        }
        Some(show(&mut *file.cast::<Checked>()))
    }
}

pub(super) mod file;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
#[cfg(test)]
mod tests;
