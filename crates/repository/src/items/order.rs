//! Listing requests, their order, and the position at which a page ends.

use model::{Id, SortValue, Timestamp};

use crate::items::filter::Filter;

/// Sort key of a listing. Folders, libraries and sites always come first, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Folded name; in a list, the order in which rows were added.
    #[default]
    Name,
    /// Time of the last change.
    Modified,
    /// Bytes of the latest version.
    Size,
    /// Name of the user who changed it last, then folded name.
    Person,
    /// Media type, then folded name.
    Type,
    /// Value in a column of the library or list. Items without a value come last.
    Column(Id),
}

/// Position in a listing: the last entry of the previous page.
#[derive(Clone, Debug, PartialEq)]
pub enum SortKey {
    /// After the container with this folded name.
    Container(String),
    /// After the document with this folded name.
    Name(String),
    /// After the document with this time and identifier.
    Modified(Timestamp, Id),
    /// After the document with this size in bytes and identifier.
    Size(i64, Id),
    /// Among the documents last changed by this user, after the document with this folded name.
    Person(Id, String),
    /// Among the documents of this media type, after the document with this folded name.
    Type(String, String),
    /// After the row with this identifier.
    Row(Id),
    /// After the item with this position in the column and this identifier.
    Field(SortValue, Id),
    /// Among the rows whose field in the column is empty, after this identifier.
    Empty(Id),
    /// Among the items that name this person or entry in the column, after this identifier.
    Named(Id, Id),
    /// Among the documents without a value in the column, after the document with this folded name.
    Absent(String),
}

/// Parameters of a listing.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Sort order.
    pub sort: Sort,
    /// True for the reverse order.
    pub descending: bool,
    /// The `next` of the previous page in the same order.
    pub after: Option<SortKey>,
    /// Number of entries, at most [`MAX_PAGE`].
    pub limit: usize,
    /// Number of columns, from the first, whose values are returned.
    pub columns: usize,
    /// Filter of the listing.
    pub filter: Filter,
}

/// Order in which a walk visits documents.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// By name, time or size.
    Plain,
    /// By the user who changed them last, in this order.
    People(Vec<Id>),
    /// By media type, in this order.
    Types(Vec<String>),
    /// By the position in the column with this slot.
    Field(i64),
    /// By the person or entry named in the column with this slot, in this order.
    Named(i64, Vec<Id>),
}
