//! Owns the declaration of statements: as constants beside the functions that run them, and in a list, so that a test
//! can prepare every one of them on both engines. Also the lists of columns that several statements read.
//!
//! This module must not know any table.

/// Declares statements as `const NAME: Sql` and lists them all in `ALL`.
///
/// ```ignore
/// statements! {
///     FIND_NODE = "SELECT name FROM node WHERE id = $1";
///     RENAME_NODE = "UPDATE node SET name = $2 WHERE id = $1";
/// }
/// ```
#[macro_export]
macro_rules! statements {
    ($($(#[$meta:meta])* $name:ident = $text:expr;)+) => {
        $($(#[$meta])* const $name: $crate::Sql = $crate::Sql::new($text);)+

        /// Every statement of this module.
        #[cfg_attr(not(test), allow(dead_code, reason = "only tests prepare them all"))]
        pub(crate) const ALL: &[$crate::Sql] = &[$($name),+];
    };
}

/// The columns of a table or alias as the text of a SELECT list: `column_list!("n": id, name)` is `"n.id, n.name"`.
macro_rules! column_list {
    ($of:literal: $first:ident $(, $column:ident)*) => {
        concat!($of, ".", stringify!($first) $(, ", ", $of, ".", stringify!($column))*)
    };
}

pub(crate) use column_list;

/// Number of columns in a SELECT list. None of its expressions may contain a comma.
pub(crate) const fn count_columns(list: &str) -> usize {
    let (bytes, mut count, mut at) = (list.as_bytes(), 1, 0);
    while at < bytes.len() {
        if bytes[at] == b',' {
            count += 1;
        }
        at += 1;
    }
    count
}
