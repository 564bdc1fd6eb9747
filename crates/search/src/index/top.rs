//! Requests for the best hits of a query among what the caller may find, and the hits.
//!
//! Every answer depends only on the request and the admitted entries.

use std::cmp::{Ordering, Reverse};

use model::{Id, Timestamp};
use tantivy::DocAddress;

use super::clock::Clock;
use super::entry::Audience;
use super::facets::Facets;
use crate::query::{SearchQuery, Tolerance};

/// An order of hits. Hits that are equal in it are ordered by the time of their last change, newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HitOrder {
    /// The best first.
    #[default]
    Relevance,
    /// Most recently changed first.
    Newest,
    /// Least recently changed first.
    Oldest,
    /// Largest first.
    Largest,
    /// Smallest first.
    Smallest,
}

impl HitOrder {
    /// All orders.
    pub const ALL: [Self; 5] = [Self::Relevance, Self::Newest, Self::Oldest, Self::Largest, Self::Smallest];

    /// Returns the word by which an order is stored and sent.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Relevance => "relevance",
            Self::Newest => "newest",
            Self::Oldest => "oldest",
            Self::Largest => "largest",
            Self::Smallest => "smallest",
        }
    }

    /// Returns the order with a word; `None` if there is none.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == word)
    }
}

/// Request for the best hits of a query.
#[derive(Clone, Debug)]
pub struct TopRequest<'a> {
    /// The query.
    pub query: &'a SearchQuery,
    /// How exactly entries must fulfil it.
    pub tolerance: Tolerance,
    /// Limit on the hits.
    pub limit: usize,
    /// Their order.
    pub order: HitOrder,
    /// True if hits are counted by their properties.
    pub counts_facets: bool,
    /// Current time, by which the age of hits is judged.
    pub now: Timestamp,
    /// Time limit.
    pub clock: Clock,
}

/// An entry that fits a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The document.
    pub node: Id,
    /// The version whose text fits.
    pub version: Id,
    /// Time of its last change.
    pub modified: Timestamp,
    /// Print of the name under which it was indexed.
    pub name_print: u64,
    /// Position in the order, comparable within one request only; greater is earlier.
    pub(super) rank: i64,
    pub(super) address: EntryAddress,
}

/// Where an entry is in its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryAddress {
    /// In a directory.
    Local(DocAddress),
    /// On a search server, which knows entries by document and audience.
    Shared(Audience),
}

impl Hit {
    pub(super) fn new(
        (node, version): (Id, Id),
        modified: Timestamp,
        name_print: u64,
        rank: i64,
        address: EntryAddress,
    ) -> Self {
        Self { node, version, modified, name_print, rank, address }
    }

    /// Returns its segment and number in a directory.
    pub(super) fn place(&self) -> Option<DocAddress> {
        match self.address {
            EntryAddress::Local(address) => Some(address),
            EntryAddress::Shared(_) => None,
        }
    }
}

impl Ord for Hit {
    /// Orders hits by rank; ties by newest, then greatest identifier.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |hit: &Self| (Reverse(hit.rank), Reverse(hit.modified), Reverse(hit.node), Reverse(hit.version));
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Best hits of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopHits {
    /// The hits, in the order that was asked for.
    pub hits: Vec<Hit>,
    /// Number of admitted entries that fit; at least this many if `whole` is false.
    pub total: u64,
    /// Their numbers by properties, if these were asked for.
    pub facets: Facets,
    /// True if everything was searched. Otherwise time was up, and better hits may be missing.
    pub whole: bool,
}
