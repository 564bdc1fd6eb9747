//! A document of a corpus, and what it consists of. Knows no bytes.

/// Kinds of content that documents consist of.
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
    /// Its number, from 0.
    pub number: u64,
    /// Its library, from 0, counted over all sites.
    pub library: u32,
    /// Its folder in the library, from 0.
    pub folder: u32,
    /// Name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// What it consists of.
    pub kind: ContentKind,
}
