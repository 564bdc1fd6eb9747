//! A document for a child.

use std::fs::File;
use std::io::{Seek, Write};

use model::Result;
use rustix::fs::{MemfdFlags, memfd_create};

use super::failure::cannot_start;

/// A document for a child to read. It lies in an anonymous memory file that is passed to the child.
pub struct Document(File);

impl Document {
    /// Creates a document of these bytes.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let mut document = Self::new()?;
        document.write(bytes)?;
        Ok(document)
    }

    /// Creates an empty document.
    pub fn new() -> Result<Self> {
        let file = memfd_create("document", MemfdFlags::CLOEXEC).map_err(|error| cannot_start(&error.into()))?;
        Ok(Self(file.into()))
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes).map_err(|error| cannot_start(&error))
    }

    /// Returns the file, at its beginning.
    pub(super) fn into_file(self) -> Result<File> {
        let mut file = self.0;
        file.rewind().map_err(|error| cannot_start(&error))?;
        Ok(file)
    }
}
