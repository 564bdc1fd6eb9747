//! Owns the checksum at the end of each page of a database file: a layer between SQLite and the system's files, which writes it with the
//! page and compares it when the page is read. A page that is not what was written is an error, never an answer.
//!
//! The format is that of SQLite's own `cksumvfs`: 8 reserved bytes at the end of each page, and the number 8 in the file's header, without
//! which nothing is compared. That number alone is not believed: a first page whose sum fits with it has lost it, and a file for which
//! checksums are noted beside it (`commits.rs`) has them whatever its header says. Frames of the log have SQLite's own checksums. Knows no
//! table and no connection.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};

use super::commits;

/// The layer's name.
pub(super) const NAME: &CStr = c"strongroom-checksums";
/// Bytes at the end of each page.
const SUM: usize = 8;
/// The sum of a page of zeros, so that one which lost everything is not taken for one that was written like that.
const OF_NOTHING: [u8; SUM] = [0xff; SUM];
/// What each database file begins with, the length of its header, and where the number of reserved bytes is in it.
const MAGIC: &[u8] = b"SQLite format 3\0";
const HEADER: usize = 100;
const RESERVED_AT: usize = 20;
/// The smallest page.
const SMALLEST: usize = 512;

/// The system's layer, which does everything but the checksums.
struct System(*mut sqlite3_vfs);

// SAFETY: SQLite's own layers are never changed or removed after they were registered, and any thread may use them.
unsafe impl Send for System {}
// SAFETY: as above.
unsafe impl Sync for System {}

static SYSTEM: OnceLock<Option<System>> = OnceLock::new();

/// Registers the layer, once for the process; false when SQLite refuses it.
pub(super) fn register() -> bool {
    SYSTEM.get_or_init(install).is_some()
}

fn install() -> Option<System> {
    // SAFETY: without a name SQLite answers with its default layer, or with none.
    let system = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    // SAFETY: the pointer is null or leads to a registered layer, which stays as it is.
    let mut layer = unsafe { *system.as_ref()? };
    layer.szOsFile += c_int::try_from(mem::size_of::<Checked>()).ok()?;
    layer.pNext = ptr::null_mut();
    layer.zName = NAME.as_ptr();
    layer.xOpen = Some(open);
    // SQLite keeps the address for as long as the process lives.
    let layer = Box::leak(Box::new(layer));
    // SAFETY: the layer lives for ever, and its other functions are those of the system's layer, which take it for their own.
    let answer = unsafe { ffi::sqlite3_vfs_register(layer, 0) };
    (answer == ffi::SQLITE_OK).then_some(System(system))
}

/// An open database file; behind it in memory lies the file of the system's layer.
#[repr(C)]
struct Checked {
    base: sqlite3_file,
    /// Whether the pages of this file end with checksums.
    sums: bool,
    /// Set once the disk failed to read or write a part of this file, or returned other bytes than were written.
    failed: bool,
}

/// The file of the system's layer.
///
/// # Safety
/// `file` must have been opened by [`open`] as a database file or its log.
unsafe fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: SQLite gave as much memory as the layer asked for, that of the system's file behind `Checked`.
    unsafe { file.cast::<Checked>().add(1).cast() }
}

/// Whether a first page without the number in its header is one that lost it: its sum fits as soon as the number is there again.
fn has_lost_its_number(page: &[u8]) -> bool {
    let mut whole = page.to_vec();
    whole[RESERVED_AT] = SUM as u8;
    is_intact(&whole)
}

/// Whether checksums are noted beside the file that SQLite opens.
///
/// # Safety
/// `name` must be null or end with a zero.
unsafe fn are_noted(name: ffi::sqlite3_filename) -> bool {
    if name.is_null() {
        return false;
    }
    // SAFETY: as the caller says.
    let name = unsafe { CStr::from_ptr(name) };
    commits::has_checksums(Path::new(OsStr::from_bytes(name.to_bytes())))
}

/// Two sums over the page as 32-bit words of the little-endian order, each with the other.
fn sum_of(content: &[u8]) -> [u8; SUM] {
    let (mut first, mut second) = (0u32, 0u32);
    for pair in content.chunks_exact(SUM) {
        let word = |at: usize| u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        first = first.wrapping_add(word(0)).wrapping_add(second);
        second = second.wrapping_add(word(4)).wrapping_add(first);
    }
    if (first, second) == (0, 0) && content.iter().all(|byte| *byte == 0) {
        return OF_NOTHING;
    }
    let mut sum = [0; SUM];
    sum[..4].copy_from_slice(&first.to_le_bytes());
    sum[4..].copy_from_slice(&second.to_le_bytes());
    sum
}

/// Whether a page is what was written.
fn is_intact(page: &[u8]) -> bool {
    let (content, sum) = page.split_at(page.len() - SUM);
    sum_of(content) == sum
}

/// Whether so many bytes are a whole page.
fn is_page(length: usize) -> bool {
    length >= SMALLEST && length.is_power_of_two()
}

impl Checked {
    /// Learns from the header that there are checksums. A file that has them keeps them: a header that says otherwise is damaged.
    fn learn(&mut self, offset: sqlite3_int64, bytes: &[u8]) {
        if offset == 0 && bytes.len() >= HEADER && bytes.starts_with(MAGIC) {
            self.sums |= usize::from(bytes[RESERVED_AT]) == SUM;
        }
    }

    /// Whether so many bytes at this place of the file are what was written, as far as that can be told.
    fn believes(&self, offset: sqlite3_int64, bytes: &[u8]) -> bool {
        match (is_page(bytes.len()), self.sums) {
            (false, _) => true,
            (true, true) => is_intact(bytes),
            (true, false) => offset != 0 || !has_lost_its_number(bytes),
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
    // SAFETY: SQLite calls this with memory for a file of this layer, which is larger than one of the system's; temporary files are the
    // system's alone. A log has no checksums of this layer, but a disk that cannot read it is no damaged database either.
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

/// Reads, and compares what is a page with its checksum.
///
/// # Safety
/// As for the layer's [`read`].
unsafe fn read_checked(file: *mut sqlite3_file, to: *mut c_void, count: c_int, offset: sqlite3_int64) -> c_int {
    // SAFETY: the file is an open one of this layer, with a buffer of `count` bytes, which the system's layer fills.
    unsafe {
        let system = inner(file);
        let Some(read) = (*(*system).pMethods).xRead else { return ffi::SQLITE_IOERR_READ };
        match read(system, to, count, offset) {
            ffi::SQLITE_OK => {}
            // SQLite would take the missing end of a page for zeros. One that is not there at all may be on its way.
            ffi::SQLITE_IOERR_SHORT_READ
                if (*file.cast::<Checked>()).sums && usize::try_from(count).is_ok_and(is_page) =>
            {
                let mut end = 0;
                let known = size(file, &raw mut end) == ffi::SQLITE_OK;
                return if known && end <= offset { ffi::SQLITE_IOERR_SHORT_READ } else { ffi::SQLITE_IOERR_DATA };
            }
            // A disk that reports an error is no damaged database, for which SQLite would take it.
            ffi::SQLITE_IOERR_CORRUPTFS => return ffi::SQLITE_IOERR_READ,
            other => return other,
        }
        let bytes = slice::from_raw_parts(to.cast::<u8>(), usize::try_from(count).unwrap_or(0));
        let checked = &mut *file.cast::<Checked>();
        checked.learn(offset, bytes);
        if checked.believes(offset, bytes) { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_DATA }
    }
}

unsafe extern "C" fn write(file: *mut sqlite3_file, from: *const c_void, count: c_int, offset: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls this with an open file of this layer and a buffer of `count` bytes of its own, whose reserved bytes belong to the
    // layer: nothing else reads them, and nobody uses the buffer meanwhile.
    unsafe {
        let length = usize::try_from(count).unwrap_or(0);
        let checked = &mut *file.cast::<Checked>();
        checked.learn(offset, slice::from_raw_parts(from.cast::<u8>(), length));
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
        // Only whole pages can be compared.
        characteristics(system) & !ffi::SQLITE_IOCAP_SUBPAGE_READ
    }
}

/// Functions that ask the system's layer and nothing else.
macro_rules! pass_on {
    ($($name:ident = $method:ident($($argument:ident: $type:ty),*);)+) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file, $($argument: $type),*) -> c_int {
            // SAFETY: SQLite calls this with an open file of this layer and what the same function of the system's layer takes.
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

/// Of the second version: pages are read, never mapped.
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

/// How many bytes at the end of each page are kept free, as far as the connection has read the file; with `wanted`, how many its next new file
/// has.
fn reserved(raw: &rusqlite::Connection, wanted: c_int) -> Option<c_int> {
    let mut bytes = wanted;
    // SAFETY: the handle is open, the name ends with a zero, and this control reads and writes one number at the address given.
    let answer = unsafe {
        let at = (&raw mut bytes).cast::<c_void>();
        ffi::sqlite3_file_control(raw.handle(), c"main".as_ptr(), ffi::SQLITE_FCNTL_RESERVE_BYTES, at)
    };
    (answer == ffi::SQLITE_OK).then_some(bytes)
}

/// Lets the pages of a file that is new, or that is written anew by this connection, have checksums.
pub(super) fn want(raw: &rusqlite::Connection) {
    if reserved(raw, SUM as c_int).is_none() {
        tracing::warn!("the pages of a new database cannot have checksums");
    }
}

/// Whether the pages of the file have checksums.
pub(super) fn has(raw: &rusqlite::Connection) -> bool {
    // What the header says is known from the first read on.
    raw.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).is_ok()
        && reserved(raw, -1) == Some(SUM as c_int)
}

/// Lets the pages that this connection writes into its file have checksums from the first one on. By itself the layer learns
/// of them from the first page, which SQLite writes last when a cache was too small for a new file. Returns whether it does.
pub(super) fn expect(raw: &rusqlite::Connection) -> bool {
    with_file(raw, |file| file.sums = true).is_some()
}

/// Returns whether the disk has failed with the file of this connection, or gave something else than what was written.
pub(super) fn has_failed(raw: &rusqlite::Connection) -> bool {
    with_file(raw, |file| file.failed).unwrap_or(false)
}

/// Shows the open file of a connection, if it is one of this layer.
fn with_file<T>(raw: &rusqlite::Connection, show: impl FnOnce(&mut Checked) -> T) -> Option<T> {
    let mut file: *mut sqlite3_file = ptr::null_mut();
    // SAFETY: the handle is open, the name ends with a zero, and this control writes one pointer to the address given. It is
    // that of an open file, which is one of this layer if it has the layer's functions; nobody else uses the connection.
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
