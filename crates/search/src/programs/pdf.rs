//! Reads PDF with the programs of poppler, and recognises text on pages without any.

use std::path::Path;
use std::time::{Duration, Instant};

use model::{Code, Error, ErrorKind, Result};

use super::installed::Tesseract;
use super::pages::Pages;
use super::reading::{ReadDocument, Reading, Recognition};
use super::recognition::recogniser;
use super::{Programs, poppler, tesseract};
use crate::readers::ReadableFormat;
use crate::sandbox::{ReadLimit, stops};

/// Limits on the pages of a document in which text is recognised, and on the time for them.
const MAX_RECOGNISED: usize = 20;
const RECOGNITION_TIME: Duration = Duration::from_secs(10 * 60);
/// Pixels in an inch of the pictures of pages, for common sizes of paper.
const PAGE_DOTS: u32 = 280;

impl Programs {
    pub(super) async fn read_pdf(&self, reading: Reading<'_>) -> Result<ReadDocument> {
        let installed = self.found().await?;
        let Some(poppler) = &installed.poppler else { return self.read_pdf_without_poppler(reading).await };
        let (sandbox, bytes) = (&self.0.sandbox, reading.bytes);
        let permit = self.0.quick.acquire().await.map_err(|_| stops())?;
        let mut pages = match poppler::pages(sandbox, poppler, bytes, reading.limit.time()).await {
            Ok(pages) => pages,
            Err(error) if is_final(&error, reading.limit) => return Err(error),
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
}

/// Returns whether no other reader is to be asked after this error.
fn is_final(error: &Error, limit: ReadLimit) -> bool {
    error.kind() == ErrorKind::Unavailable || limit == ReadLimit::Short && error.code() == Code::TookTooLong
}
