//! Whether a directory can become a store of its own: it must not be, hold or lie within another one, whatever it is called.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{Error, Result};

/// Refuses a directory that is one of the others (each with its name), lies within one, or holds one; and one whose parent is not there,
/// which is mostly a disk that is not mounted, unless that is to be made below `base`, the data directory. Blocks.
pub(crate) fn require_own(base: &Path, new: &Path, others: &[(String, PathBuf)]) -> Result<()> {
    let failed = |path: &Path, error: io::Error| {
        Error::unavailable(format!("{} cannot be looked at: {error}", path.display())).with_source(error)
    };
    // As far as it is there; what is missing below the data directory is made.
    let (mut present, mut missing) = (new.to_path_buf(), Vec::new());
    let place = loop {
        match fs::canonicalize(&present) {
            Ok(found) => break missing.iter().rev().fold(found, |path, name| path.join(name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (present.parent(), present.file_name()) else {
                    return Err(Error::invalid(format!("{} is no directory that can be made", new.display())));
                };
                missing.push(name.to_owned());
                present = parent.to_path_buf();
            }
            Err(error) => return Err(failed(new, error)),
        }
    };
    if missing.len() > 1 && !new.starts_with(base) {
        return Err(Error::invalid(format!(
            "{} is not there: make it, or mount its disk, before a store is made in it",
            new.parent().unwrap_or(new).display()
        )));
    }
    let identity = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    for (name, other) in others {
        let known = fs::canonicalize(other).unwrap_or_else(|_| other.clone());
        let same = identity(&place).is_some_and(|identity_of| identity(&known) == Some(identity_of));
        if same || place.starts_with(&known) || known.starts_with(&place) {
            let message =
                format!("the BLOB store \"{name}\" is in that place ({}): choose another one", other.display());
            return Err(Error::conflict(message).with_code("place_taken"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_every_name_that_it_has() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        let require_own = |new: &Path, others: &[_]| require_own(&at("data"), new, others);
        fs::create_dir_all(at("store/sub")).unwrap();
        std::os::unix::fs::symlink(at("store"), at("link")).unwrap();
        let others = [("files".to_owned(), at("store"))];
        for taken in ["store", "store/", "./store", "link", "store/../store", "store/sub", "store/new", "link/new", "."]
        {
            assert_eq!(require_own(&at(taken), &others).unwrap_err().code(), "place_taken", "{taken}");
        }
        require_own(&at("other"), &others).unwrap();
        require_own(&at("store2"), &others).unwrap();
        require_own(&at("data/stores/other"), &others).unwrap();
        assert!(require_own(&at("missing/other"), &others).unwrap_err().message().contains("mount its disk"));
    }
}
