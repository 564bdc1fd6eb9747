//! A document of a corpus and the kind of its content. Generates no bytes.

/// Kinds of document content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// Text that compresses well.
    Text,
    /// A zip container.
    Office,
    /// Bytes that do not compress.
    Media,
}

/// One document of a corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Document number, from 0.
    pub number: u64,
    /// Index of the library, from 0, counted over all sites.
    pub library: u32,
    /// Index of the folder in the library, from 0.
    pub folder: u32,
    /// Name.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Kind of its content.
    pub kind: ContentKind,
}
