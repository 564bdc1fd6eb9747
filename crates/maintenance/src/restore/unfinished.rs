//! The note in a data directory during an unfinished restore. As long as it exists, the directory does not hold a
//! complete farm, and only a restore may use it.

use std::fs;
use std::io;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Result};
use repository::DataDirectory;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::backup::format::json::pretty;
use crate::backup::place::small_files::{SmallFiles, failed};

const NOTE: &str = DataDirectory::UNFINISHED_RESTORE_FILE;

/// Content of the note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Note {
    /// Set that was used.
    pub set: String,
    /// Backup location.
    pub source: String,
    /// The only content database being restored. None for a whole farm.
    pub content_database: Option<String>,
    /// Databases on servers, without passwords, that already hold the set's content. A repeated restore replaces them.
    pub databases: Vec<String>,
}

/// The note of a running restore.
pub(super) struct Unfinished {
    files: SmallFiles,
    /// Set when an earlier attempt at the same restore left its note.
    goes_on: bool,
    /// The note, and whether it has been written to the directory.
    state: Mutex<(Note, bool)>,
}

impl Unfinished {
    /// Reads the note of an earlier attempt at the same restore, if any.
    #[boxed]
    pub async fn open(directory: &Path, mut note: Note) -> Result<Self> {
        let files = SmallFiles::in_directory(directory);
        let earlier = files.read(NOTE).await?.map(|bytes| read(&bytes));
        let goes_on = earlier.as_ref().is_some_and(|earlier| earlier.content_database == note.content_database);
        note.databases = earlier.filter(|_| goes_on).unwrap_or_default().databases;
        Ok(Self { files, goes_on, state: Mutex::new((note, false)) })
    }

    /// Returns whether an earlier attempt left its note.
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Returns whether an earlier attempt loaded a set into a database.
    #[boxed]
    pub async fn was_loaded(&self, database: &str) -> bool {
        self.state.lock().await.0.databases.iter().any(|known| known == database)
    }

    /// Writes the note: from here on the directory does not hold a complete farm. Returns whether the farm was complete
    /// until this call.
    #[boxed]
    pub async fn begin(&self) -> Result<bool> {
        let mut state = self.state.lock().await;
        if state.1 {
            return Ok(false);
        }
        self.files.write(NOTE, pretty(&state.0)?).await?;
        state.1 = true;
        Ok(!self.goes_on)
    }

    /// Records that a database on a server holds the set's content.
    #[boxed]
    pub async fn record_loaded(&self, database: String) -> Result<()> {
        let mut state = self.state.lock().await;
        if !state.0.databases.contains(&database) {
            state.0.databases.push(database);
        }
        if state.1 { self.files.write(NOTE, pretty(&state.0)?).await } else { Ok(()) }
    }

    /// Removes the note: the farm is complete again.
    #[boxed]
    pub async fn end(&self) -> Result<()> {
        let mut state = self.state.lock().await;
        state.1 = false;
        self.files.remove(NOTE).await
    }
}

/// Parses a note. An unreadable note counts as an empty one: it still shows that a restore is unfinished.
fn read(bytes: &[u8]) -> Note {
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// Refuses a data directory in which a restore is running or unfinished. `again` names the content database of a
/// restore that may complete its own earlier attempt. Blocks briefly.
///
/// # Errors
/// `Conflict` with code `restore_unfinished`.
pub fn refuse_unfinished(directory: &Path, again: Option<&str>) -> Result<()> {
    let data = DataDirectory::new(directory);
    let path = data.unfinished_restore();
    let note = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => read(&found.map_err(|e| failed("read", &path, e))?),
    };
    if again.is_some() && note.content_database.as_deref() == again {
        return Ok(());
    }
    let place = directory.display();
    let refuse = |text: String| Err(Error::conflict(text).with_code(Code::RestoreUnfinished));
    if data.is_locked() {
        return refuse(format!("a restore into {place} is in progress: wait until it has ended"));
    }
    let (what, only) = match &note.content_database {
        Some(name) => (format!("of the content database \"{name}\" "), format!(" --content-database {name}")),
        None => (String::new(), String::new()),
    };
    let (source, set) = match note.set.is_empty() {
        true => ("SOURCE", String::new()),
        false => (note.source.as_str(), format!(" --set {}", note.set)),
    };
    refuse(format!(
        "the restore {what}into {place} did not finish, so the farm in it is incomplete: run \
         `strongroom restore {source}{set}{only} --data {place}` again, with the same other options; it continues \
         where it stopped"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(content: Option<&str>) -> Note {
        let content_database = content.map(str::to_owned);
        Note { set: "7".to_owned(), source: "/b".to_owned(), content_database, databases: Vec::new() }
    }

    #[tokio::test]
    async fn what_did_not_finish_is_refused_until_it_has() {
        let directory = tempfile::tempdir().unwrap();
        refuse_unfinished(directory.path(), None).unwrap();
        let first = Unfinished::open(directory.path(), note(Some("main"))).await.unwrap();
        assert!(!first.goes_on());
        assert!(first.begin().await.unwrap());
        first.record_loaded("postgres://h/main".to_owned()).await.unwrap();
        let said = refuse_unfinished(directory.path(), None).unwrap_err();
        let words = "strongroom restore /b --set 7 --content-database main --data";
        assert!(said.message().contains(words), "{said}");
        assert!(refuse_unfinished(directory.path(), Some("other")).is_err());
        refuse_unfinished(directory.path(), Some("main")).unwrap();
        let again = Unfinished::open(directory.path(), note(Some("main"))).await.unwrap();
        assert!(again.goes_on());
        assert!(again.was_loaded("postgres://h/main").await);
        let whole = Unfinished::open(directory.path(), note(None)).await.unwrap();
        assert!(!whole.goes_on());
        assert!(!whole.was_loaded("postgres://h/main").await);
        again.end().await.unwrap();
        refuse_unfinished(directory.path(), None).unwrap();
        fs::write(directory.path().join(NOTE), "torn").unwrap();
        assert!(refuse_unfinished(directory.path(), None).is_err());
    }
}
