//! What a listing is asked for, in which order, and where a page of it ends.

use model::{Id, Timestamp};

use crate::items::filter::Filter;

/// What a listing is sorted by. Folders, libraries and sites always come first, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Folded name.
    #[default]
    Name,
    /// Time of the last change.
    Modified,
    /// Bytes of the latest version.
    Size,
    /// Name of who changed it last, then folded name.
    Person,
    /// Media type, then folded name.
    Type,
    /// What stands in a column of the library; documents without a value come last, by name.
    Column(Id),
}

/// Place in a listing: the last entry of the page before.
#[derive(Clone, Debug, PartialEq)]
pub enum SortKey {
    /// Behind the container of this folded name.
    Container(String),
    /// Behind the document of this folded name.
    Name(String),
    /// Behind the document with this time and identifier.
    Modified(Timestamp, Id),
    /// Behind the document with this size in bytes and identifier.
    Size(i64, Id),
    /// Among what this person changed, behind the document of this folded name.
    Person(Id, String),
    /// Among this media type, behind the document of this folded name.
    Type(String, String),
    /// Behind the document with this folded text in the column and this identifier.
    Text(String, Id),
    /// Behind the document with this number in the column and this identifier.
    Number(f64, Id),
    /// Behind the document with this date or truth in the column and this identifier.
    Integer(i64, Id),
    /// Among those that name this person in the column, behind this identifier.
    Named(Id, Id),
    /// Among those without a value in the column, behind the document of this folded name.
    Absent(String),
}

/// What is wanted of a listing.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// The order.
    pub sort: Sort,
    /// Whether it is turned round.
    pub descending: bool,
    /// The `next` of the page before, of the same order.
    pub after: Option<SortKey>,
    /// Entries, at most [`MAX_PAGE`].
    pub limit: usize,
    /// Columns of the library whose values are wanted; the first so many.
    pub columns: usize,
    /// What is left out.
    pub filter: Filter,
}

/// What a walk through documents follows.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// Name, time or size.
    Plain,
    /// Who changed them last, in this order.
    People(Vec<Id>),
    /// Media types, in this order.
    Types(Vec<String>),
    /// Text in a column.
    Texts(Id),
    /// Numbers in a column.
    Numbers(Id),
    /// Dates or truths in a column.
    Integers(Id),
    /// Whom a column names, in this order.
    Named(Id, Vec<Id>),
}
