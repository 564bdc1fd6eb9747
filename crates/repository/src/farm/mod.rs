//! The farm as a whole: its databases and servers, its health, and the registry that all requests use. Independent of
//! documents.

pub(crate) mod absent;
pub(crate) mod activity;
pub(crate) mod advice;
pub(crate) mod attach;
pub(crate) mod backups;
pub(crate) mod busy;
pub(crate) mod clean_up;
pub(crate) mod clock;
pub(crate) mod databases;
pub(crate) mod expiry;
pub(crate) mod farm_audit;
pub(crate) mod health;
pub(crate) mod health_limits;
pub(crate) mod missing;
pub(crate) mod open;
pub(crate) mod refresh;
pub(crate) mod registry;
pub(crate) mod repository;
pub(crate) mod seal;
pub(crate) mod servers;
