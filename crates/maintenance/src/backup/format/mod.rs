//! Storage format of a backup: objects and their lists, the manifest, compression and encryption.
//!
//! `docs/formats/backup.md` specifies the format byte by byte. This module knows nothing about locations, farms or
//! databases.

pub(crate) mod codec;
pub(crate) mod index;
pub(crate) mod json;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod manifest;
pub(crate) mod vault;
