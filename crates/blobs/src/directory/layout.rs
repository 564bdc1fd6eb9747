//! Names in a store's directory, the owner marker and the store-wide lock.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use model::{Code, Digest, Error, Result};
use rustix::fs::FlockOperation;

use crate::marker::{self, Owner, STORE_MARKER};

use super::files::{create_directories, io_error, lock, sync_directory, write_atomically};

const LOCK: &str = "lock";
const COMPACTION_LOCK: &str = "compaction.lock";

/// The directory of a store.
#[derive(Clone, Debug)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// Opens the directory for `owner`. With `create`, an empty or absent directory becomes a store.
    pub fn open(root: &Path, owner: &Owner, create: bool) -> Result<Self> {
        let layout = Self { root: root.to_path_buf() };
        let marker = root.join(STORE_MARKER);
        if !create {
            layout.require_present()?;
        } else if !exists(&marker)? {
            create_directories(root)?;
            refuse_foreign_content(root)?;
            let lock = root.join(LOCK);
            let made = File::options().create(true).truncate(false).write(true).open(&lock);
            made.map_err(|e| io_error("create", &lock, e))?;
            let _guard = layout.lock(FlockOperation::LockExclusive)?;
            // Another process may have created it first.
            if !exists(&marker)? {
                layout.create(&marker, owner)?;
            }
        }
        check_marker(&marker, owner)?;
        Ok(layout)
    }

    /// Fails unless the store is present. A directory without the marker is a different one, such as the mount point of
    /// a disk that is not mounted.
    pub fn require_present(&self) -> Result<()> {
        if exists(&self.root.join(STORE_MARKER))? {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "{} does not contain its BLOB store (it has no {STORE_MARKER}): mount the disk of the store; if the store \
            is \
             lost for good, see `strongroom blobs stores make-anew`",
            self.root.display()
        ))
        .with_code(Code::StoreAbsent))
    }

    /// Records in the marker that the store may hold encoded BLOBs. Must precede the first of them.
    pub fn allow_encoded(&self) -> Result<()> {
        let format = marker::FORMAT_ENCODED.to_string();
        self.rewrite_mark(|text| marker::with(text, "format", Some(&format))).map(drop)
    }

    /// Writes another holder into the marker and returns the previous one.
    pub fn set_holder(&self, holder: Option<&str>) -> Result<Option<String>> {
        let before = self.rewrite_mark(|text| marker::with_holder(text, holder))?;
        Ok(marker::holder(&before))
    }

    /// Returns the text of the marker, if it belongs to `owner`.
    pub fn read_marker(&self, owner: &Owner) -> Result<String> {
        self.require_present()?;
        let marker = self.root.join(STORE_MARKER);
        check_marker(&marker, owner)?;
        read_marker(&marker)
    }

    /// Changes the text of the marker durably and returns the previous text.
    fn rewrite_mark(&self, change: impl Fn(&str) -> String) -> Result<String> {
        let marker = self.root.join(STORE_MARKER);
        let before = read_marker(&marker)?;
        if change(&before) == before {
            return Ok(before);
        }
        let _guard = self.lock(FlockOperation::LockExclusive)?;
        // Read again under the lock: another process may have changed it.
        let before = read_marker(&marker)?;
        write_atomically(&marker, &[change(&before).as_bytes()])?;
        Ok(before)
    }

    fn create(&self, marker: &Path, owner: &Owner) -> Result<()> {
        for directory in [self.segments(), self.incoming(), self.large()] {
            create_directories(&directory)?;
        }
        let text = marker::text("docs/formats/blob-store.md", owner);
        write_atomically(marker, &[text.as_bytes()])
    }

    /// Takes the store-wide lock: shared to create segments and uploads and to delete; exclusive to recover, to remove
    /// segments and to write the marker.
    pub fn lock(&self, operation: FlockOperation) -> Result<File> {
        let path = self.root.join(LOCK);
        let file = File::options().write(true).open(&path).map_err(|e| io_error("open", &path, e))?;
        lock(&file, &path, operation)?;
        Ok(file)
    }

    /// Path of the file that the one compacting process locks.
    pub fn compaction_lock(&self) -> PathBuf {
        self.root.join(COMPACTION_LOCK)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn segments(&self) -> PathBuf {
        self.root.join("segments")
    }

    pub fn segment(&self, id: u64) -> PathBuf {
        self.segments().join(format!("{id:016x}.seg"))
    }

    pub fn index(&self, id: u64) -> PathBuf {
        self.segments().join(format!("{id:016x}.idx"))
    }

    pub fn deletions(&self, id: u64) -> PathBuf {
        self.segments().join(format!("{id:016x}.del"))
    }

    pub fn incoming(&self) -> PathBuf {
        self.root.join("incoming")
    }

    pub fn large(&self) -> PathBuf {
        self.root.join("large")
    }

    /// Returns the directory of the large BLOBs whose digests begin with this byte.
    pub fn large_directory(&self, first: u8) -> PathBuf {
        self.large().join(format!("{first:02x}"))
    }

    /// Creates the directory that [`Self::large_directory`] names, durably. This happens for the first BLOB that
    /// belongs there.
    pub fn create_large_directory(&self, first: u8) -> Result<()> {
        create_directories(&self.large_directory(first))?;
        // Another upload may have created it without having flushed its name yet.
        sync_directory(&self.large())
    }

    /// Returns the names in the directory that [`Self::large_directory`] names.
    pub fn large_names(&self, first: u8) -> Result<Vec<String>> {
        let directory = self.large_directory(first);
        // An absent directory counts as empty only when its parent exists: a store that is not mounted is not an empty
        // one.
        if !exists(&directory)? && exists(&self.large())? {
            return Ok(Vec::new());
        }
        names(&directory)
    }

    pub fn large_file(&self, digest: &Digest) -> PathBuf {
        self.large_directory(digest.as_bytes()[0]).join(digest.to_string())
    }

    /// Returns the identifiers of all files with this extension in the directory of segments, in ascending order.
    pub fn segment_files(&self, extension: &str) -> Result<Vec<u64>> {
        let mut ids: Vec<u64> = names(&self.segments())?
            .iter()
            .filter_map(|name| name.strip_suffix(extension)?.strip_suffix('.'))
            .filter(|stem| stem.len() == 16)
            .filter_map(|stem| u64::from_str_radix(stem, 16).ok())
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }
}

/// Returns the names in a directory. An absent directory is an error, never empty.
pub fn names(directory: &Path) -> Result<Vec<String>> {
    let read = || -> io::Result<Vec<String>> {
        fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    read().map_err(|e| io_error("list", directory, e))
}

fn exists(path: &Path) -> Result<bool> {
    path.try_exists().map_err(|e| io_error("look for", path, e))
}

fn refuse_foreign_content(root: &Path) -> Result<()> {
    // Names that an interrupted creation may have left.
    let own = ["segments", "incoming", "large", LOCK, COMPACTION_LOCK, "lost+found"];
    let marker_in_work = |name: &str| name.starts_with("store.new-");
    if let Some(name) = names(root)?.iter().find(|name| !own.contains(&name.as_str()) && !marker_in_work(name)) {
        let message = format!(
            "{} is not a BLOB store and not empty ({name}): choose an empty directory, or restore its {STORE_MARKER}",
            root.display()
        );
        return Err(Error::conflict(message).with_code(Code::NotABlobStore));
    }
    let segments = root.join("segments");
    if exists(&segments)? && !names(&segments)?.is_empty() {
        let message =
            format!("{} holds BLOBs but its marker {STORE_MARKER} is missing: restore that file", root.display());
        return Err(Error::corrupt(message));
    }
    Ok(())
}

fn check_marker(marker: &Path, owner: &Owner) -> Result<()> {
    let text = read_marker(marker)?;
    let store = marker.parent().unwrap_or(marker).display().to_string();
    marker::check(&text, &marker.display().to_string(), &store, owner, marker::FORMAT_ENCODED)
}

fn read_marker(marker: &Path) -> Result<String> {
    fs::read_to_string(marker).map_err(|e| io_error("read", marker, e))
}
