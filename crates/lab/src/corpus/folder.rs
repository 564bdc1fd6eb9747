//! Writes a corpus to a directory tree instead of a server, for `strongroom import` or any other importer. Existing
//! documents are kept, so an interrupted run can be resumed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::catalog::Corpus;
use super::document::Document;
use super::loaded::Loaded;
use crate::error::{Error, Result};
use crate::numbers::bytes;

/// Number of writer threads.
const THREADS: usize = 4;
/// Interval between progress reports.
const EVERY: Duration = Duration::from_millis(250);
/// File-system overhead as a share of the bytes of the documents.
const BESIDES: f64 = 0.02;

/// Name of the marker file in the first library, which holds the fingerprint of the corpus.
pub const NOTE: &str = "lab-corpus.txt";

/// Writes a corpus below a directory. The tree has a directory for each site, if there are several, then one for each
/// library, then one for each folder. `tell` receives the number of documents present and the total.
///
/// # Errors
/// If the directory holds another corpus, has too little free space, or cannot be written to.
pub fn write_folder(corpus: &Corpus, directory: &Path, mut tell: impl FnMut(u64, u64)) -> Result<Loaded> {
    let note = directory.join(corpus.library_path(0)).join(NOTE);
    match std::fs::read_to_string(&note) {
        Ok(text) if text == corpus.fingerprint() => return Ok(Loaded::default()),
        Ok(_) => {
            return Err(Error::new(format!(
                "another corpus with the seed {} is in {}: give the plan another seed, or another folder",
                corpus.plan().seed,
                directory.display()
            )));
        }
        Err(_) => {}
    }
    let begun = Instant::now();
    for library in 0..corpus.libraries() {
        for folder in 0..corpus.plan().folders {
            let path = directory.join(corpus.library_path(library)).join(corpus.folder_name(folder));
            std::fs::create_dir_all(&path).map_err(|error| unwritable(&path, &error))?;
        }
    }
    room_for(corpus, directory)?;
    let next = AtomicU64::new(0);
    let done = Mutex::new((0, Loaded::default()));
    let failed = std::thread::scope(|scope| {
        let work = || write_some(corpus, directory, &next, &done);
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            std::thread::park_timeout(EVERY);
            tell(done.lock().unwrap_or_else(PoisonError::into_inner).0, corpus.count());
        }
        let ended = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Error::new("a thread that wrote the corpus ended early")))
        });
        ended.filter_map(Result::err).next()
    });
    if let Some(error) = failed {
        return Err(error);
    }
    std::fs::write(&note, corpus.fingerprint()).map_err(|error| unwritable(&note, &error))?;
    let (_, mut loaded) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    loaded.seconds = begun.elapsed().as_secs_f64();
    Ok(loaded)
}

/// Checks the free space, so that a disk that is too small is reported before any document is written.
fn room_for(corpus: &Corpus, directory: &Path) -> Result<()> {
    let Ok(disk) = rustix::fs::statvfs(directory) else { return Ok(()) };
    let free = disk.f_bavail as f64 * disk.f_frsize as f64;
    // An interrupted run may have left documents here. Their space counts as free.
    let there = |number: u64| {
        let document = corpus.document(number);
        std::fs::metadata(directory.join(corpus.path(&document))).map_or(0, |found| found.len())
    };
    let missing = corpus.bytes() as f64 * (1.0 + BESIDES) - free;
    if missing <= 0.0 || missing <= (0..corpus.count()).map(there).sum::<u64>() as f64 {
        return Ok(());
    }
    Err(Error::new(format!(
        "the corpus needs {}, and {} has room for {}: choose a smaller --scale or another folder",
        bytes(corpus.bytes() as f64),
        directory.display(),
        bytes(free)
    )))
}

fn write_some(corpus: &Corpus, directory: &Path, next: &AtomicU64, done: &Mutex<(u64, Loaded)>) -> Result<()> {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= corpus.count() {
            return Ok(());
        }
        let document = corpus.document(number);
        let path = directory.join(corpus.path(&document));
        let written = write_one(corpus, &document, &path).inspect_err(|_| {
            // Makes the other threads stop.
            next.store(corpus.count(), Ordering::Relaxed);
        })?;
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.0 += 1;
        if written {
            done.1.documents += 1;
            done.1.bytes += document.size;
        }
    }
}

/// Writes a document atomically. Returns false if the document already exists.
fn write_one(corpus: &Corpus, document: &Document, path: &Path) -> Result<bool> {
    if std::fs::metadata(path).is_ok_and(|found| found.len() == document.size) {
        return Ok(false);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let write = || {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&beside)?);
        corpus.content(document, 0).try_for_each(|piece| file.write_all(&piece))?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        std::fs::rename(&beside, path)
    };
    write().map(|()| true).map_err(|error| {
        // A partial file is of no use.
        let _ = std::fs::remove_file(&beside);
        unwritable(path, &error)
    })
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(more: u64) -> Corpus {
        let text = format!("libraries = 2\nfolders = 3\nfiles = [{{ size = '9KB', count = {more}, spread = 0.4 }}]");
        Corpus::new(toml::from_str(&text).unwrap())
    }

    #[test]
    fn a_tree_has_the_bytes_of_the_corpus_and_goes_on_where_it_stopped() {
        let (corpus, directory) = (corpus(40), tempfile::tempdir().unwrap());
        let mut told = (0, 0);
        let written = write_folder(&corpus, directory.path(), |done, of| told = (done, of)).unwrap();
        assert_eq!((written.documents, written.bytes, told), (40, corpus.bytes(), (40, 40)));
        for document in (0..40).map(|number| corpus.document(number)) {
            let content: Vec<u8> = corpus.content(&document, 0).flat_map(|piece| piece.to_vec()).collect();
            assert_eq!(std::fs::read(directory.path().join(corpus.path(&document))).unwrap(), content);
        }
        // Simulates an interruption in the middle of a document.
        let note = directory.path().join(corpus.library_path(0)).join(NOTE);
        std::fs::remove_file(&note).unwrap();
        let cut = directory.path().join(corpus.path(&corpus.document(7)));
        std::fs::write(&cut, b"half of it").unwrap();
        assert_eq!(write_folder(&corpus, directory.path(), |_, _| {}).unwrap().documents, 1);
        assert_eq!(write_folder(&corpus, directory.path(), |_, _| {}).unwrap(), Loaded::default(), "it is there");
    }

    #[test]
    fn another_corpus_and_a_full_disk_are_said() {
        let directory = tempfile::tempdir().unwrap();
        write_folder(&corpus(3), directory.path(), |_, _| {}).unwrap();
        let said = write_folder(&corpus(4), directory.path(), |_, _| {}).unwrap_err().to_string();
        assert!(said.contains("another corpus with the seed 1"), "{said}");
        let large = Corpus::new(toml::from_str("seed = 2\nfiles = [{ size = '1000GB', count = 90000 }]").unwrap());
        let said = write_folder(&large, directory.path(), |_, _| {}).unwrap_err().to_string();
        assert!(said.contains("the corpus needs 90000000 GB"), "{said}");
        let full = corpus(3);
        let place = directory.path().join("full");
        std::fs::create_dir_all(place.join(full.folder_path(&full.document(0)))).unwrap();
        let path = place.join(full.path(&full.document(0)));
        std::os::unix::fs::symlink("/dev/full", format!("{}.part", path.display())).unwrap();
        let said = write_folder(&full, &place, |_, _| {}).unwrap_err().to_string();
        assert!(said.contains(&full.document(0).name), "{said}");
        assert!(said.contains("No space left"), "{said}");
    }
}
