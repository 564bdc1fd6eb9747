//! Pages of office documents as PDF, made by LibreOffice where it is installed.
//!
//! What is converted was uploaded by anybody. The program runs in a child of the sandbox, in a directory and with a profile that exist for one
//! document, with macros off and references to elsewhere blocked.

use model::Code;
mod program;
mod work;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use model::{Error, Result};
use repository::{Content, Sandbox, Session, Turn};
use tokio::io::AsyncWriteExt;

use work::{Made, Work, no_room};

/// Longest document that is converted, and longest result.
pub const MOST_BYTES: u64 = 32 << 20;
/// Longest time for one document.
const TIME: Duration = Duration::from_secs(20);
/// Most bytes of results that are kept in memory, and most documents whose result is known.
const KEPT_BYTES: usize = 64 << 20;
const KEPT: usize = 1_000;
/// How long a failure counts: the next time the machine may have more time, or another program.
const FAILED: Duration = Duration::from_secs(600);
/// Name of the program that is looked for.
const PROGRAM: &str = "soffice";

/// What is known of a document.
struct Kept {
    key: String,
    made: Made,
    at: Instant,
}

/// The program, and what it made lately.
pub struct Converter {
    program: PathBuf,
    kept: Mutex<VecDeque<Kept>>,
}

impl Converter {
    /// The converter of this setting: the path of `soffice`, `none`, or nothing to look for it where programs are.
    ///
    /// # Errors
    /// Invalid when there is no file at the path.
    pub fn find(setting: Option<&Path>) -> Result<Option<PathBuf>> {
        match setting {
            Some(path) if path == Path::new("none") => Ok(None),
            Some(path) if path.is_file() => Ok(Some(path.to_owned())),
            Some(path) => Err(Error::invalid(format!(
                "converter: there is no program {}; it is the path of soffice, or \"none\"",
                path.display()
            ))),
            None => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                Ok(std::env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|place| place.is_file()))
            }
        }
    }

    /// A converter that runs this program.
    pub fn new(program: PathBuf) -> Self {
        Self { program, kept: Mutex::default() }
    }

    /// Whether documents with this extension, in lower case and without a dot, are converted.
    pub fn takes(extension: &str) -> bool {
        program::filter(extension).is_some()
    }

    /// The first pages of a document as PDF.
    ///
    /// # Errors
    /// Invalid with code `not_readable` when the program makes nothing of it in 20 seconds or when it is longer than 32 MB; unavailable when too many
    /// are waiting.
    pub async fn pdf(&self, session: &Session, document: Content) -> Result<Bytes> {
        // The same bytes under another name may be another kind of document.
        let key = format!("{}.{}", document.etag(), extension(&document.item.name));
        if let Some(made) = self.known(&key) {
            return made.ok_or_else(unreadable);
        }
        if document.size() > MOST_BYTES {
            return Err(Error::invalid("only documents of up to 32 MB are converted").with_code(Code::NotReadable));
        }
        let sandbox = session.repository().sandbox()?;
        let turn = sandbox.turn_to_run(session.principal().id).await?;
        // Somebody else may have waited for the same.
        let made = match self.known(&key) {
            Some(made) => made,
            None => {
                let made = self.convert(sandbox, turn, document).await?;
                self.keep(key, made.clone());
                made
            }
        };
        made.ok_or_else(unreadable)
    }

    async fn convert(&self, sandbox: &Sandbox, turn: Turn, mut document: Content) -> Result<Made> {
        let place = tempfile::Builder::new().prefix("strongroom-").tempdir().map_err(|error| no_room(&error))?;
        let extension = extension(&document.item.name);
        let source = place.path().join(format!("document.{extension}"));
        let mut file = tokio::fs::File::create_new(&source).await.map_err(|error| no_room(&error))?;
        while let Some(chunk) = document.next_chunk().await? {
            file.write_all(&chunk).await.map_err(|error| no_room(&error))?;
        }
        file.flush().await.map_err(|error| no_room(&error))?;
        let begun = Instant::now();
        let work = Work { place, turn, extension };
        let (mut made, work) = program::run(sandbox, &self.program, work, MOST_BYTES, TIME).await?;
        if made.is_none() && begun.elapsed() < TIME {
            // It fails now and then on what it converts the next time; only twice is taken for an answer. What took all of its time has none left.
            (made, _) = program::run(sandbox, &self.program, work, MOST_BYTES, TIME).await?;
        }
        let result = if made.is_some() { "made" } else { "failed" };
        metrics::counter!("strongroom_conversions_total", "result" => result).increment(1);
        Ok(made)
    }

    fn known(&self, key: &str) -> Option<Made> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = |kept: &&Kept| kept.key == key && (kept.made.is_some() || kept.at.elapsed() < FAILED);
        kept.iter().find(counts).map(|kept| kept.made.clone())
    }

    fn keep(&self, key: String, made: Made) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.key != key);
        kept.push_back(Kept { key, made, at: Instant::now() });
        let size = |made: &Made| made.as_ref().map_or(0, Bytes::len);
        let mut total: usize = kept.iter().map(|kept| size(&kept.made)).sum();
        while total > KEPT_BYTES || kept.len() > KEPT {
            let Some(oldest) = kept.pop_front() else { break };
            total -= size(&oldest.made);
        }
    }
}

/// The extension of a name, in lower case; empty when it has none.
pub fn extension(name: &str) -> String {
    name.rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_lowercase())
}

fn unreadable() -> Error {
    Error::invalid("the document cannot be shown as pages").with_code(Code::NotReadable)
}
