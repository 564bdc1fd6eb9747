//! What a directory or a prefix of a bucket is, by the files in it: a place of backups, a BLOB store, the data directory of a farm. Everybody
//! who wants a place of its own looks here for what lies around it and within it, by whatever address it is reached.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::{fmt, fs};

use blobs::{ObjectNotes, ObjectOptions, ObjectSecrets, STORE_MARK};
use model::{Code, Error, Result};

/// The file by which a server or a restoration keeps others away from a data directory.
pub const SERVER_LOCK: &str = "server.lock";
/// The file by which a place of backups is known.
pub const BACKUP_MARK: &str = "strongroom-backup.json";
/// Marks are small.
const MARK_LIMIT: u64 = 64 << 10;
/// How far, and at how many names, it is looked for what lies within a place.
const DEPTH: usize = 3;
const NAMES: usize = 2_000;

/// What a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A place of backups.
    Backups,
    /// A BLOB store.
    Store,
    /// The data directory of a farm.
    Farm,
    /// A part of a bucket that the credential does not open.
    Closed,
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Backups => "a place of backups",
            Self::Store => "a BLOB store",
            Self::Farm => "the data directory of a farm",
            Self::Closed => "a part of the bucket that the credential does not open",
        })
    }
}

/// A place that is something.
#[derive(Clone, Debug)]
pub struct Marked {
    /// What it is.
    pub sign: Sign,
    /// The directory, or the prefix within its bucket.
    pub place: String,
    /// The farm that a store belongs to, as its mark says.
    pub owner: Option<String>,
}

/// The path from the root on, without links and `..`; what is not there yet is taken as it is written. Blocks.
///
/// # Errors
/// Invalid for an empty path; unavailable when a part cannot be looked at.
pub fn real_path(path: &Path) -> Result<PathBuf> {
    let whole = std::path::absolute(path)
        .map_err(|e| Error::invalid(format!("\"{}\" is no usable path: {e}", path.display())).with_source(e))?;
    let mut real = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            part => real.push(part),
        }
        match fs::canonicalize(&real) {
            Ok(found) => real = found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&real, error)),
        }
    }
    Ok(real)
}

/// What a directory is, and what those around it are, from the inside out. `place` is a [`real_path`]. Blocks.
///
/// # Errors
/// Unavailable when one cannot be looked at.
pub fn signs_around(place: &Path) -> Result<Vec<Marked>> {
    let mut found = Vec::new();
    for directory in place.ancestors() {
        found.extend(sign_of(directory)?);
    }
    Ok(found)
}

/// The first thing that lies a few steps within a directory and is something, unless `passes` lets it be. Blocks.
///
/// # Errors
/// Unavailable when the directory cannot be looked at.
pub fn sign_within(place: &Path, passes: impl Fn(&Marked) -> bool) -> Result<Option<Marked>> {
    let (mut level, mut names) = (vec![place.to_path_buf()], 0);
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for directory in level {
            for name in names_in(&directory, NAMES - names)? {
                names += 1;
                let below = directory.join(name);
                // A link leads elsewhere.
                if !fs::symlink_metadata(&below).is_ok_and(|found| found.is_dir()) {
                    continue;
                }
                match sign_of(&below) {
                    Ok(Some(marked)) if passes(&marked) => {}
                    Ok(Some(marked)) => return Ok(Some(marked)),
                    // What may not be looked into belongs to somebody else.
                    Ok(None) | Err(_) => next.push(below),
                }
            }
        }
        level = next;
    }
    Ok(None)
}

fn names_in(directory: &Path, most: usize) -> Result<Vec<OsString>> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries.take(most).filter_map(|entry| Some(entry.ok()?.file_name())).collect()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            Ok(Vec::new())
        }
        Err(error) => Err(failed(directory, error)),
    }
}

fn sign_of(directory: &Path) -> Result<Option<Marked>> {
    let there = |name: &str| {
        let path = directory.join(name);
        match path.try_exists() {
            // What stands there is a file, and nothing lies in it.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
            found => found.map_err(|error| failed(&path, error)),
        }
    };
    let marked = |sign, owner| Ok(Some(Marked { sign, place: directory.display().to_string(), owner }));
    if there(BACKUP_MARK)? {
        return marked(Sign::Backups, None);
    }
    if there(STORE_MARK)? {
        let (path, mut text) = (directory.join(STORE_MARK), Vec::new());
        let read = fs::File::open(&path).and_then(|file| file.take(MARK_LIMIT).read_to_end(&mut text));
        read.map_err(|error| failed(&path, error))?;
        // Something else may have a file of this name.
        if let Some(owner) = owner_of(&text) {
            return marked(Sign::Store, Some(owner));
        }
    }
    match there("configuration.sqlite")? || there(SERVER_LOCK)? && there("blobs")? {
        true => marked(Sign::Farm, None),
        false => Ok(None),
    }
}

/// What a prefix of a bucket is, and what those around it are, from the inside out; the bucket as a whole has an empty one.
///
/// # Errors
/// What the service says, unless it does not show what is around the prefix.
pub async fn signs_around_prefix(options: &ObjectOptions, secrets: &ObjectSecrets) -> Result<Vec<Marked>> {
    let (own, mut found) = (options.prefix.trim_matches('/'), Vec::new());
    for prefix in prefixes(own) {
        let marked = |sign, owner| Marked { sign, place: prefix.to_owned(), owner };
        match sign_of_prefix(options, secrets, prefix).await {
            Ok(Some((sign, owner))) => found.push(marked(sign, owner)),
            Ok(None) => {}
            // A credential for the place alone tells nothing of what is around it.
            Err(error) if error.code() == Code::StoreCredentialRefused && prefix != own => {
                found.push(marked(Sign::Closed, None));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What a prefix of a bucket is, whatever lies around it.
///
/// # Errors
/// What the service says.
pub async fn sign_of_prefix(
    options: &ObjectOptions,
    secrets: &ObjectSecrets,
    prefix: &str,
) -> Result<Option<(Sign, Option<String>)>> {
    let notes = ObjectNotes::open(&ObjectOptions { prefix: prefix.to_owned(), ..options.clone() }, secrets)?;
    if notes.read(BACKUP_MARK, MARK_LIMIT).await?.is_some() {
        return Ok(Some((Sign::Backups, None)));
    }
    let owner = notes.read(STORE_MARK, MARK_LIMIT).await?.and_then(|text| owner_of(&text));
    Ok(owner.map(|owner| (Sign::Store, Some(owner))))
}

/// A prefix and everything around it, the bucket as a whole last.
fn prefixes(prefix: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(prefix), |prefix| {
        if prefix.is_empty() { None } else { Some(prefix.rsplit_once('/').map_or("", |(above, _)| above)) }
    })
}

/// Whether a prefix is the other or lies within it.
pub fn prefix_within(inner: &str, outer: &str) -> bool {
    prefixes(inner.trim_matches('/')).any(|above| above == outer.trim_matches('/'))
}

fn owner_of(mark: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(mark);
    let owner = text.lines().find_map(|line| line.strip_prefix("owner = "));
    owner.map(|owner| owner.trim().trim_matches('"').to_owned())
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::unavailable(format!("{} cannot be looked at: {error}", path.display())).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_a_prefix_ends_with_the_bucket() {
        assert_eq!(prefixes("a/b/c").collect::<Vec<_>>(), ["a/b/c", "a/b", "a", ""]);
        assert_eq!(prefixes("").collect::<Vec<_>>(), [""]);
        assert!(prefix_within("a/b/", "a") && prefix_within("a", "") && prefix_within("/a", "a"));
        assert!(!prefix_within("ab", "a") && !prefix_within("a", "a/b"));
    }

    #[test]
    fn a_path_is_followed_through_links_and_what_is_not_there_yet() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        fs::create_dir_all(root.join("real/inner")).unwrap();
        std::os::unix::fs::symlink(root.join("real/inner"), root.join("link")).unwrap();
        for (path, real) in [
            ("link/new", "real/inner/new"),
            ("link/../new", "real/new"),
            ("missing/../real/./new/", "real/new"),
            ("missing/more/../../link", "real/inner"),
        ] {
            assert_eq!(real_path(&root.join(path)).unwrap(), root.join(real), "{path}");
        }
        assert!(real_path(Path::new("")).is_err());
    }

    #[test]
    fn what_lies_around_and_within_is_known_by_its_mark() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("kept/backups/strongroom-backup.json", "{}");
        put("kept/store/store.toml", "format = 1\nowner = \"4711\"\n");
        put("kept/shop/store.toml", "name = 'a shop'\n");
        put("farm/configuration.sqlite", "");
        let around = |path: &str| -> Vec<Sign> {
            signs_around(&root.join(path)).unwrap().into_iter().map(|marked| marked.sign).collect()
        };
        assert_eq!(around("kept/backups/a/b"), [Sign::Backups]);
        assert_eq!(around("kept/store"), [Sign::Store]);
        assert_eq!(around("farm/x"), [Sign::Farm]);
        assert_eq!(around("kept/shop/x"), []);
        let within = sign_within(&root.join("kept"), |marked| marked.sign == Sign::Backups).unwrap().unwrap();
        assert_eq!((within.sign, within.owner.as_deref()), (Sign::Store, Some("4711")));
        assert_eq!(sign_within(&root.join("farm"), |_| false).unwrap().map(|marked| marked.sign), None);
    }
}
