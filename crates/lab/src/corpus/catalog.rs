//! A corpus: maps document numbers to documents and their paths. Deterministic for a given seed.

use super::content::{self, Content, Verifier};
use super::document::{ContentKind, Document};
use super::hash::{mix, unit};
use super::names;
use super::plan::{CorpusPlan, KindShares, SMALLEST};
use crate::quantity::Size;

/// Prefix of every fingerprint.
pub const ANY_FINGERPRINT: &str = "lab corpus ";
/// Limit on the documents that are drawn until one has a text.
const ATTEMPTS: u32 = 1_000;
/// Limit on the bytes of an Office-like document, because its checksum is computed before it is sent.
const LARGEST_OFFICE: u64 = 16_000_000;

/// A corpus, which computes any document from its number.
#[derive(Clone, Debug)]
pub struct Corpus {
    plan: CorpusPlan,
    /// Number of the first document of each class, followed by the total number of documents.
    begins: Vec<u64>,
}

impl Corpus {
    /// Creates the corpus of a validated plan.
    pub fn new(plan: CorpusPlan) -> Self {
        let mut begins = vec![0];
        for class in &plan.files {
            begins.push(begins.last().copied().unwrap_or_default() + class.count);
        }
        Self { plan, begins }
    }

    /// The plan of this corpus.
    pub fn plan(&self) -> &CorpusPlan {
        &self.plan
    }

    /// Number of documents.
    pub fn count(&self) -> u64 {
        self.begins.last().copied().unwrap_or_default()
    }

    /// Total bytes of all documents.
    pub fn bytes(&self) -> u64 {
        (0..self.count()).map(|number| self.size(number)).sum()
    }

    /// Picks a random document, optionally one of a size class. Returns `None` if there is no document of that size.
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

    /// Picks a random document with a text. Returns `None` if hardly any document has one.
    pub fn any_text(&self, random: &mut fastrand::Rng) -> Option<Document> {
        let drawn = (0..ATTEMPTS).map_while(|_| self.any(random, None));
        drawn.into_iter().find(|document| document.kind == ContentKind::Text)
    }

    /// Returns words that follow each other at a random position near the beginning of a document's text.
    pub fn text_words(&self, document: &Document, random: &mut fastrand::Rng, count: usize) -> Vec<String> {
        let words = self.content(document, 0).words();
        let first = random.usize(0..=words.len().saturating_sub(count));
        words.into_iter().skip(first).take(count).collect()
    }

    /// Returns words that follow each other in each version of this document's text, and in no other of the corpus.
    pub fn unique_words(&self, document: &Document) -> String {
        content::identity(self.plan.seed, document.number)
    }

    /// Returns the document with the given number, which must be below the count.
    pub fn document(&self, number: u64) -> Document {
        let per_library = self.count().div_ceil(u64::from(self.libraries())).max(1);
        let hash = mix(self.plan.seed, number);
        let (size, kind) = (self.size(number), self.kind(hash, self.size(number)));
        // Both values are below their counts, which are 32-bit numbers.
        let library = (number / per_library) as u32;
        let folder = (mix(hash, 7) % u64::from(self.plan.folders)) as u32;
        Document { number, library, folder, name: names::document(hash, number, kind), size, kind }
    }

    /// Number of libraries in all sites together.
    pub fn libraries(&self) -> u32 {
        self.plan.sites * self.plan.libraries
    }

    /// Names of the sites that are created for the corpus; empty if its libraries are created directly at the target's
    /// root.
    pub fn sites(&self) -> Vec<String> {
        let made = if self.plan.sites > 1 { self.plan.sites } else { 0 };
        (0..made).map(|site| self.site_name(site)).collect()
    }

    fn site_name(&self, site: u32) -> String {
        format!("Lab {} site {}", self.plan.seed, site + 1)
    }

    /// Path of a site; empty if the libraries are created directly at the target's root. Any number is valid: the site
    /// index wraps around.
    pub fn site_path(&self, site: u32) -> String {
        if self.plan.sites > 1 { self.site_name(site % self.plan.sites) } else { String::new() }
    }

    /// Path of a library. Any number is valid: the site index wraps around.
    pub fn library_path(&self, library: u32) -> String {
        let (site, within) = (library / self.plan.libraries % self.plan.sites, library % self.plan.libraries);
        let name = format!("Lab {}-{}", self.plan.seed, within + 1);
        if self.plan.sites > 1 { format!("{}/{name}", self.site_name(site)) } else { name }
    }

    /// Name of a folder.
    pub fn folder_name(&self, folder: u32) -> String {
        names::folder(folder)
    }

    /// Path of the folder that holds a document.
    pub fn folder_path(&self, document: &Document) -> String {
        format!("{}/{}", self.library_path(document.library), names::folder(document.folder))
    }

    /// Path of a document.
    pub fn path(&self, document: &Document) -> String {
        format!("{}/{}", self.folder_path(document), document.name)
    }

    /// Content of a version of a document. The corpus itself consists of version 0.
    pub fn content(&self, document: &Document, version: u32) -> Content {
        Content::new(self.plan.seed, document.number, version, document.size, document.kind)
    }

    /// Creates a verifier, which checks that a response body is some version of the document.
    pub fn verifier(&self, document: &Document) -> Verifier {
        Verifier::new(self.plan.seed, document.number, document.size, document.kind)
    }

    /// Text that differs between any two different corpora.
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
        // Log-normal distribution whose mean is the configured size.
        let hash = mix(mix(self.plan.seed, number), 3);
        let (u, v) = (unit(hash).max(1e-12), unit(mix(hash, 1)));
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        let drawn = class.size.0 as f64 * (class.spread * normal - class.spread * class.spread / 2.0).exp();
        (drawn as u64).clamp(SMALLEST, class.size.0.saturating_mul(20))
    }

    fn kind(&self, hash: u64, size: u64) -> ContentKind {
        let KindShares { text, office, media } = self.plan.kinds;
        let drawn = unit(mix(hash, 5)) * (text + office + media);
        match drawn {
            drawn if drawn < text => ContentKind::Text,
            drawn if drawn < text + office && size <= LARGEST_OFFICE => ContentKind::Office,
            _ => ContentKind::Media,
        }
    }
}
