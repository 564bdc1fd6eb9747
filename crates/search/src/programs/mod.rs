//! Programs of others that read documents for the search index, where they are installed: poppler for PDF, LibreOffice
//! for Word, Excel and PowerPoint of the time before 2007, and tesseract for text in pictures.
//!
//! They run in the sandbox ([`crate::sandbox`]) and only if this system can confine them. What they return is read like
//! any other document. If a program is missing or fails, a PDF is read by our own reader.

mod installed;
pub mod office;
mod pages;
mod poppler;
mod scratch;
mod status;
mod tesseract;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Code, Error, ErrorKind, Result};
use tokio::sync::{Mutex, OnceCell, Semaphore};

use crate::extract::unreadable;
use crate::readers::{DocumentText, ReadableFormat};
use crate::sandbox::{MissingRestriction, Patience, Sandbox, TextRoom};
use installed::{Installed, Tesseract};
use pages::Pages;
pub use status::ProgramStatus;
pub use tesseract::is_language;

/// Interval between two looks at the installed programs.
const LOOK_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Maximum number of PDF that are read at the same time, however many processors there are.
const MAX_QUICK: usize = 4;
/// Limits on the pages of a document in which text is recognised, and on the time for them.
const MAX_RECOGNISED: usize = 20;
const RECOGNITION_TIME: Duration = Duration::from_secs(10 * 60);
/// Pixels in an inch of the pictures of pages, for common sizes of paper.
const PAGE_DOTS: u32 = 280;

/// Reads documents with the programs of others. Cheap to clone.
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

/// A document to read.
pub struct Reading<'a> {
    /// Its format.
    pub format: ReadableFormat,
    /// Its bytes, or their beginning.
    pub bytes: &'a [u8],
    /// Set if these are all.
    pub is_whole: bool,
    /// Room in memory for them.
    pub room: TextRoom,
    /// Time limit.
    pub patience: Patience,
    /// Recognition of text in pictures.
    pub recognition: Recognition<'a>,
}

/// Whether text in pictures is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognition<'a> {
    /// Never.
    Off,
    /// Later, in these languages.
    Later(&'a [String]),
    /// Now, in these languages.
    Now(&'a [String]),
}

/// A document that was read.
#[derive(Debug, Default)]
pub struct ReadDocument {
    /// Its text, without what could not be read.
    pub text: DocumentText,
    /// The reason why not all could be read: a program is missing or failed.
    pub fault: Option<Error>,
    /// Set if more text is found with [`Recognition::Now`].
    pub awaits_recognition: bool,
}

impl From<DocumentText> for ReadDocument {
    fn from(text: DocumentText) -> Self {
        Self { text, ..Self::default() }
    }
}

impl ReadDocument {
    /// Notes why text is not recognised.
    fn note_no_recognition(&mut self, error: Error, recognition: Recognition<'_>) -> Result<()> {
        match (error.kind(), recognition) {
            (ErrorKind::Unavailable, Recognition::Now(_)) => return Err(error),
            (ErrorKind::Unavailable, _) => self.awaits_recognition = true,
            _ => self.fault = Some(error),
        }
        Ok(())
    }
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
    /// [`Patience::Long`] is enough.
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
        let read = self.0.sandbox.read_text(reading.patience, reading.room, format, reading.bytes).await?;
        Ok(read.into())
    }

    async fn read_pdf(&self, reading: Reading<'_>) -> Result<ReadDocument> {
        let installed = self.found().await?;
        let Some(poppler) = &installed.poppler else { return self.read_pdf_without_poppler(reading).await };
        let (sandbox, bytes) = (&self.0.sandbox, reading.bytes);
        let permit = self.0.quick.acquire().await.map_err(|_| stops())?;
        let mut pages = match poppler::pages(sandbox, poppler, bytes, reading.patience.time()).await {
            Ok(pages) => pages,
            Err(error) if is_final(&error, reading.patience) => return Err(error),
            // What one reader cannot read, the other may.
            Err(_) => {
                drop(permit);
                return self.read_as(ReadableFormat::Pdf, reading).await;
            }
        };
        let properties = poppler::properties(sandbox, poppler, bytes).await?;
        drop(permit);
        let mut read = ReadDocument::default();
        if let (Some(pdftoppm), false) = (&poppler.pdftoppm, pages.without_text().is_empty()) {
            match recogniser(&installed, reading.recognition) {
                Ok(Some((tesseract, languages))) if matches!(reading.recognition, Recognition::Now(_)) => {
                    self.recognise_pages(pdftoppm, tesseract, &languages, bytes, &mut pages).await?;
                }
                Ok(recogniser) => read.awaits_recognition = recogniser.is_some(),
                Err(error) => read.note_no_recognition(error, reading.recognition)?,
            }
        }
        read.text = pages.finish(&properties);
        Ok(read)
    }

    async fn read_pdf_without_poppler(&self, reading: Reading<'_>) -> Result<ReadDocument> {
        let recognition = reading.recognition;
        let read = match self.read_as(ReadableFormat::Pdf, reading).await {
            Ok(read) if recognition == Recognition::Off || !read.text.text.trim().is_empty() => return Ok(read),
            // Its pages may be pictures.
            Ok(read) => read,
            Err(error) if matches!(error.code(), Code::NotReadable | Code::ReaderFailed) => ReadDocument::default(),
            Err(error) => return Err(error),
        };
        let message = "the programs of poppler, such as pdftotext, may read its text, but are not installed";
        Ok(ReadDocument { fault: Some(Error::invalid(message).with_code(Code::NeedsPoppler)), ..read })
    }

    /// Recognises text on pages that have none, one after the other. Pages that fail are left out.
    async fn recognise_pages(
        &self,
        pdftoppm: &Path,
        tesseract: &Tesseract,
        languages: &[String],
        bytes: &[u8],
        pages: &mut Pages,
    ) -> Result<()> {
        let begun = Instant::now();
        for (count, index) in pages.without_text().into_iter().enumerate() {
            if count >= MAX_RECOGNISED || begun.elapsed() >= RECOGNITION_TIME {
                pages.is_cut = true;
                break;
            }
            let _permit = self.0.slow.acquire().await.map_err(|_| stops())?;
            let picture = match poppler::picture(&self.0.sandbox, pdftoppm, bytes, index + 1).await {
                Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
                Err(_) => {
                    pages.is_cut = true;
                    continue;
                }
                Ok(picture) => picture,
            };
            let found = tesseract::text(&self.0.sandbox, tesseract, languages, Some(PAGE_DOTS), &picture).await?;
            pages.is_cut |= found.is_cut || found.fault.is_some();
            pages.pages[index] = String::from_utf8_lossy(&found.bytes).replace('\u{c}', "\n");
        }
        Ok(())
    }

    async fn read_picture(&self, reading: Reading<'_>) -> Result<ReadDocument> {
        let (bytes, recognition, is_whole) = (reading.bytes, reading.recognition, reading.is_whole);
        let metadata = self.read_as(reading.format, reading).await;
        if recognition == Recognition::Off {
            return metadata;
        }
        let mut read = match metadata {
            Err(error) if error.code() != Code::NotReadable => return Err(error),
            // Its text does not depend on its metadata.
            metadata => metadata.unwrap_or_default(),
        };
        let installed = self.found().await?;
        match recogniser(&installed, recognition) {
            Ok(Some((tesseract, languages))) if matches!(recognition, Recognition::Now(_)) => {
                if !is_whole {
                    read.text.is_cut = true;
                    return Ok(read);
                }
                let _permit = self.0.slow.acquire().await.map_err(|_| stops())?;
                let found = tesseract::text(&self.0.sandbox, tesseract, &languages, None, bytes).await?;
                let recognised = Pages::of(&found.bytes, found.is_cut || found.fault.is_some()).finish(&[]);
                read.text.is_cut |= recognised.is_cut;
                read.text.append(&recognised.text);
                read.fault = found.fault;
            }
            Ok(recogniser) => read.awaits_recognition = recogniser.is_some(),
            Err(error) => read.note_no_recognition(error, recognition)?,
        }
        Ok(read)
    }

    async fn read_old_office(&self, reading: Reading<'_>) -> Result<ReadDocument> {
        let format = reading.format;
        // What has such a name may be a document of another format.
        match reading.bytes {
            [0xd0, 0xcf, 0x11, 0xe0, ..] => {}
            [b'{', b'\\', b'r', b't', b'f', ..] => return self.read_as(ReadableFormat::Rtf, reading).await,
            [b'P', b'K', 3, 4, ..] => return self.read_as(newer(format), reading).await,
            [b'<', ..] => return self.read_as(ReadableFormat::Html, reading).await,
            _ => return Err(unreadable("it does not begin like a document of its format")),
        }
        let installed = self.found().await?;
        let Some(office) = installed.office.as_ref().filter(|_| installed.converts(format)) else {
            let message = "the text of documents of this format is read by LibreOffice, which is not installed";
            let fault = Error::invalid(message).with_code(Code::NeedsSoffice);
            return Ok(ReadDocument { fault: Some(fault), ..ReadDocument::default() });
        };
        if reading.patience == Patience::Short {
            return Err(Error::unavailable("the document waits for LibreOffice"));
        }
        let Reading { bytes, room, patience, .. } = reading;
        let permit = self.0.slow.acquire().await.map_err(|_| stops())?;
        let convert = || office::convert(&self.0.sandbox, &office.path, &self.0.settings.place, format, bytes);
        let converted = match convert().await {
            // The program occasionally fails on a document that it converts on the next run.
            Err(error) if error.code() == Code::NotReadable => convert().await,
            converted => converted,
        };
        drop((permit, room));
        let (format, bytes) = converted?;
        let room = self.0.sandbox.text_room(patience, bytes.len() as u64).await?;
        Ok(self.0.sandbox.read_text(patience, room, format, &bytes).await?.into())
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
        let lacks = self.0.sandbox.lacks().await?;
        Ok(!lacks.contains(&MissingRestriction::Files) && !lacks.contains(&MissingRestriction::Calls))
    }
}

/// Returns the program that recognises text, and the wished languages that are installed; `None` if it is not wished.
///
/// # Errors
/// `Invalid` with code `needs_tesseract` if it is missing; `Unavailable` if it does not list its languages.
fn recogniser<'a>(
    installed: &'a Installed,
    recognition: Recognition<'_>,
) -> Result<Option<(&'a Tesseract, Vec<String>)>> {
    let (Recognition::Later(wished) | Recognition::Now(wished)) = recognition else { return Ok(None) };
    let languages = match &installed.tesseract {
        Some(Tesseract { languages: None, .. }) => {
            return Err(Error::unavailable("tesseract does not list its languages"));
        }
        Some(Tesseract { languages: Some(languages), .. }) => languages.as_slice(),
        None => &[],
    };
    let languages: Vec<String> = wished.iter().filter(|language| languages.contains(language)).cloned().collect();
    match &installed.tesseract {
        Some(tesseract) if !languages.is_empty() => Ok(Some((tesseract, languages))),
        _ => {
            let message = format!(
                "text in pictures is recognised by tesseract, which is not installed with one of the languages {}",
                wished.join(", ")
            );
            Err(Error::invalid(message).with_code(Code::NeedsTesseract))
        }
    }
}

/// Returns whether no other reader is to be asked after this error.
fn is_final(error: &Error, patience: Patience) -> bool {
    error.kind() == ErrorKind::Unavailable || patience == Patience::Short && error.code() == Code::TookTooLong
}

/// The newer format of the same program.
const fn newer(format: ReadableFormat) -> ReadableFormat {
    match format {
        ReadableFormat::Xls => ReadableFormat::Xlsx,
        ReadableFormat::Ppt => ReadableFormat::Pptx,
        _ => ReadableFormat::Docx,
    }
}

fn stops() -> Error {
    Error::unavailable("the server is stopping")
}
