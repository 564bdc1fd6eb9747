//! A page of a listing.

/// One page, and where the next one begins.
#[derive(Clone, Debug)]
pub struct Page<T, K> {
    /// The entries.
    pub items: Vec<T>,
    /// Where to go on; none at the end.
    pub next: Option<K>,
}
