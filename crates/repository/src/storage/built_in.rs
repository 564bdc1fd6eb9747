//! The BLOB stores that every farm has.

use model::Id;

/// Identifier of the store that keeps BLOBs in the content database itself.
pub const DATABASE_STORE: Id = Id::new(1);

/// Identifier of the directory store of a new farm.
pub const FILES_STORE: Id = Id::new(2);
