//! What sites and libraries hold beside documents: columns, permissions, links, the recycle bin and what happened.

pub(crate) mod columns;
pub(crate) mod event_detail;
pub(crate) mod events;
pub(crate) mod libraries;
pub(crate) mod permissions;
pub(crate) mod properties;
pub(crate) mod recycle;
pub(crate) mod saved_views;
pub(crate) mod sharing;
pub(crate) mod shred;
pub(crate) mod sites;
