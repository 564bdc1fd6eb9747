//! Access to local files through directory handles only, so that no link can lead out of a tree.

mod accounts;
mod acl;
mod directory;
mod time;

pub(crate) use accounts::Accounts;
pub(crate) use acl::{Class, Entry, entries};
pub(crate) use directory::{Directory, EntryKind, Status, set_modified};
