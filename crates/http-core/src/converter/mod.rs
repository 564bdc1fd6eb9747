//! Conversion of office documents to PDF pages by LibreOffice, where it is installed.
//!
//! The input is untrusted: any user can upload it. The program runs as a sandboxed child process. Its directory and its
//! profile exist for one document only; macros are off and references to outside resources are blocked.

mod program;
mod work;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Code, Error, Result};
use repository::{ChildPermit, Content, Sandbox, Session};
use tokio::io::AsyncWriteExt;

use crate::result_cache::ResultCache;
use work::{Conversion, Work, disk_error};

/// Limit on the size of a document to convert, and of its result, in bytes.
pub const MAX_BYTES: u64 = 32 << 20;
/// Time limit for one run of the program.
const RUN_TIMEOUT: Duration = Duration::from_secs(20);
/// Limits of the result cache: bytes held in memory (`KEPT_BYTES`) and number of documents (`MAX_CACHED_RESULTS`).
const KEPT_BYTES: usize = 64 << 20;
const MAX_CACHED_RESULTS: usize = 1_000;
/// Name of the executable to look for in `PATH`.
const PROGRAM: &str = "soffice";

/// The conversion program and a cache of its recent results.
pub struct Converter {
    program: PathBuf,
    kept: ResultCache,
}

impl Converter {
    /// Finds the program for this setting: the path of `soffice`, or `none` for no conversion. Without a setting,
    /// `PATH` is searched.
    ///
    /// # Errors
    /// Invalid when the setting names a path at which there is no file.
    pub fn find(setting: Option<&Path>) -> Result<Option<PathBuf>> {
        match setting {
            Some(path) if path == Path::new("none") => Ok(None),
            Some(path) if path.is_file() => Ok(Some(path.to_owned())),
            Some(path) => Err(Error::invalid(format!(
                "converter: there is no program {}; set it to the path of soffice, or to \"none\"",
                path.display()
            ))),
            None => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                Ok(std::env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|place| place.is_file()))
            }
        }
    }

    /// Returns a converter that runs this program.
    pub fn new(program: PathBuf) -> Self {
        Self { program, kept: ResultCache::new(KEPT_BYTES, MAX_CACHED_RESULTS) }
    }

    /// Returns whether documents with this extension (in lower case, without a dot) can be converted.
    pub fn takes(extension: &str) -> bool {
        program::filter(extension).is_some()
    }

    /// Returns the first pages of a document as PDF.
    ///
    /// # Errors
    /// Invalid with code `not_readable` when the program cannot convert the document within 20 seconds, or when the
    /// document is longer than 32 MiB. Unavailable when too many conversions are queued.
    #[boxed]
    pub async fn pdf(&self, session: &Session, document: Content) -> Result<Bytes> {
        // The extension is part of the key: the same bytes under another name may be another kind of document.
        let key = format!("{}.{}", document.etag(), extension(&document.item.name));
        if let Some(made) = self.kept.known(&key) {
            return made.ok_or_else(unreadable);
        }
        if document.size() > MAX_BYTES {
            return Err(Error::invalid("only documents of up to 32 MiB can be converted").with_code(Code::NotReadable));
        }
        let sandbox = session.repository().sandbox()?;
        let permit = sandbox.permit_to_run(session.principal().id).await?;
        // Another request may have converted the document while this one waited for its permit.
        let made = match self.kept.known(&key) {
            Some(made) => made,
            None => {
                let made = self.convert(sandbox, permit, document).await?;
                self.kept.keep(key, made.clone());
                made
            }
        };
        made.ok_or_else(unreadable)
    }

    async fn convert(&self, sandbox: &Sandbox, permit: ChildPermit, mut document: Content) -> Result<Conversion> {
        let place = tempfile::Builder::new().prefix("strongroom-").tempdir().map_err(|error| disk_error(&error))?;
        let extension = extension(&document.item.name);
        let source = place.path().join(format!("document.{extension}"));
        let mut file = tokio::fs::File::create_new(&source).await.map_err(|error| disk_error(&error))?;
        while let Some(chunk) = document.next_chunk().await? {
            file.write_all(&chunk).await.map_err(|error| disk_error(&error))?;
        }
        file.flush().await.map_err(|error| disk_error(&error))?;
        let begun = Instant::now();
        let work = Work { place, permit, extension };
        let (mut made, work) = program::run(sandbox, &self.program, work, MAX_BYTES, RUN_TIMEOUT).await?;
        if made.is_none() && begun.elapsed() < RUN_TIMEOUT {
            // The program occasionally fails on a document that it converts on the next run, so only a second failure
            // counts. A run that used up its time limit is not retried.
            (made, _) = program::run(sandbox, &self.program, work, MAX_BYTES, RUN_TIMEOUT).await?;
        }
        let result = if made.is_some() { "made" } else { "failed" };
        metrics::counter!("strongroom_conversions_total", "result" => result).increment(1);
        Ok(made)
    }
}

/// Returns the extension of a name in lower case, or an empty string.
pub fn extension(name: &str) -> String {
    name.rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_lowercase())
}

fn unreadable() -> Error {
    Error::invalid("the document cannot be shown as pages").with_code(Code::NotReadable)
}
