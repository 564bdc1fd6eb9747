//! The files of a cache: presence, order of last use, and total size.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use model::{Digest, Result};

use crate::directory::{Coding, LargeFile, io_error};

/// Name prefix of files that are still being written.
const UNFINISHED: &str = "unfinished-";
/// Number of announced copies from which on finished ones are dropped from the map.
const ANNOUNCED_PRUNE_AT: usize = 1024;

/// Location and limits of a cache.
#[derive(Clone, Debug)]
pub struct CacheOptions {
    /// A directory for this cache and one process alone; created when absent.
    pub path: PathBuf,
    /// Limit on the total size of all files, in bytes.
    pub bytes: u64,
    /// Size limit in bytes; larger BLOBs are not cached.
    pub largest: u64,
}

/// A directory of cached BLOBs, one file each, named by the digest and grouped in subdirectories by its first two
/// digits.
pub struct CacheFiles {
    options: CacheOptions,
    state: Mutex<State>,
    counter: AtomicU64,
}

#[derive(Default)]
struct State {
    files: HashMap<Digest, Kept>,
    /// The cached BLOBs in order of last use.
    used: BTreeMap<u64, Digest>,
    clock: u64,
    bytes: u64,
    /// Copies in progress. The flag is set when the BLOB is deleted meanwhile.
    copies: HashMap<Digest, Weak<AtomicBool>>,
}

struct Kept {
    bytes: u64,
    used: u64,
}

impl CacheFiles {
    /// Opens the directory, removes unfinished files, and evicts files beyond the limit. Blocks.
    pub fn open(options: CacheOptions) -> Result<Self> {
        let root = options.path.clone();
        fs::create_dir_all(&root).map_err(|e| io_error("create the BLOB cache", &root, e))?;
        let mut found = Vec::new();
        for entry in list(&root)? {
            if entry.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(UNFINISHED)) {
                remove(&entry);
            } else if entry.is_dir() {
                for file in list(&entry)? {
                    let digest = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
                    match (digest, fs::metadata(&file)) {
                        (Some(digest), Ok(meta)) => {
                            found.push((meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), digest, meta.len()));
                        }
                        _ => remove(&file),
                    }
                }
            }
        }
        found.sort_by_key(|(used, ..)| *used);
        let files = Self { options, state: Mutex::default(), counter: AtomicU64::new(0) };
        for (_, digest, bytes) in found {
            files.state().insert(digest, bytes);
        }
        files.make_room();
        Ok(files)
    }

    /// Returns the size above which BLOBs are not cached.
    pub fn largest(&self) -> u64 {
        self.options.largest.min(self.options.bytes)
    }

    /// Opens the cached file of a BLOB of this size, if present and not obviously damaged. Blocks.
    pub fn find(&self, digest: &Digest, size: u64) -> Option<LargeFile> {
        if !self.state().touch(digest) {
            return None;
        }
        let path = self.path(digest);
        match LargeFile::open(&path, digest, &Coding::none()) {
            Ok(Some(file)) if file.footer.length == size => {
                // The files' modification times preserve the order of use across restarts. A failure only makes
                // eviction choose less well.
                let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
                Some(file)
            }
            Ok(Some(_)) => None,
            Ok(None) | Err(_) => {
                self.forget(digest);
                None
            }
        }
    }

    /// Removes a BLOB from the cache. Blocks.
    pub fn forget(&self, digest: &Digest) {
        if self.state().remove(digest) {
            remove(&self.path(digest));
        }
    }

    /// Removes a deleted BLOB from the cache, and has its copies in progress discarded. Blocks.
    pub fn deleted(&self, digest: &Digest) {
        if let Some(copy) = self.state().copies.remove(digest).and_then(|copy| copy.upgrade()) {
            copy.store(true, Ordering::Release);
        }
        self.forget(digest);
    }

    /// Announces a copy of a BLOB. Must precede the opening of the BLOB, so that a deletion in between is noticed.
    pub fn announce(&self, digest: &Digest) -> Arc<AtomicBool> {
        let mut state = self.state();
        if state.copies.len() >= ANNOUNCED_PRUNE_AT {
            state.copies.retain(|_, copy| copy.strong_count() > 0);
        }
        if let Some(copy) = state.copies.get(digest).and_then(Weak::upgrade) {
            return copy;
        }
        let copy = Arc::default();
        state.copies.insert(*digest, Arc::downgrade(&copy));
        copy
    }

    /// Creates the file for a BLOB whose bytes are still arriving. Blocks.
    pub fn begin(&self) -> io::Result<(PathBuf, File)> {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let path = self.options.path.join(format!("{UNFINISHED}{}-{number}", std::process::id()));
        let file = File::options().write(true).create_new(true).open(&path)?;
        Ok((path, file))
    }

    /// Moves a complete file to its final name, unless the BLOB was deleted meanwhile, and evicts others to make room.
    /// Blocks.
    pub fn publish(&self, unfinished: &Path, file: &File, digest: &Digest, deleted: &AtomicBool) -> io::Result<()> {
        let path = self.path(digest);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let bytes = file.metadata()?.len();
        file.set_modified(SystemTime::now())?;
        {
            let mut state = self.state();
            if deleted.load(Ordering::Acquire) {
                return Ok(());
            }
            fs::rename(unfinished, &path)?;
            state.insert(*digest, bytes);
        }
        self.make_room();
        Ok(())
    }

    fn make_room(&self) {
        loop {
            let oldest = self.state().oldest_beyond(self.options.bytes);
            match oldest {
                Some(digest) => self.forget(&digest),
                None => return,
            }
        }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        self.options.path.join(&name[..2]).join(name)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock is harmless: the state is only a hint about the files.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn insert(&mut self, digest: Digest, bytes: u64) {
        self.remove(&digest);
        self.clock += 1;
        self.bytes += bytes;
        self.used.insert(self.clock, digest);
        self.files.insert(digest, Kept { bytes, used: self.clock });
    }

    fn touch(&mut self, digest: &Digest) -> bool {
        match self.files.get(digest).map(|kept| kept.bytes) {
            Some(bytes) => {
                self.insert(*digest, bytes);
                true
            }
            None => false,
        }
    }

    fn remove(&mut self, digest: &Digest) -> bool {
        let Some(kept) = self.files.remove(digest) else { return false };
        self.used.remove(&kept.used);
        self.bytes -= kept.bytes;
        true
    }

    fn oldest_beyond(&self, limit: u64) -> Option<Digest> {
        self.used.first_key_value().filter(|_| self.bytes > limit).map(|(_, digest)| *digest)
    }
}

fn list(directory: &Path) -> Result<Vec<PathBuf>> {
    let read = || -> io::Result<Vec<PathBuf>> { fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect() };
    read().map_err(|e| io_error("list the BLOB cache", directory, e))
}

/// Removes a file that is no longer needed. A failure is only logged.
pub fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(file = %path.display(), %error, "a file of the BLOB cache cannot be removed");
    }
}
