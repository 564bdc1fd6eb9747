//! Owns the declaration of statements: as constants beside the functions that run them, and in a list, so that a test
//! can prepare every one of them on both engines. Also the lists of columns that several statements read.
//!
//! This module must not know any table.

use crate::Sql;

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

/// An INSERT of one row, and the same for several rows at once.
pub(crate) struct Inserts {
    /// Inserts one row.
    pub one: Sql,
    /// Inserts `group` rows.
    pub many: Sql,
    /// Number of rows in a group.
    pub group: usize,
}

/// Bytes of the VALUES that [`with_values_list`] writes.
pub(crate) const fn values_list_len(width: usize, rows: usize) -> usize {
    let (mut at, mut number) = (0, 1);
    while number <= width * rows {
        let mut digits = number;
        while digits > 0 {
            at += 1;
            digits /= 10;
        }
        // A dollar sign, and a comma or the end of a row.
        at += 2;
        number += 1;
    }
    // The parentheses of each row, and the commas between rows.
    at + rows + rows - 1
}

/// Writes the VALUES of several rows behind a text: `(?, ?), (?, ?)` with numbered placeholders and without spaces.
pub(crate) const fn with_values_list<const LEN: usize>(before: &str, width: usize, rows: usize) -> [u8; LEN] {
    let (mut out, mut at, before) = ([b' '; LEN], 0, before.as_bytes());
    while at < before.len() {
        out[at] = before[at];
        at += 1;
    }
    let mut number = 1;
    while number <= width * rows {
        if number % width == 1 || width == 1 {
            out[at] = b'(';
            at += 1;
        }
        out[at] = b'$';
        at += 1;
        let mut unit = 1;
        while number / (unit * 10) > 0 {
            unit *= 10;
        }
        while unit > 0 {
            out[at] = b'0' + (number / unit % 10) as u8;
            at += 1;
            unit /= 10;
        }
        if number % width == 0 {
            out[at] = b')';
            at += 1;
        }
        if number < width * rows {
            out[at] = b',';
            at += 1;
        }
        number += 1;
    }
    out
}

/// The text of an INSERT of several rows at once: `insert_rows!("INSERT INTO t (a, b) VALUES ", 2, 16)`.
macro_rules! insert_rows {
    ($before:expr, $width:expr, $rows:expr) => {{
        const LEN: usize = $before.len() + $crate::statement::values_list_len($width, $rows);
        const TEXT: [u8; LEN] = $crate::statement::with_values_list::<LEN>($before, $width, $rows);
        match std::str::from_utf8(&TEXT) {
            Ok(text) => text,
            Err(_) => panic!("the text of an INSERT is not UTF-8"),
        }
    }};
}

pub(crate) use insert_rows;

#[cfg(test)]
mod tests {
    #[test]
    fn values_of_several_rows_are_numbered() {
        assert_eq!(insert_rows!("V ", 2, 3), "V ($1,$2),($3,$4),($5,$6)");
        assert_eq!(insert_rows!("V ", 1, 2), "V ($1),($2)");
        let long = insert_rows!("INSERT ", 20, 8);
        assert!(long.ends_with("$159,$160)") && long.contains("($21,"), "{long}");
    }
}
