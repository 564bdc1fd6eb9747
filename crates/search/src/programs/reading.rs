//! A document to read, and what was read of it.

use model::{Error, ErrorKind, Result};

use crate::readers::{DocumentText, ReadableFormat};
use crate::sandbox::{ReadLimit, TextRoom};

/// A document to read.
pub struct Reading<'a> {
    /// Its format.
    pub format: ReadableFormat,
    /// Its bytes, or their beginning.
    pub bytes: &'a [u8],
    /// Set if these are all.
    pub is_whole: bool,
    /// Room in memory for them.
    pub room: TextRoom,
    /// Time limit.
    pub limit: ReadLimit,
    /// Recognition of text in pictures.
    pub recognition: Recognition<'a>,
}

/// Whether text in pictures is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognition<'a> {
    /// Never.
    Off,
    /// Later, in these languages.
    Later(&'a [String]),
    /// Now, in these languages.
    Now(&'a [String]),
}

/// A document that was read.
#[derive(Debug, Default)]
pub struct ReadDocument {
    /// Its text, without what could not be read.
    pub text: DocumentText,
    /// The reason why not all could be read: a program is missing or failed.
    pub fault: Option<Error>,
    /// Set if more text is found with [`Recognition::Now`].
    pub awaits_recognition: bool,
}

impl From<DocumentText> for ReadDocument {
    fn from(text: DocumentText) -> Self {
        Self { text, ..Self::default() }
    }
}

impl ReadDocument {
    /// Notes why text is not recognised.
    pub(super) fn note_no_recognition(&mut self, error: Error, recognition: Recognition<'_>) -> Result<()> {
        match (error.kind(), recognition) {
            (ErrorKind::Unavailable, Recognition::Now(_)) => return Err(error),
            (ErrorKind::Unavailable, _) => self.awaits_recognition = true,
            _ => self.fault = Some(error),
        }
        Ok(())
    }
}
