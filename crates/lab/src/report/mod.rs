//! Reports of a result: a page of one file, and Markdown. Measures nothing.

mod html;
mod markdown;
mod table;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::result::RunResult;

pub use html::{html, live_page};
pub use markdown::markdown;
pub use table::{bytes, markdown as table_of, milliseconds, number};

/// Writes `NAME.json`, `NAME.md` and `NAME.html` into a directory, which is made when it is missing.
///
/// # Errors
/// When a file cannot be written; no half file is left under its name.
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

/// Makes a directory for results and sees that it can be written to.
///
/// # Errors
/// When it cannot.
pub fn prepare(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
    let probe = directory.join(".lab-probe");
    std::fs::write(&probe, b"probe")
        .and_then(|()| std::fs::remove_file(&probe))
        .map_err(|error| unwritable(directory, &error))
}

/// Writes a text file whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let beside = path.with_extension("part");
    let done = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    done.map_err(|error| {
        // What is left is of no use to anybody.
        let _ = std::fs::remove_file(&beside);
        unwritable(path, &error)
    })
}

/// Reads a result.
///
/// # Errors
/// When the file cannot be read or is no result of this version.
pub fn read(path: &Path) -> Result<RunResult> {
    let wrong = |why: String| Error::new(format!("{} is no result of a run: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let result: RunResult = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if result.version != crate::result::VERSION {
        return Err(wrong(format!(
            "it has version {}, and this program reads {}",
            result.version,
            crate::result::VERSION
        )));
    }
    Ok(result)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("{} cannot be written: {error}", path.display()))
}
