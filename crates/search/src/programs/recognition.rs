//! Which program recognises text in pictures.

use model::{Code, Error, Result};

use super::installed::{Installed, Tesseract};
use super::reading::Recognition;

/// Returns the program that recognises text, and the wished languages that are installed; `None` if it is not wished.
///
/// # Errors
/// `Invalid` with code `needs_tesseract` if it is missing; `Unavailable` if it does not list its languages.
pub(super) fn recogniser<'a>(
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
