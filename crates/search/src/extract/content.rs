//! The text extracted from a document, the document's format, and the error for an unreadable document.

use model::{Code, Error};
use serde::{Deserialize, Serialize};

/// Limit on the bytes of a member that is read.
pub const MAX_MEMBER: u64 = 32 << 20;
/// Limit on the characters of the name of a member.
const MAX_NAME: usize = 255;

/// A format of which a preview is extracted.
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
    /// ZIP archive.
    Zip,
    /// TAR archive.
    Tar,
    /// TAR archive, compressed by gzip.
    TarGz,
    /// Mail message.
    Email,
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
            "zip" | "jar" => Some(Self::Zip),
            "tar" => Some(Self::Tar),
            "tgz" => Some(Self::TarGz),
            "eml" => Some(Self::Email),
            _ => None,
        }
    }

    /// Returns whether it is an archive or a mail message, and no office document.
    pub const fn is_container(self) -> bool {
        matches!(self, Self::Zip | Self::Tar | Self::TarGz | Self::Email)
    }

    /// The usual file extension.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Docx => "docx",
            Self::Pptx => "pptx",
            Self::Xlsx => "xlsx",
            Self::Odt => "odt",
            Self::Ods => "ods",
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::TarGz => "tgz",
            Self::Email => "eml",
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
    /// The members of an archive.
    Members(Vec<Member>),
    /// A mail message.
    Message(Box<Message>),
}

/// A member of an archive, or an attachment of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name; in an archive, its path.
    pub name: String,
    /// Its size in bytes, unpacked.
    pub size: u64,
}

impl Member {
    /// Returns a member. A longer name than documents can have is cut.
    pub fn new(name: &str, size: u64) -> Self {
        Self { name: name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect(), size }
    }
}

/// Content of an archive member or mail attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberContent {
    /// Its name; in an archive, its path.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A mail message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its subject; may be empty.
    pub subject: String,
    /// Its sender; may be empty.
    pub from: String,
    /// Its recipients; may be empty.
    pub to: String,
    /// Recipients of copies; may be empty.
    pub cc: String,
    /// Its date, in seconds since 1970.
    pub sent_at: Option<i64>,
    /// Its text, line by line.
    pub lines: Vec<String>,
    /// Its attachments.
    pub attachments: Vec<Member>,
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
            Content::Members(members) => members.is_empty(),
            Content::Message(_) => false,
        }
    }
}

/// The error for a document that cannot be read.
pub fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the document cannot be read: {why}")).with_code(Code::NotReadable)
}
