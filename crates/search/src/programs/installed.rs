//! The external programs that are installed, and what they can read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::readers::ReadableFormat;

/// Parts of LibreOffice: the library beside its program, and the format for which it is needed.
const OFFICE_PARTS: [(&str, ReadableFormat); 3] =
    [("libswlo.so", ReadableFormat::Doc), ("libsclo.so", ReadableFormat::Xls), ("libsdlo.so", ReadableFormat::Ppt)];

/// The programs that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed {
    /// Those of poppler.
    pub poppler: Option<Poppler>,
    /// LibreOffice.
    pub office: Option<Office>,
    /// tesseract.
    pub tesseract: Option<Tesseract>,
}

/// The programs of poppler, which belong to one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poppler {
    /// Returns the text of a PDF.
    pub pdftotext: PathBuf,
    /// Returns its title and author.
    pub pdfinfo: Option<PathBuf>,
    /// Returns pictures of its pages.
    pub pdftoppm: Option<PathBuf>,
}

/// LibreOffice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Office {
    /// Location of `soffice`.
    pub path: PathBuf,
    /// Formats that the installed parts can read.
    pub formats: Vec<ReadableFormat>,
}

/// tesseract, which recognises text in pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tesseract {
    /// Location.
    pub path: PathBuf,
    /// Installed languages; `None` if it does not list them.
    pub languages: Option<Vec<String>>,
}

impl Installed {
    /// Looks for programs in these directories, separated by colons. `office` is the location of `soffice`. The
    /// languages of tesseract are not known yet. Blocks while it reads directories.
    pub fn look(search_path: &OsStr, office: Option<&Path>) -> Self {
        let find =
            |name: &str| std::env::split_paths(search_path).map(|folder| folder.join(name)).find(|it| it.is_file());
        let poppler = find("pdftotext").map(|pdftotext| Poppler {
            pdftotext,
            pdfinfo: find("pdfinfo"),
            pdftoppm: find("pdftoppm"),
        });
        let tesseract = find("tesseract").map(|path| Tesseract { path, languages: None });
        let office =
            office.filter(|path| path.is_file()).map(|path| Office { formats: parts(path), path: path.to_owned() });
        Self { poppler, office, tesseract }
    }

    /// Returns whether LibreOffice can convert this format.
    pub fn converts(&self, format: ReadableFormat) -> bool {
        self.office.as_ref().is_some_and(|office| office.formats.contains(&format))
    }

    /// Returns what can be read, as one word for each ability, with these languages as far as they are installed.
    /// Documents that could not be read before are tried again when there are others.
    pub fn abilities(&self, languages: &[String]) -> Vec<String> {
        let poppler = self.poppler.iter().map(|poppler| {
            let has_pictures = if poppler.pdftoppm.is_some() { "-pictures" } else { "" };
            format!("pdf{has_pictures}")
        });
        let office = self.office.iter().flat_map(|office| &office.formats).map(|format| format!("office-{format:?}"));
        let is_wished = |language: &&String| languages.contains(language);
        let recognised =
            self.tesseract.iter().flat_map(|tesseract| tesseract.languages.iter().flatten().filter(is_wished));
        poppler.chain(office).chain(recognised.map(|language| format!("text-{language}"))).collect()
    }
}

/// Returns the formats that this LibreOffice can read. A script of an administrator is expected to read all.
fn parts(path: &Path) -> Vec<ReadableFormat> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let has = |name: &str| real.with_file_name(name).is_file();
    let is_unknown = OFFICE_PARTS.iter().all(|(part, _)| !has(part));
    OFFICE_PARTS.into_iter().filter(|(part, _)| is_unknown || has(part)).map(|(_, format)| format).collect()
}
