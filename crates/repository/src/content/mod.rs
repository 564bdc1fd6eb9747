//! Contents of sites and libraries other than documents: permissions, links, the recycle bin and the audit log.

pub(crate) mod event_detail;
pub(crate) mod events;
pub(crate) mod libraries;
pub(crate) mod link_access;
pub(crate) mod link_use;
pub(crate) mod pending_link_files;
pub(crate) mod permanent_delete;
pub(crate) mod permissions;
pub(crate) mod properties;
pub(crate) mod recorded_downloads;
pub(crate) mod recycle;
pub(crate) mod saved_views;
pub(crate) mod sharing;
pub(crate) mod sites;
