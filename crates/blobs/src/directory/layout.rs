//! Names in the store's directory, the marker file and the store-wide lock.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use model::{Code, Digest, Error, Result};
use rustix::fs::FlockOperation;

use crate::mark::{self, Owner, STORE_MARK};

use super::files::{create_directories, failed, lock, sync_directory, write_atomically};

const LOCK: &str = "lock";
const COMPACTION_LOCK: &str = "compaction.lock";

/// The directory of a store.
#[derive(Clone, Debug)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// Opens the directory for `owner`; an empty or absent one becomes a store when `create` is set.
    pub fn open(root: &Path, owner: &Owner, create: bool) -> Result<Self> {
        let layout = Self { root: root.to_path_buf() };
        let marker = root.join(STORE_MARK);
        if !create {
            layout.require_present()?;
        } else if !exists(&marker)? {
            create_directories(root)?;
            refuse_foreign_content(root)?;
            let lock = root.join(LOCK);
            let made = File::options().create(true).truncate(false).write(true).open(&lock);
            made.map_err(|e| failed("create", &lock, e))?;
            let _guard = layout.lock(FlockOperation::LockExclusive)?;
            // Another process may have been faster.
            if !exists(&marker)? {
                layout.create(&marker, owner)?;
            }
        }
        check_marker(&marker, owner)?;
        Ok(layout)
    }

    /// Whether the store is there: a directory without the marker is another one, such as the place where its disk was mounted.
    pub fn require_present(&self) -> Result<()> {
        if exists(&self.root.join(STORE_MARK))? {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "{} is not the BLOB store that was there (it has no {STORE_MARK}): mount its disk; if it is lost for good, see \
             `strongroom blobs stores make-anew`",
            self.root.display()
        ))
        .with_code(Code::StoreAbsent))
    }

    /// Notes that encoded BLOBs may be in the store, before the first one is.
    pub fn allow_encoded(&self) -> Result<()> {
        let format = mark::FORMAT_ENCODED.to_string();
        self.rewrite_mark(|text| mark::with(text, "format", Some(&format))).map(drop)
    }

    /// Writes another holder into the marker; answers with the one before.
    pub fn set_holder(&self, holder: Option<&str>) -> Result<Option<String>> {
        let before = self.rewrite_mark(|text| mark::with_holder(text, holder))?;
        Ok(mark::holder(&before))
    }

    /// The text of the marker, where it is `owner`'s.
    pub fn mark(&self, owner: &Owner) -> Result<String> {
        self.require_present()?;
        let marker = self.root.join(STORE_MARK);
        check_marker(&marker, owner)?;
        read_marker(&marker)
    }

    /// Changes the text of the marker, durably; answers with the text before.
    fn rewrite_mark(&self, change: impl Fn(&str) -> String) -> Result<String> {
        let marker = self.root.join(STORE_MARK);
        let before = read_marker(&marker)?;
        if change(&before) == before {
            return Ok(before);
        }
        let _guard = self.lock(FlockOperation::LockExclusive)?;
        // As it is now: another process may have been faster.
        let before = read_marker(&marker)?;
        write_atomically(&marker, &[change(&before).as_bytes()])?;
        Ok(before)
    }

    fn create(&self, marker: &Path, owner: &Owner) -> Result<()> {
        for directory in [self.segments(), self.incoming(), self.large()] {
            create_directories(&directory)?;
        }
        let text = mark::text("docs/formats/blob-store.md", owner);
        write_atomically(marker, &[text.as_bytes()])
    }

    /// Takes the store-wide lock: shared to create segments and to delete, exclusive to recover and to drop segments.
    pub fn lock(&self, operation: FlockOperation) -> Result<File> {
        let path = self.root.join(LOCK);
        let file = File::options().write(true).open(&path).map_err(|e| failed("open", &path, e))?;
        lock(&file, &path, operation)?;
        Ok(file)
    }

    /// Locked by the one process that compacts.
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

    /// The directory of large BLOBs whose digests begin with this byte.
    pub fn large_directory(&self, first: u8) -> PathBuf {
        self.large().join(format!("{first:02x}"))
    }

    /// Creates that directory, durably; it comes with the first BLOB that belongs there.
    pub fn create_large_directory(&self, first: u8) -> Result<()> {
        create_directories(&self.large_directory(first))?;
        // Another upload may have made it a moment ago.
        sync_directory(&self.large())
    }

    /// The names in that directory.
    pub fn large_names(&self, first: u8) -> Result<Vec<String>> {
        let directory = self.large_directory(first);
        // Absent is empty only where the one above it is there: a store that is not mounted is not an empty one.
        if !exists(&directory)? && exists(&self.large())? {
            return Ok(Vec::new());
        }
        names(&directory)
    }

    pub fn large_file(&self, digest: &Digest) -> PathBuf {
        self.large_directory(digest.as_bytes()[0]).join(digest.to_string())
    }

    /// Identifiers of all files with this extension in the directory of segments, rising.
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

/// The names in a directory; an absent directory is an error, never empty.
pub fn names(directory: &Path) -> Result<Vec<String>> {
    let read = || -> io::Result<Vec<String>> {
        fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    read().map_err(|e| failed("list", directory, e))
}

fn exists(path: &Path) -> Result<bool> {
    path.try_exists().map_err(|e| failed("look for", path, e))
}

fn refuse_foreign_content(root: &Path) -> Result<()> {
    // What an interrupted creation may have left.
    let own = ["segments", "incoming", "large", LOCK, COMPACTION_LOCK, "lost+found"];
    let marker_in_work = |name: &str| name.starts_with("store.new-");
    if let Some(name) = names(root)?.iter().find(|name| !own.contains(&name.as_str()) && !marker_in_work(name)) {
        let message = format!(
            "{} is not a BLOB store and not empty ({name}): choose an empty directory, or restore its {STORE_MARK}",
            root.display()
        );
        return Err(Error::conflict(message).with_code(Code::NotABlobStore));
    }
    let segments = root.join("segments");
    if exists(&segments)? && !names(&segments)?.is_empty() {
        let message =
            format!("{} holds BLOBs but its marker {STORE_MARK} is missing: restore that file", root.display());
        return Err(Error::corrupt(message));
    }
    Ok(())
}

fn check_marker(marker: &Path, owner: &Owner) -> Result<()> {
    let text = read_marker(marker)?;
    let store = marker.parent().unwrap_or(marker).display().to_string();
    mark::check(&text, &marker.display().to_string(), &store, owner, mark::FORMAT_ENCODED)
}

fn read_marker(marker: &Path) -> Result<String> {
    fs::read_to_string(marker).map_err(|e| failed("read", marker, e))
}
