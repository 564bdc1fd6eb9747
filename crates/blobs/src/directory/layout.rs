//! Names in the store's directory, the marker file and the store-wide lock.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use model::{Digest, Error, ErrorKind, Result, Timestamp};
use rustix::fs::FlockOperation;

use super::files::{failed, lock, sync_directory, write_atomically};

const FORMAT: u32 = 1;
/// The format of a directory that may hold encoded BLOBs, which programs that know the first one only must not take for damaged.
const FORMAT_ENCODED: u32 = 2;
/// What marks a directory or prefix as a store.
pub const STORE_MARK: &str = "store.toml";
const LOCK: &str = "lock";
const COMPACTION_LOCK: &str = "compaction.lock";

/// Who may write to a store: the farm's identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner(String);

impl Owner {
    /// 1 to 128 letters, digits, `-`, `_`, `.` or `:`.
    pub fn new(farm: impl Into<String>) -> Result<Self> {
        let farm = farm.into();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if farm.is_empty() || farm.len() > 128 || !farm.chars().all(plain) {
            return Err(Error::invalid("the owner of a BLOB store is 1 to 128 letters, digits, '-', '_', '.' or ':'"));
        }
        Ok(Self(farm))
    }

    /// The farm's identifier.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

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
            fs::create_dir_all(root).map_err(|e| failed("create the BLOB store", root, e))?;
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
        .with_code("store_absent"))
    }

    /// Notes that encoded BLOBs may be in the store, before the first one is.
    pub fn allow_encoded(&self) -> Result<()> {
        let marker = self.root.join(STORE_MARK);
        let is_noted = |text: &str| value(text, "format").is_some_and(|format| format == FORMAT_ENCODED.to_string());
        if is_noted(&read_marker(&marker)?) {
            return Ok(());
        }
        let _guard = self.lock(FlockOperation::LockExclusive)?;
        // As it is now: another process may have been faster.
        let text = read_marker(&marker)?;
        if is_noted(&text) {
            return Ok(());
        }
        let noted =
            text.lines().map(|line| match line.split_once('=').is_some_and(|(name, _)| name.trim() == "format") {
                true => format!("format = {FORMAT_ENCODED}\n"),
                false => format!("{line}\n"),
            });
        write_atomically(&marker, &[noted.collect::<String>().as_bytes()])
    }

    fn create(&self, marker: &Path, owner: &Owner) -> Result<()> {
        for directory in [self.segments(), self.incoming(), self.large()] {
            fs::create_dir_all(&directory).map_err(|e| failed("create", &directory, e))?;
        }
        let text = marker_text("docs/formats/blob-store.md", owner);
        write_atomically(marker, &[text.as_bytes()])?;
        self.root.parent().filter(|parent| !parent.as_os_str().is_empty()).map_or(Ok(()), sync_directory)
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
        let directory = self.large_directory(first);
        fs::create_dir_all(&directory).map_err(|e| failed("create", &directory, e))?;
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
        return Err(Error::conflict(message).with_code("not_a_blob_store"));
    }
    let segments = root.join("segments");
    if exists(&segments)? && !names(&segments)?.is_empty() {
        let message =
            format!("{} holds BLOBs but its marker {STORE_MARK} is missing: restore that file", root.display());
        return Err(Error::corrupt(message));
    }
    Ok(())
}

/// What the marker of a new store says.
pub fn marker_text(description: &str, owner: &Owner) -> String {
    format!(
        "# A BLOB store of Strongroom: {description} tells how to read it. Do not edit this file.\n\
         format = {FORMAT}\nowner = \"{}\"\ncreated = {}\n",
        owner.as_str(),
        Timestamp::now().micros()
    )
}

fn check_marker(marker: &Path, owner: &Owner) -> Result<()> {
    let text = read_marker(marker)?;
    let store = marker.parent().unwrap_or(marker).display().to_string();
    check_marker_format(&text, &marker.display().to_string(), &store, owner, FORMAT_ENCODED)
}

fn read_marker(marker: &Path) -> Result<String> {
    fs::read_to_string(marker).map_err(|e| failed("read", marker, e))
}

/// A value in the text of a marker.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().trim_matches('"'))
}

/// Whether the marker of a store says that this owner may write to it, in the format that this program knows.
pub fn check_marker_text(text: &str, marker: &str, store: &str, owner: &Owner) -> Result<()> {
    check_marker_format(text, marker, store, owner, FORMAT)
}

fn check_marker_format(text: &str, marker: &str, store: &str, owner: &Owner, newest: u32) -> Result<()> {
    let format = value(text, "format").and_then(|format| format.parse::<u32>().ok());
    let (Some(format), Some(found)) = (format, value(text, "owner")) else {
        return Err(Error::corrupt(format!("{marker} names no format and owner: restore it from a backup")));
    };
    if !(FORMAT..=newest).contains(&format) {
        let message = format!("{marker} has format {format}, this program reads up to {newest}: use a newer one");
        return Err(Error::new(ErrorKind::Invalid, message).with_code("newer_blob_store"));
    }
    if found != owner.as_str() {
        let message = format!(
            "the BLOB store {store} belongs to farm {found}, not to {}: two farms in one store would delete each other's BLOBs",
            owner.as_str()
        );
        return Err(Error::conflict(message).with_code("store_of_another_farm"));
    }
    Ok(())
}
