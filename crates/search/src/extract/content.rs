//! The text that is read of a document, its format, and the error of one that cannot be read.

use model::{Code, Error};
use serde::{Deserialize, Serialize};

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

/// The error of a document that cannot be read.
pub(super) fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the document cannot be read: {why}")).with_code(Code::NotReadable)
}
