//! Small files of a backup location beside the stored objects: the marker, the sets, and notes of work in progress.
//! Each is written atomically.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use blobs::{NamedObjects, ObjectOptions, ObjectSecrets};
use bytes::Bytes;
use model::{Error, ErrorKind, Result};

/// Maximum length of a small file in bytes.
const MAX_FILE: u64 = 256 << 20;

/// Small files of one location. A file name consists of one or two plain words.
#[derive(Clone)]
pub(crate) enum SmallFiles {
    /// Below a directory.
    Directory(PathBuf),
    /// Below a prefix of a bucket, with the display name of the location.
    Bucket(NamedObjects, String),
}

impl SmallFiles {
    pub fn in_directory(root: &Path) -> Self {
        Self::Directory(root.to_owned())
    }

    pub fn in_bucket(options: &ObjectOptions, secrets: &ObjectSecrets, place: String) -> Result<Self> {
        NamedObjects::open(options, secrets).map(|notes| Self::Bucket(notes, place))
    }

    /// Returns the display name of the location.
    pub fn place(&self) -> String {
        match self {
            Self::Directory(root) => root.display().to_string(),
            Self::Bucket(_, place) => place.clone(),
        }
    }

    /// Reads a file. Returns none only when the file certainly does not exist.
    #[boxed]
    pub async fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Directory(root) => {
                let path = root.join(name);
                blocking(move || read(&path)).await
            }
            Self::Bucket(notes, _) => Ok(notes.read(name, MAX_FILE).await?.map(Vec::from)),
        }
    }

    /// Writes a file. The content is durable on return.
    #[boxed]
    pub async fn write(&self, name: &str, content: Vec<u8>) -> Result<()> {
        match self {
            Self::Directory(root) => {
                let path = root.join(name);
                blocking(move || write(&path, &content)).await
            }
            Self::Bucket(notes, _) => notes.write(name, Bytes::from(content)).await,
        }
    }

    /// Removes a file. The removal is durable on return. A missing file is not an error.
    #[boxed]
    pub async fn remove(&self, name: &str) -> Result<()> {
        match self {
            Self::Directory(root) => {
                let path = root.join(name);
                blocking(move || remove(&path)).await
            }
            Self::Bucket(notes, _) => notes.remove(name).await,
        }
    }

    /// Returns the first few object names of a bucket prefix, or nothing for a directory.
    #[boxed]
    pub async fn first(&self, count: usize) -> Result<Vec<String>> {
        match self {
            Self::Directory(_) => Ok(Vec::new()),
            Self::Bucket(notes, _) => notes.first(count).await,
        }
    }

    /// Returns the file names in a folder, sorted, without temporary files.
    #[boxed]
    pub async fn list(&self, folder: &str) -> Result<Vec<String>> {
        match self {
            Self::Directory(root) => {
                let path = root.join(folder);
                blocking(move || list(&path)).await
            }
            Self::Bucket(notes, _) => {
                let start = format!("{folder}/");
                let names = notes.list(&start).await?;
                Ok(names.iter().filter_map(|name| name.strip_prefix(&start)).map(str::to_owned).collect())
            }
        }
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let length = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(|e| failed("read", path, e))?.len(),
    };
    if length > MAX_FILE {
        return Err(Error::corrupt(format!("{} exceeds its maximum length", path.display())));
    }
    fs::read(path).map(Some).map_err(|e| failed("read", path, e))
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    blobs::create_directories(folder)?;
    let temporary = path.with_extension("new");
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|e| failed("write", path, e))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        removed => removed.map_err(|e| failed("remove", path, e))?,
    }
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| failed("flush", folder, e))
}

fn list(path: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| failed("list", path, e))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| failed("list", path, e))?;
        names.extend(entry.file_name().into_string().ok().filter(|name| !name.ends_with(".new")));
    }
    names.sort();
    Ok(names)
}

/// Runs blocking disk I/O on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|e| Err(Error::unavailable("work on a backup was interrupted").with_source(e)))
}

/// Converts an I/O error into an error with advice for the user.
pub(crate) fn failed(doing: &str, path: &Path, error: io::Error) -> Error {
    let (kind, advice) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (ErrorKind::Exhausted, "the disk is full: make room")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (ErrorKind::Unavailable, "the user that runs this command needs permission to read and write there")
        }
        _ => (ErrorKind::Unavailable, "check the disk"),
    };
    Error::new(kind, format!("cannot {doing} {} ({error}): {advice}", path.display())).with_source(error)
}
