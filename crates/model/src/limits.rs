//! Limits that all crates and protocols share.

/// Longest name of an item, in Unicode characters.
pub const MAX_NAME_CHARS: usize = 255;
/// Deepest nesting of items below a site collection's root.
pub const MAX_DEPTH: usize = 128;
/// Longest comment of a version or check-in, in Unicode characters.
pub const MAX_COMMENT: usize = 4_000;
/// Longest text in a column, in Unicode characters.
pub const MAX_COLUMN_TEXT: usize = 10_000;
/// Longest text in a note column, in Unicode characters.
pub const MAX_NOTE: usize = 60_000;
/// Limit on the entries of one page of a listing.
pub const MAX_PAGE: usize = 1_000;
