//! Location of backups: a directory, or a prefix of a bucket.

use std::fmt;
use std::path::{Path, PathBuf};

use blobs::{BlobStore, DirectoryOptions, ObjectOptions, ObjectSecrets, Owner};
use model::Result;
use repository::Storage;

use super::small_files::{SmallFiles, blocking};

/// A backup location.
#[derive(Clone, Debug)]
pub enum BackupLocation {
    /// A directory.
    Directory(PathBuf),
    /// A bucket of an object store. All objects are below the prefix in the options.
    Objects(Box<ObjectOptions>, Box<ObjectSecrets>),
}

impl Default for BackupLocation {
    fn default() -> Self {
        Self::Directory(PathBuf::new())
    }
}

impl fmt::Display for BackupLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "{}", path.display()),
            Self::Objects(options, _) => f.write_str(&options.address_of(&options.prefix)),
        }
    }
}

impl BackupLocation {
    /// Returns the location if the farm's backups may be there. A directory is returned as an absolute path with
    /// symbolic links resolved.
    ///
    /// # Errors
    /// `Conflict` when the location is not separate from the farm, stores and other backup locations.
    pub(crate) async fn require_separate(&self, storage: &Storage) -> Result<Self> {
        match self {
            Self::Directory(path) => {
                let (path, storage) = (path.clone(), storage.clone());
                blocking(move || storage.require_backup_directory(&path)).await.map(Self::Directory)
            }
            Self::Objects(options, secrets) => {
                storage.require_backup_prefix(options, secrets).await?;
                Ok(self.clone())
            }
        }
    }

    /// Returns the location with an absolute path, for processes with another working directory.
    pub(crate) fn absolute(&self) -> Self {
        match self {
            Self::Directory(path) => Self::Directory(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
            Self::Objects(..) => self.clone(),
        }
    }

    /// Returns the directory, or none for a bucket.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Objects(..) => None,
        }
    }

    pub(crate) fn files(&self) -> Result<SmallFiles> {
        match self {
            Self::Directory(path) => Ok(SmallFiles::in_directory(path)),
            Self::Objects(options, secrets) => SmallFiles::in_bucket(options, secrets, self.to_string()),
        }
    }

    /// Opens the BLOB store that holds the backup's objects.
    pub(super) async fn store(&self, owner: &Owner) -> Result<BlobStore> {
        match self {
            Self::Directory(path) => {
                let options = DirectoryOptions { zero_fill: false, ..DirectoryOptions::default() };
                BlobStore::open_directory(&path.join("data"), owner, options).await
            }
            Self::Objects(options, secrets) => {
                let prefix = options.prefix.trim_matches('/');
                let prefix = if prefix.is_empty() { "data".to_owned() } else { format!("{prefix}/data") };
                let options = ObjectOptions { prefix, ..(**options).clone() };
                BlobStore::open_object(&options, secrets, owner).await
            }
        }
    }
}
