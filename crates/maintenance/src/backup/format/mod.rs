//! The stored form of a backup: its things and their lists, the manifest, the bytes as they are compressed or sealed.
//!
//! `docs/formats/backup.md` says it byte by byte. This module knows no place, no farm and no database.

pub(crate) mod codec;
pub(crate) mod index;
pub(crate) mod json;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod manifest;
pub(crate) mod vault;
