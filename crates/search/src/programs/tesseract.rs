//! Recognition of text in pictures by tesseract.

use std::ffi::OsString;
use std::time::Duration;

use model::Result;

use super::installed::Tesseract;
use crate::readers::MAX_TEXT_BYTES;
use crate::sandbox::{Document, PipedOutput, PipedProgram, Sandbox};

/// Limit on the memory of the program.
const MEMORY: u64 = 1 << 30;
/// Time limits for a picture, and for the list of languages.
const TIME: Duration = Duration::from_secs(60);
const LISTING_TIME: Duration = Duration::from_secs(5);
/// Limit on the bytes of the list of languages.
const MAX_LIST: usize = 16 << 10;
/// Script data that is no language.
const NO_LANGUAGE: &str = "osd";

/// Returns whether a document is a picture in which text can be recognised: PNG, JPEG or TIFF.
pub fn is_picture(bytes: &[u8]) -> bool {
    let begins = [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"II*\0", b"MM\0*"];
    begins.iter().any(|begin| bytes.starts_with(begin))
}

/// Returns the text in a picture. `languages` must be installed. `dots` is the number of pixels in an inch, if known.
///
/// # Errors
/// `Unavailable` if the program cannot be started.
pub async fn text(
    sandbox: &Sandbox,
    tesseract: &Tesseract,
    languages: &[String],
    dots: Option<u32>,
    picture: &[u8],
) -> Result<PipedOutput> {
    let mut words = vec!["stdin".to_owned(), "stdout".to_owned(), "-l".to_owned(), languages.join("+")];
    if let Some(dots) = dots {
        words.extend(["--dpi".to_owned(), dots.to_string()]);
    }
    run(sandbox, tesseract, words, picture, TIME, MAX_TEXT_BYTES).await
}

/// Returns the installed languages; `None` if the program fails.
///
/// # Errors
/// `Unavailable` if it cannot be started.
pub async fn languages(sandbox: &Sandbox, tesseract: &Tesseract) -> Result<Option<Vec<String>>> {
    let listed = run(sandbox, tesseract, vec!["--list-langs".to_owned()], &[], LISTING_TIME, MAX_LIST).await?;
    if let Some(fault) = listed.fault {
        tracing::warn!(error = fault.report(), "tesseract does not list its languages");
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&listed.bytes);
    // The first line is a heading.
    let names = text.lines().skip(1).map(str::trim).filter(|name| *name != NO_LANGUAGE && is_language(name));
    Ok(Some(names.map(ToOwned::to_owned).collect()))
}

/// Returns whether a word can be the name of a language, such as `deu` or `chi_sim`.
pub fn is_language(word: &str) -> bool {
    (2..=20).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

async fn run(
    sandbox: &Sandbox,
    tesseract: &Tesseract,
    words: Vec<String>,
    input: &[u8],
    time: Duration,
    most: usize,
) -> Result<PipedOutput> {
    let arguments = words.into_iter().map(OsString::from).collect();
    let program = PipedProgram { path: tesseract.path.clone(), arguments, time, memory: MEMORY, most };
    Ok(sandbox.run_piped(program, Document::of(input)?, ()).await?.0)
}
