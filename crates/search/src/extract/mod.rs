//! Text of documents of offices: Word, Excel, PowerPoint since 2007 (ECMA-376) and OpenDocument (ISO/IEC 26300). All of them are
//! ZIP archives with parts in XML.
//!
//! What it costs does not depend on what a file says of itself: parts are unpacked and read bit by bit, and reading ends when there
//! is enough text or when the parts turn out to be too long. It runs in a child process all the same ([`crate::sandbox`]).

mod package;
mod sheet;
mod text;
mod workbook;
mod xml;

use model::{Error, Result};
use package::Package;
use serde::{Deserialize, Serialize};

/// Longest document that is looked into.
pub const MOST_BYTES: u64 = 32 << 20;
/// Most lines of a text, and bytes of all of them.
const MOST_LINES: usize = 2_000;
const MOST_TEXT: usize = 256 << 10;
/// Most rows and columns of a table, and characters of a cell.
const MOST_ROWS: usize = 201;
const MOST_COLUMNS: usize = 50;
const MOST_CHARS: usize = 300;
/// Most cells of a sheet that are looked at, and bytes of all that are shown.
const MOST_CELLS: usize = 500_000;
const MOST_OF_A_TABLE: usize = 1 << 20;

/// A format whose text can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Word.
    Docx,
    /// PowerPoint.
    Pptx,
    /// Excel.
    Xlsx,
    /// OpenDocument text and presentation.
    Odt,
    /// OpenDocument spreadsheet.
    Ods,
}

impl Format {
    /// The format with this extension, in lower case and without a dot.
    pub fn of(extension: &str) -> Option<Self> {
        match extension {
            "docx" | "docm" | "dotx" | "dotm" => Some(Self::Docx),
            "pptx" | "pptm" | "ppsx" | "potx" => Some(Self::Pptx),
            "xlsx" | "xlsm" | "xltx" => Some(Self::Xlsx),
            "odt" | "ott" | "odp" | "otp" => Some(Self::Odt),
            "ods" | "ots" => Some(Self::Ods),
            _ => None,
        }
    }

    /// The usual extension.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Docx => "docx",
            Self::Pptx => "pptx",
            Self::Xlsx => "xlsx",
            Self::Odt => "odt",
            Self::Ods => "ods",
        }
    }
}

/// What a document says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// Paragraphs.
    Lines(Vec<String>),
    /// The rows of the first sheet, all of the same length.
    Rows(Vec<Vec<String>>),
}

/// Text of a document, and whether there is more than this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    /// The text.
    pub content: Content,
    /// Whether there is more.
    pub more: bool,
}

impl Extract {
    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        match &self.content {
            Content::Lines(lines) => lines.is_empty(),
            Content::Rows(rows) => rows.is_empty(),
        }
    }
}

/// Reads the text of a document.
///
/// # Errors
/// Invalid with code `not_readable` when the bytes are no document of this format, encrypted ones included; with `too_large` when no
/// text is in the beginning that is unpacked.
pub fn extract(format: Format, bytes: &[u8]) -> Result<Extract> {
    let mut package = Package::open(bytes)?;
    let mut found = match format {
        Format::Docx => text::docx(&mut package),
        Format::Pptx => text::pptx(&mut package),
        Format::Odt => text::odf(&mut package),
        Format::Xlsx => workbook::xlsx(&mut package),
        Format::Ods => sheet::ods(&mut package),
    }?;
    found.more |= package.is_cut();
    if package.is_cut() && found.is_empty() {
        return Err(Error::invalid("there is no text in the first 64 MB of it").with_code("too_large"));
    }
    Ok(found)
}

fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the document cannot be read: {why}")).with_code("not_readable")
}
