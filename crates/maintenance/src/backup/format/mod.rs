//! What is written of a backup, and how: the things and their lists, the manifest, the bytes as they are stored.
//!
//! `docs/formats/backup.md` says it byte by byte. This module knows no place, no farm and no database.

pub(crate) mod codec;
pub(crate) mod index;
pub(crate) mod json;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod manifest;
pub(crate) mod vault;
