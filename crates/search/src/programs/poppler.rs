//! PDF by the programs of poppler: text, properties, and pictures of pages.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use model::Result;

use super::installed::Poppler;
use super::pages::Pages;
use crate::readers::MAX_TEXT_BYTES;
use crate::sandbox::{Document, PipedOutput, PipedProgram, Sandbox};

/// Limit on the memory of a program.
const MEMORY: u64 = 512 << 20;
/// Limits on the bytes of text, of properties, and of a picture. Texts contain spaces that are left out later.
const MAX_OUTPUT: usize = 2 * MAX_TEXT_BYTES;
const MAX_PROPERTIES: usize = 64 << 10;
const MAX_PICTURE: usize = 16 << 20;
/// Length of the longer side of a picture in pixels: 280 in an inch of A4. Pages of any size make no larger picture.
const PICTURE_SIDE: &str = "3300";
/// Time limit for properties, and for the picture of a page.
const SHORT: Duration = Duration::from_secs(3);
const PICTURE_TIME: Duration = Duration::from_secs(20);

/// Returns the text of all pages.
///
/// # Errors
/// `Invalid` with code `took_too_long` at the time limit, with `reader_failed` if the program fails; `Unavailable` if
/// it cannot be started.
pub async fn pages(sandbox: &Sandbox, poppler: &Poppler, bytes: &[u8], time: Duration) -> Result<Pages> {
    let words = ["-q", "-enc", "UTF-8", "-eol", "unix", "-", "-"];
    let output = run(sandbox, &poppler.pdftotext, &words, bytes, time, MAX_OUTPUT).await?;
    match output.fault {
        Some(fault) => Err(fault),
        None => Ok(Pages::of(&output.bytes, output.is_cut)),
    }
}

/// Returns title, author and the like, as `pdfinfo` writes them; nothing if it fails.
///
/// # Errors
/// `Unavailable` if it cannot be started.
pub async fn properties(sandbox: &Sandbox, poppler: &Poppler, bytes: &[u8]) -> Result<Vec<u8>> {
    let Some(pdfinfo) = &poppler.pdfinfo else { return Ok(Vec::new()) };
    Ok(run(sandbox, pdfinfo, &["-enc", "UTF-8", "-"], bytes, SHORT, MAX_PROPERTIES).await?.bytes)
}

/// Returns a picture of a page in shades of grey, in the format PGM. Pages are counted from 1.
///
/// # Errors
/// Those of [`pages`].
pub async fn picture(sandbox: &Sandbox, pdftoppm: &Path, bytes: &[u8], page: usize) -> Result<Vec<u8>> {
    let page = page.to_string();
    let words = ["-q", "-gray", "-scale-to", PICTURE_SIDE, "-f", &page, "-l", &page, "-"];
    let output = run(sandbox, pdftoppm, &words, bytes, PICTURE_TIME, MAX_PICTURE).await?;
    output.fault.map_or(Ok(output.bytes), Err)
}

async fn run(
    sandbox: &Sandbox,
    path: &Path,
    words: &[&str],
    bytes: &[u8],
    time: Duration,
    most: usize,
) -> Result<PipedOutput> {
    let arguments = words.iter().map(OsString::from).collect();
    let program = PipedProgram { path: path.to_owned(), arguments, time, memory: MEMORY, most };
    Ok(sandbox.run_piped(program, Document::of(bytes)?, ()).await?.0)
}
