//! Sizes of files. They serve to monitor databases without statistics views: the database file and the write-ahead log
//! of SQLite.

use std::path::{Path, PathBuf};

use super::series::Reading;

/// Limit on the files that are reported.
const MAX_FILES: usize = 40;

/// Reads the sizes of files, and of the files directly in directories.
pub fn read(paths: &[PathBuf]) -> Vec<Reading> {
    let mut readings = Vec::new();
    for path in paths {
        let mut below: Vec<PathBuf> = std::fs::read_dir(path)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_else(|_| vec![path.clone()]);
        below.sort();
        readings.extend(below.iter().filter_map(|file| size(file)));
    }
    readings.truncate(MAX_FILES);
    readings
}

fn size(file: &Path) -> Option<Reading> {
    let found = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    let name = file.file_name()?.to_string_lossy();
    Some((format!("file {name}: size, bytes"), found.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_directories_are_seen_and_what_is_missing_is_not() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("main.db"), [0; 100]).unwrap();
        std::fs::write(directory.path().join("main.db-wal"), [0; 7]).unwrap();
        std::fs::create_dir(directory.path().join("below")).unwrap();
        let asked = [directory.path().to_owned(), directory.path().join("main.db"), directory.path().join("missing")];
        let sizes: Vec<f64> = read(&asked).into_iter().map(|(_, size)| size).collect();
        assert_eq!(sizes, [100.0, 7.0, 100.0]);
    }
}
