//! What lies on a target before a run: libraries, folders and documents with names, sizes and kinds, the same for the same seed.
//! Knows no server.

mod content;
mod folder;
mod load;
mod names;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::quantity::Size;

pub use content::{Content, Verifier};
pub use folder::{NOTE, write_folder};
pub use load::{Loaded, load};
pub use names::word;

/// Smallest document: it must have room for what tells it from others.
const SMALLEST: u64 = 1_000;
/// Most documents of a corpus.
const MOST_FILES: u64 = 20_000_000;
/// Most libraries of all sites together, and most folders of one.
const MOST_PLACES: u32 = 10_000;
/// How every fingerprint begins.
const ANY_FINGERPRINT: &str = "lab corpus ";
/// Most bytes of an Office-like document: its checksum is worked out before it is sent.
const LARGEST_OFFICE: u64 = 16_000_000;

/// The part `[corpus]` of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusPlan {
    /// The same seed gives the same corpus, byte for byte.
    #[serde(default = "one")]
    pub seed: u64,
    /// Sites below the place that the target names; with 1 the libraries lie in that place itself.
    #[serde(default = "single")]
    pub sites: u32,
    /// Libraries of each site; the documents are spread evenly over all libraries.
    #[serde(default = "single")]
    pub libraries: u32,
    /// Folders of each library.
    #[serde(default = "ten")]
    pub folders: u32,
    /// Sizes and how many of each.
    pub files: Vec<FileClass>,
    /// Shares of kinds of content.
    #[serde(default)]
    pub kinds: KindShares,
    /// Uploads at the same time while it is loaded.
    #[serde(default = "sixteen")]
    pub connections: u32,
}

/// Documents of about one size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileClass {
    /// Their mean size.
    pub size: Size,
    /// How many.
    pub count: u64,
    /// How far sizes lie apart: the standard deviation of their logarithms; 0 for all the same.
    #[serde(default)]
    pub spread: f64,
}

/// Shares of kinds of content.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KindShares {
    /// Text that compresses well.
    pub text: f64,
    /// Zip containers with text and pictures, as Office writes them.
    pub office: f64,
    /// Films and pictures, which do not compress.
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

/// What a document consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// What it consists of.
    pub kind: Kind,
}

impl CorpusPlan {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<()> {
        let count: u64 = self.files.iter().fold(0, |sum, class| sum.saturating_add(class.count));
        if count == 0 || count > MOST_FILES {
            return Err(Error::new(format!("the corpus has {count} files: count must make 1 to {MOST_FILES} in all")));
        }
        let libraries = self.sites.saturating_mul(self.libraries);
        if !(1..=MOST_PLACES).contains(&libraries) || !(1..=MOST_PLACES).contains(&self.folders) {
            return Err(Error::new(format!(
                "sites times libraries, and folders, of the corpus must each be 1 to {MOST_PLACES}"
            )));
        }
        if !(1..=1_000).contains(&self.connections) {
            return Err(Error::new("connections of the corpus must be 1 to 1000"));
        }
        for class in &self.files {
            if class.size.0 < SMALLEST {
                return Err(Error::new(format!("files of {} are too small: 1KB is the least", class.size)));
            }
            if !(0.0..=2.0).contains(&class.spread) {
                return Err(Error::new("the spread of sizes must be 0 to 2"));
            }
        }
        let KindShares { text, office, media } = self.kinds;
        let sum = text + office + media;
        if !(sum > 0.0 && sum.is_finite()) || [text, office, media].iter().any(|share| *share < 0.0) {
            return Err(Error::new("the shares of kinds must be numbers from 0 on that are not all 0"));
        }
        Ok(())
    }

    /// The same corpus with a share of its files, at least one of each size.
    #[must_use]
    pub fn scaled(mut self, scale: f64) -> Self {
        for class in &mut self.files {
            class.count = ((class.count as f64 * scale).round() as u64).max(1);
        }
        self
    }
}

/// A corpus: answers what document has which number.
#[derive(Clone, Debug)]
pub struct Corpus {
    plan: CorpusPlan,
    /// Number of the first document of each class, and of the one after the last.
    begins: Vec<u64>,
}

impl Corpus {
    /// The corpus of a plan that was checked.
    pub fn new(plan: CorpusPlan) -> Self {
        let mut begins = vec![0];
        for class in &plan.files {
            begins.push(begins.last().copied().unwrap_or_default() + class.count);
        }
        Self { plan, begins }
    }

    /// Its plan.
    pub fn plan(&self) -> &CorpusPlan {
        &self.plan
    }

    /// Number of documents.
    pub fn count(&self) -> u64 {
        self.begins.last().copied().unwrap_or_default()
    }

    /// Bytes of all documents.
    pub fn bytes(&self) -> u64 {
        (0..self.count()).map(|number| self.size(number)).sum()
    }

    /// Any document, or any of a size; none when there is none of that size.
    pub fn any(&self, random: &mut fastrand::Rng, size: Option<Size>) -> Option<Document> {
        let range = match size {
            None => 0..self.count(),
            Some(size) => {
                let class = self.plan.files.iter().position(|class| class.size == size)?;
                self.begins[class]..self.begins[class + 1]
            }
        };
        (!range.is_empty()).then(|| self.document(random.u64(range)))
    }

    /// The document of a number below the count.
    pub fn document(&self, number: u64) -> Document {
        let per_library = self.count().div_ceil(u64::from(self.libraries())).max(1);
        let hash = mix(self.plan.seed, number);
        let (size, kind) = (self.size(number), self.kind(hash, self.size(number)));
        // Both are below their counts, which are 32-bit numbers.
        let library = (number / per_library) as u32;
        let folder = (mix(hash, 7) % u64::from(self.plan.folders)) as u32;
        Document { number, library, folder, name: names::document(hash, number, kind), size, kind }
    }

    /// Number of libraries of all sites.
    pub fn libraries(&self) -> u32 {
        self.plan.sites * self.plan.libraries
    }

    /// Names of the sites that are made for it; none when its libraries lie in the place that the target names.
    pub fn sites(&self) -> Vec<String> {
        let made = if self.plan.sites > 1 { self.plan.sites } else { 0 };
        (0..made).map(|site| self.site_name(site)).collect()
    }

    fn site_name(&self, site: u32) -> String {
        format!("Lab {} site {}", self.plan.seed, site + 1)
    }

    /// The path of a library, which may be any number.
    pub fn library_path(&self, library: u32) -> String {
        let (site, within) = (library / self.plan.libraries % self.plan.sites, library % self.plan.libraries);
        let name = format!("Lab {}-{}", self.plan.seed, within + 1);
        if self.plan.sites > 1 { format!("{}/{name}", self.site_name(site)) } else { name }
    }

    /// The name of a folder.
    pub fn folder_name(&self, folder: u32) -> String {
        names::folder(folder)
    }

    /// The path of the folder of a document.
    pub fn folder_path(&self, document: &Document) -> String {
        format!("{}/{}", self.library_path(document.library), names::folder(document.folder))
    }

    /// The path of a document.
    pub fn path(&self, document: &Document) -> String {
        format!("{}/{}", self.folder_path(document), document.name)
    }

    /// The content of a version of a document; the corpus itself has version 0.
    pub fn content(&self, document: &Document, version: u32) -> Content {
        Content::new(self.plan.seed, document.number, version, document.size, document.kind)
    }

    /// Takes the bytes of an answer and says whether they are some version of the document.
    pub fn verifier(&self, document: &Document) -> Verifier {
        Verifier::new(self.plan.seed, document.number, document.size, document.kind)
    }

    /// A text that differs between corpora that differ.
    pub fn fingerprint(&self) -> String {
        let plan = &self.plan;
        let sites = if plan.sites > 1 { format!("{} x ", plan.sites) } else { String::new() };
        let mut text = format!("{ANY_FINGERPRINT}1; seed {}; {sites}{} x {};", plan.seed, plan.libraries, plan.folders);
        for class in &plan.files {
            text += &format!(" {} x {} ~ {};", class.count, class.size.0, class.spread);
        }
        text + &format!(" {} {} {}", plan.kinds.text, plan.kinds.office, plan.kinds.media)
    }

    fn size(&self, number: u64) -> u64 {
        let class = self.begins.partition_point(|begin| *begin <= number).saturating_sub(1);
        let Some(class) = self.plan.files.get(class) else { return SMALLEST };
        if class.spread == 0.0 {
            return class.size.0;
        }
        // A log-normal distribution whose mean is the size that was asked for.
        let hash = mix(mix(self.plan.seed, number), 3);
        let (u, v) = (unit(hash).max(1e-12), unit(mix(hash, 1)));
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        let drawn = class.size.0 as f64 * (class.spread * normal - class.spread * class.spread / 2.0).exp();
        (drawn as u64).clamp(SMALLEST, class.size.0.saturating_mul(20))
    }

    fn kind(&self, hash: u64, size: u64) -> Kind {
        let KindShares { text, office, media } = self.plan.kinds;
        let drawn = unit(mix(hash, 5)) * (text + office + media);
        match drawn {
            drawn if drawn < text => Kind::Text,
            drawn if drawn < text + office && size <= LARGEST_OFFICE => Kind::Office,
            _ => Kind::Media,
        }
    }
}

/// Mixes two numbers into one in which every bit depends on every bit.
fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x2545_f491_4f6c_dd1d);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number from 0 to below 1.
fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests;
