//! A page of a listing.

/// One page, and the position at which the next one begins.
#[derive(Clone, Debug)]
pub struct Page<T, K> {
    /// The entries.
    pub items: Vec<T>,
    /// Position of the next page; `None` at the end.
    pub next: Option<K>,
}
