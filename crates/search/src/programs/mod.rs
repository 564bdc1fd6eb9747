//! External programs that read documents for the search index, where they are installed: poppler for PDF, LibreOffice
//! for Word, Excel and PowerPoint of the time before 2007, and tesseract for text in pictures.
//!
//! They run in the sandbox ([`crate::sandbox`]) and only if this system can confine them. What they return is read like
//! any other document. If a program is missing or fails, a PDF is read by our own reader.

mod installed;
pub mod office;
mod old_office;
mod pages;
mod pdf;
mod picture;
mod poppler;
mod reading;
mod recognition;
mod scratch;
mod status;
mod tesseract;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Error, Result};
use tokio::sync::{Mutex, OnceCell, Semaphore};

use crate::readers::ReadableFormat;
use crate::sandbox::{MissingRestriction, Sandbox};
use installed::Installed;
pub use reading::{ReadDocument, Reading, Recognition};
pub use status::ProgramStatus;
pub use tesseract::is_language;

/// Interval between two looks at the installed programs.
const LOOK_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Maximum number of PDF that are read at the same time, however many processors there are.
const MAX_QUICK: usize = 4;
/// Reads documents with the external programs. Cheap to clone.
#[derive(Clone)]
pub struct Programs(Arc<Inner>);

struct Inner {
    sandbox: Sandbox,
    settings: ProgramSettings,
    found: Mutex<Option<(Instant, Arc<Installed>)>>,
    /// Set once it is known whether this system can confine programs.
    is_confined: OnceCell<bool>,
    quick: Semaphore,
    /// The permit for a program that needs much time and memory.
    slow: Semaphore,
}

/// Where programs are looked for, and where they may write.
#[derive(Clone, Debug, Default)]
pub struct ProgramSettings {
    /// Directories of programs, separated by colons.
    pub search_path: OsString,
    /// Location of LibreOffice's `soffice`; `None` if it is not to be used.
    pub office: Option<PathBuf>,
    /// Directory for the directories of programs. Only this process may use it.
    pub place: PathBuf,
}

impl Programs {
    /// Programs that run in this sandbox.
    pub fn new(sandbox: Sandbox, settings: ProgramSettings) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Inner {
            sandbox,
            settings,
            found: Mutex::default(),
            is_confined: OnceCell::new(),
            quick: Semaphore::new(processors.min(MAX_QUICK)),
            slow: Semaphore::new(1),
        }))
    }

    /// The sandbox.
    pub fn sandbox(&self) -> &Sandbox {
        &self.0.sandbox
    }

    /// Removes directories that a process left in this place when it crashed. Blocks.
    ///
    /// # Errors
    /// That of a directory that cannot be removed.
    pub fn remove_left_over(place: &Path) -> io::Result<()> {
        scratch::remove_left_over(place)
    }

    /// Returns the state of each program.
    ///
    /// # Errors
    /// `Unavailable` if no child process can be started to look for them.
    pub async fn status(&self) -> Result<Vec<ProgramStatus>> {
        Ok(status::of(&*self.found().await?))
    }

    /// Returns what the installed programs can do, among it the recognition of text in these languages. If there is
    /// something that was not there before, documents that could not be read are to be tried again.
    ///
    /// # Errors
    /// `Unavailable` if no child process can be started to look for them.
    pub async fn abilities(&self, languages: &[String]) -> Result<Vec<String>> {
        Ok(self.found().await?.abilities(languages))
    }

    /// Reads the text of a document.
    ///
    /// # Errors
    /// Those of [`Sandbox::read_text`]; `Unavailable` if the document needs a program for which only
    /// [`crate::sandbox::ReadLimit::Long`] is enough.
    pub async fn read(&self, reading: Reading<'_>) -> Result<ReadDocument> {
        match reading.format {
            ReadableFormat::Pdf => self.read_pdf(reading).await,
            ReadableFormat::Picture | ReadableFormat::Tiff if tesseract::is_picture(reading.bytes) => {
                self.read_picture(reading).await
            }
            format if format.needs_program() => self.read_old_office(reading).await,
            format => self.read_as(format, reading).await,
        }
    }

    /// Reads a document in a child process of our own.
    async fn read_as(&self, format: ReadableFormat, reading: Reading<'_>) -> Result<ReadDocument> {
        let read = self.0.sandbox.read_text(reading.limit, reading.room, format, reading.bytes).await?;
        Ok(read.into())
    }

    /// Returns the installed programs. Looks for them from time to time.
    ///
    /// # Errors
    /// `Unavailable` if no child process can be started.
    async fn found(&self) -> Result<Arc<Installed>> {
        let mut found = self.0.found.lock().await;
        if let Some((_, known)) = found.as_ref().filter(|(at, _)| at.elapsed() < LOOK_INTERVAL) {
            return Ok(known.clone());
        }
        let installed = Arc::new(self.look().await?);
        *found = Some((Instant::now(), installed.clone()));
        Ok(installed)
    }

    async fn look(&self) -> Result<Installed> {
        if !*self.0.is_confined.get_or_try_init(|| self.is_confined()).await? {
            return Ok(Installed::default());
        }
        let settings = self.0.settings.clone();
        let look = move || Installed::look(&settings.search_path, settings.office.as_deref());
        let ended = |error| Error::unavailable("the look at programs ended early").with_source(error);
        let mut installed = tokio::task::spawn_blocking(look).await.map_err(ended)?;
        if let Some(tesseract) = &mut installed.tesseract {
            tesseract.languages = tesseract::languages(&self.0.sandbox, tesseract).await?;
        }
        Ok(installed)
    }

    /// Returns whether a program that a document takes over could neither read other files nor use the network.
    async fn is_confined(&self) -> Result<bool> {
        let lacks = self.0.sandbox.missing_restrictions().await?;
        Ok(!lacks.contains(&MissingRestriction::Files) && !lacks.contains(&MissingRestriction::Calls))
    }
}
