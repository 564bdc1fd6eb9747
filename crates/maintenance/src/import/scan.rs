//! Counting of a tree concurrently with its import, so that the remaining time can be estimated.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::posix::{Directory, EntryKind};
use crate::progress::Progress;

/// Counts files and their bytes until `stop` is set. Unreadable directories and files are ignored here; the import
/// reports them.
pub(super) fn count(source: &Path, progress: &Progress, stop: &AtomicBool) {
    let Ok(root) = Directory::open(source) else { return };
    if walk(root, |files, bytes| progress.count(files, bytes), || stop.load(Ordering::Relaxed)) {
        progress.counted_all();
    }
}

/// Adds the files of a directory that is left out to the progress, because [`count`] counts them too.
pub(super) fn pass_over(directory: &Directory, name: &OsStr, progress: &Progress) {
    let Ok(root) = directory.enter(name) else { return };
    let pass = |files, bytes| {
        progress.add_files(files);
        progress.add_bytes(bytes);
    };
    walk(root, pass, || false);
}

/// Goes through a tree, and passes on the number of files and bytes of each directory. Returns false if it was stopped.
fn walk(root: Directory, found: impl Fn(u64, u64), is_stopped: impl Fn() -> bool) -> bool {
    // Pending directories are kept by name, so that only directories on the current path are open.
    let mut waiting: Vec<(Arc<Directory>, OsString)> = Vec::new();
    let mut next = Some(Arc::new(root));
    while let Some(directory) = next {
        let (mut files, mut bytes) = (0, 0);
        for name in directory.names().unwrap_or_default() {
            match directory.status(&name) {
                Ok(status) if status.kind == EntryKind::Directory => waiting.push((directory.clone(), name)),
                Ok(status) if status.kind == EntryKind::File => {
                    files += 1;
                    bytes += status.size;
                }
                _ => {}
            }
        }
        found(files, bytes);
        next = None;
        while let (None, Some((above, name))) = (&next, waiting.pop()) {
            next = above.enter(&name).ok().map(Arc::new);
        }
        if is_stopped() {
            return false;
        }
    }
    true
}
