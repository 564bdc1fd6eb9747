//! The state of each program, as administrators see it.

use super::installed::Installed;
use crate::readers::ReadableFormat;

/// A program that reads documents, and what it is used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStatus {
    /// Name of the program.
    pub name: &'static str,
    /// True if it is installed and may be used.
    pub is_found: bool,
    /// Formats that it reads here, or would read.
    pub formats: Vec<&'static str>,
    /// Languages of text that it recognises.
    pub languages: Vec<String>,
}

/// Returns the state of all programs.
pub fn of(installed: &Installed) -> Vec<ProgramStatus> {
    let names = [(ReadableFormat::Doc, "DOC"), (ReadableFormat::Xls, "XLS"), (ReadableFormat::Ppt, "PPT")];
    let is_read = |format| installed.office.is_none() || installed.converts(format);
    let office = names.into_iter().filter(|(format, _)| is_read(*format)).map(|(_, name)| name).collect();
    let languages = installed.tesseract.iter().flat_map(|tesseract| tesseract.languages.clone()).flatten().collect();
    let status = |name, is_found, formats| ProgramStatus { name, is_found, formats, languages: Vec::new() };
    vec![
        status("pdftotext", installed.poppler.is_some(), vec!["PDF"]),
        status("soffice", installed.office.is_some(), office),
        ProgramStatus {
            languages,
            ..status("tesseract", installed.tesseract.is_some(), vec!["PNG", "JPEG", "TIFF", "scanned PDF"])
        },
    ]
}
