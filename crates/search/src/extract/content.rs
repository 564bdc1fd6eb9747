//! The text extracted from a document, the document's format, and the error for an unreadable document.

use model::{Code, Error};
use serde::{Deserialize, Serialize};

/// A format from which text can be extracted.
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
    /// The format with this extension, which must be in lower case and without a dot.
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

    /// The usual file extension.
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

/// The text content of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// Paragraphs.
    Lines(Vec<String>),
    /// The rows of the first sheet, all of the same length.
    Rows(Vec<Vec<String>>),
}

/// Text of a document, possibly truncated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    /// The text.
    pub content: Content,
    /// Set if the text is truncated.
    pub more: bool,
}

impl Extract {
    /// Returns whether there is no text.
    pub fn is_empty(&self) -> bool {
        match &self.content {
            Content::Lines(lines) => lines.is_empty(),
            Content::Rows(rows) => rows.is_empty(),
        }
    }
}

/// The error for a document that cannot be read.
pub fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the document cannot be read: {why}")).with_code(Code::NotReadable)
}
