//! Request and result of a search.

use model::{Code, Error, Id, Result};
use search::index::{HitOrder, Passage};
use search::query::{KnownColumns, Remark, Tolerance};

use crate::UnavailableDatabases;
use crate::items::item::Item;

/// Limit on the characters of a query.
pub const MAX_QUERY_CHARS: usize = 4_096;

/// A search by names and words.
#[derive(Clone, Debug, Default)]
pub struct FindRequest {
    /// The query.
    pub text: String,
    /// Limit on the items, capped at [`crate::MAX_FOUND`].
    pub limit: usize,
    /// Order of the items.
    pub order: HitOrder,
    /// True if the documents found are counted by their properties.
    pub counts_facets: bool,
    /// True to leave out the passages, which take about half of the time.
    pub without_passages: bool,
}

/// Returns the number of characters of a search text.
///
/// # Errors
/// `Invalid` if there are more than [`MAX_QUERY_CHARS`].
pub(super) fn checked_length(text: &str) -> Result<usize> {
    let length = text.chars().count();
    if length > MAX_QUERY_CHARS {
        let message = format!("a search text has at most {MAX_QUERY_CHARS} characters");
        return Err(Error::invalid(message).with_code(Code::SearchTooLong));
    }
    Ok(length)
}

/// An item that was found.
#[derive(Clone, Debug)]
pub struct FoundItem {
    /// The item.
    pub item: Item,
    /// The matching part of its text. `None` if it matches only by name, if passages were left out, if its site records
    /// reads, or if time was up.
    pub passage: Option<Passage>,
}

/// Result of a search for names and words.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// By relevance: sites, libraries and folders with words that begin with those of the text; then documents whose
    /// names begin with it; then documents with the words, the best first; then other items with the text anywhere in
    /// their names, newest first. In another order, only documents with the words.
    pub items: Vec<FoundItem>,
    /// True if there are more results than requested.
    pub more: bool,
    /// True if all names were compared. Otherwise time was up, and documents were left out.
    pub whole: bool,
    /// Number of documents that fit by words and filters; at least this many if `texts` is not complete. Items found by
    /// a part of their names only are not counted.
    pub documents: u64,
    /// Their numbers by properties, if these were asked for.
    pub facets: FoundFacets,
    /// The tolerance by which the documents were found. `Exact` if it found at least three results, or if more
    /// tolerance found nothing more.
    pub tolerance: Tolerance,
    /// The greatest tolerance with which everything was searched.
    pub tried: Tolerance,
    /// Remarks on parts of the query that were ignored, or read differently from what was probably meant.
    pub remarks: Vec<Remark>,
    /// The columns of libraries that the query may have named, as far as the caller knows them.
    pub columns: KnownColumns,
    /// State of the search in texts.
    pub texts: TextSearch,
    /// Content databases that were not searched.
    pub missing: UnavailableDatabases,
}

/// Numbers of documents by their properties: the ten most frequent values of each, and the ten newest years.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFacets {
    /// By extension of the name, folded and without the full stop.
    pub extensions: Vec<(String, u64)>,
    /// Rows of lists, which have no extension.
    pub rows: u64,
    /// By creator.
    pub authors: Vec<(Id, u64)>,
    /// By year of the last change (UTC), the newest first.
    pub years: Vec<(i32, u64)>,
    /// By site, those of sites below included.
    pub sites: Vec<(FoundSite, u64)>,
}

/// A site that contains documents which were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSite {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: String,
}

/// State of the search in texts of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextSearch {
    /// All indexed texts.
    #[default]
    Complete,
    /// Only some, because an index is still being built, or because time was up.
    Incomplete,
    /// None of at least one content database, because it or its index cannot be used.
    Unavailable,
}
