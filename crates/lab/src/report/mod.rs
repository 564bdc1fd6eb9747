//! Reports of a result: a self-contained HTML page, and Markdown. Measures nothing.

mod html;
mod markdown;
mod table;
mod text;
mod watched;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::result::RunResult;

pub use crate::numbers::{bytes, milliseconds, number};
pub use html::{html, live_page};
pub(crate) use markdown::date;
pub use markdown::markdown;
pub use table::markdown as table_of;
pub(crate) use text::markdown as in_markdown;
pub use text::plain;
pub(crate) use watched::while_counted;

/// Writes `NAME.json`, `NAME.md` and `NAME.html` into a directory, which is created if it is missing.
///
/// # Errors
/// If a file cannot be written. No partial file is left under its name.
pub fn save(result: &RunResult, directory: &Path, name: &str) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
    let json =
        serde_json::to_string(result).map_err(|error| Error::new(format!("the result cannot be written: {error}")))?;
    [("json", json), ("md", markdown(result)), ("html", html(result))]
        .into_iter()
        .map(|(ending, text)| {
            let path = directory.join(format!("{name}.{ending}"));
            write(&path, &text)?;
            Ok(path)
        })
        .collect()
}

/// Creates a directory for results and checks that it is writable.
///
/// # Errors
/// If it cannot be created or written to.
pub fn prepare(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
    let probe = directory.join(".lab-probe");
    let written = std::fs::write(&probe, b"probe");
    // On a full disk, the probe file exists but is empty.
    let removed = std::fs::remove_file(&probe);
    written.and(removed).map_err(|error| unwritable(directory, &error))
}

/// Refuses an unsuitable label of a run: the label appears in reports and in file names.
///
/// # Errors
/// If the label is empty, too long, or contains control characters.
pub fn check_label(label: &str) -> Result<()> {
    crate::plan::check_name("label", label)
}

/// Writes a text file atomically.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("part");
    let done = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    done.map_err(|error| {
        // A partial file is of no use.
        let _ = std::fs::remove_file(&beside);
        unwritable(path, &error)
    })
}

/// Reads a result.
///
/// # Errors
/// If the file cannot be read, is not a result of this version, or is damaged.
pub fn read(path: &Path) -> Result<RunResult> {
    let wrong = |why: String| Error::new(format!("{} is not the result of a run: {why}", path.display()));
    let unreadable = |error| Error::new(format!("{} cannot be read: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let known = crate::result::VERSION;
    match serde_json::from_str::<Version>(&text) {
        Ok(Version { version }) if version == known => {}
        Ok(Version { version }) => {
            return Err(wrong(format!("it has version {version}, and this program reads {known}")));
        }
        Err(error) => return Err(wrong(error.to_string())),
    }
    serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Error::new(format!("{} is damaged: line {line}, column {column} is not as the lab writes it", path.display()))
    })
}

/// The part of a result that all versions have.
#[derive(serde::Deserialize)]
struct Version {
    version: u32,
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_takes_nothing_is_left_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        prepare(directory.path()).unwrap();
        let probe = directory.path().join(".lab-probe");
        assert!(!probe.exists());
        // Writes to the probe file fail, as on a full disk.
        std::os::unix::fs::symlink("/dev/full", &probe).unwrap();
        assert!(prepare(directory.path()).unwrap_err().to_string().contains("cannot be written"));
        assert!(probe.symlink_metadata().is_err(), "the probe is gone");
    }

    #[test]
    fn a_result_that_is_damaged_is_called_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let said = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path).map(drop).map_err(|error| error.to_string())
        };
        let text = serde_json::to_string(&crate::result::sample()).unwrap();
        assert_eq!(said(&text), Ok(()));
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for broken in ["", "x", "AAAA"] {
            value["total"]["latency"] = broken.into();
            let said = said(&value.to_string()).unwrap_err();
            assert!(said.contains("a.json is damaged: "), "{said}");
            assert!(!said.contains("Cookie"), "{said}");
        }
        assert!(said("{ \"version\": 9 }").unwrap_err().contains("it has version 9"));
        assert!(said("{}").unwrap_err().contains("is not the result of a run"));
        value["total"]["latency"] =
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["total"]["latency"].clone();
        let old = value.as_object_mut().unwrap();
        old.remove("load");
        old.remove("target_version");
        assert_eq!(said(&value.to_string()), Ok(()), "old results are read");
    }

    #[test]
    fn a_label_is_one_that_files_can_have() {
        assert!(check_label("before the change, 1.2").is_ok());
        for wrong in ["", "  ", "two\nlines", "\u{1b}[2J", &"x".repeat(101)] {
            assert!(check_label(wrong).unwrap_err().to_string().contains("the label "), "{wrong:?}");
        }
    }
}
