//! The small files of a backup beside its bytes: the marker, the sets, notes of what is under way. Each is there as a whole or
//! not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use model::{Error, ErrorKind, Result};

/// No small file is longer than this.
const LONGEST: u64 = 256 << 20;

/// The small files below one directory. Their names consist of one or two plain words.
#[derive(Clone, Debug)]
pub(crate) struct Papers {
    root: PathBuf,
}

impl Papers {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Where they are, for people.
    pub fn place(&self) -> String {
        self.root.display().to_string()
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The content of a file; none when there is definitely none.
    pub async fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.root.join(name);
        blocking(move || {
            let length = match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                found => found.map_err(|e| failed("read", &path, e))?.len(),
            };
            if length > LONGEST {
                return Err(Error::corrupt(format!("{} is longer than it can be", path.display())));
            }
            fs::read(&path).map(Some).map_err(|e| failed("read", &path, e))
        })
        .await
    }

    /// Writes a file; durable when it answers.
    pub async fn write(&self, name: &str, content: Vec<u8>) -> Result<()> {
        let path = self.root.join(name);
        blocking(move || {
            let folder = path.parent().unwrap_or(&path);
            fs::create_dir_all(folder).map_err(|e| failed("make", folder, e))?;
            let temporary = path.with_extension("new");
            let write = || {
                let mut file = File::create(&temporary)?;
                file.write_all(&content)?;
                file.sync_all()?;
                fs::rename(&temporary, &path)?;
                File::open(folder)?.sync_all()
            };
            write().map_err(|e| failed("write", &path, e))
        })
        .await
    }

    /// Removes a file; durable when it answers. One that is not there is no error.
    pub async fn remove(&self, name: &str) -> Result<()> {
        let path = self.root.join(name);
        blocking(move || {
            match fs::remove_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                removed => removed.map_err(|e| failed("remove", &path, e))?,
            }
            let folder = path.parent().unwrap_or(&path);
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| failed("flush", folder, e))
        })
        .await
    }

    /// The names in a folder, sorted, without those that are being written.
    pub async fn list(&self, folder: &str) -> Result<Vec<String>> {
        let path = self.root.join(folder);
        blocking(move || {
            let entries = match fs::read_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                entries => entries.map_err(|e| failed("list", &path, e))?,
            };
            let mut names = Vec::new();
            for entry in entries {
                let entry = entry.map_err(|e| failed("list", &path, e))?;
                names.extend(entry.file_name().into_string().ok().filter(|name| !name.ends_with(".new")));
            }
            names.sort();
            Ok(names)
        })
        .await
    }
}

/// Runs work that may wait for the disk on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|e| Err(Error::unavailable("work on a backup was interrupted").with_source(e)))
}

/// An I/O error in words.
pub(crate) fn failed(doing: &str, path: &Path, error: io::Error) -> Error {
    let (kind, advice) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (ErrorKind::Exhausted, "the disk is full: make room")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (ErrorKind::Unavailable, "the user who runs this must be allowed to read and write there")
        }
        _ => (ErrorKind::Unavailable, "check the disk"),
    };
    Error::new(kind, format!("cannot {doing} {} ({error}): {advice}", path.display())).with_source(error)
}
