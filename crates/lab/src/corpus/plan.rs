//! The `[corpus]` section of a plan. Generates no documents.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::quantity::Size;

/// Minimum bytes of a document: it must have room for the head that identifies it.
pub const SMALLEST: u64 = 1_000;
/// Limit on the documents of a corpus.
const MAX_FILES: u64 = 20_000_000;
/// Limit on the libraries of all sites together, and on the folders of one library.
const MAX_PLACES: u32 = 10_000;

/// The `[corpus]` section of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusPlan {
    /// Seed. The same seed gives the same corpus, byte for byte.
    #[serde(default = "one")]
    pub seed: u64,
    /// Number of sites below the target's root. With 1, the libraries are created directly at the root.
    #[serde(default = "single")]
    pub sites: u32,
    /// Number of libraries in each site. The documents are spread evenly over all libraries.
    #[serde(default = "single")]
    pub libraries: u32,
    /// Number of folders in each library.
    #[serde(default = "ten")]
    pub folders: u32,
    /// Size classes and the number of documents in each.
    pub files: Vec<FileClass>,
    /// Shares of the kinds of content.
    #[serde(default)]
    pub kinds: KindShares,
    /// Number of concurrent uploads while the corpus is loaded.
    #[serde(default = "sixteen")]
    pub connections: u32,
}

/// Documents of about the same size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileClass {
    /// Mean size.
    pub size: Size,
    /// Number of stored bytes.
    pub count: u64,
    /// Spread of the sizes: the standard deviation of their logarithms; 0 if all are equal.
    #[serde(default)]
    pub spread: f64,
}

/// Shares of the kinds of content.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KindShares {
    /// Text that compresses well.
    pub text: f64,
    /// Zip containers, like those that Office writes.
    pub office: f64,
    /// Videos and pictures, which do not compress.
    pub media: f64,
}

impl Default for KindShares {
    fn default() -> Self {
        Self { text: 0.3, office: 0.5, media: 0.2 }
    }
}

const fn one() -> u64 {
    1
}

const fn single() -> u32 {
    1
}

const fn ten() -> u32 {
    10
}

const fn sixteen() -> u32 {
    16
}

impl CorpusPlan {
    /// Validates the section.
    pub fn check(&self) -> Result<()> {
        let count: u64 = self.files.iter().fold(0, |sum, class| sum.saturating_add(class.count));
        if count == 0 || count > MAX_FILES {
            return Err(Error::new(format!("the corpus has {count} files: it must have 1 to {MAX_FILES} in all")));
        }
        let libraries = self.sites.saturating_mul(self.libraries);
        if !(1..=MAX_PLACES).contains(&libraries) || !(1..=MAX_PLACES).contains(&self.folders) {
            return Err(Error::new(format!(
                "sites times libraries, and folders, of the corpus must each be 1 to {MAX_PLACES}"
            )));
        }
        if !(1..=1_000).contains(&self.connections) {
            return Err(Error::new("connections of the corpus must be 1 to 1000"));
        }
        for class in &self.files {
            if class.size.0 < SMALLEST {
                return Err(Error::new(format!("files of {} are too small: the minimum is 1KB", class.size)));
            }
            if !(0.0..=2.0).contains(&class.spread) {
                return Err(Error::new("the spread of sizes must be 0 to 2"));
            }
        }
        let KindShares { text, office, media } = self.kinds;
        let sum = text + office + media;
        if !(sum > 0.0 && sum.is_finite()) || [text, office, media].iter().any(|share| *share < 0.0) {
            return Err(Error::new("the shares of kinds must be numbers of 0 or more, and not all 0"));
        }
        Ok(())
    }

    /// Scales the number of documents by a factor. At least one document of each size remains.
    #[must_use]
    pub fn scaled(mut self, scale: f64) -> Self {
        for class in &mut self.files {
            class.count = ((class.count as f64 * scale).round() as u64).max(1);
        }
        self
    }
}
