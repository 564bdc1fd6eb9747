//! Owns the declaration of statements: as constants beside the functions that run them, and in a list, so that a test
//! can prepare every one of them on both engines.

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
