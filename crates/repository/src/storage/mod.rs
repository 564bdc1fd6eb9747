//! BLOB stores and their content: opening stores, policies, reads, damage, and pending deletions.

mod backup_checks;
pub(crate) mod built_in;
pub(crate) mod closed_stores;
pub(crate) mod database_store;
pub(crate) mod faults;
pub(crate) mod handle;
pub(crate) mod orphaned_policies;
pub(crate) mod pending_deletions;
pub(crate) mod placement;
pub(crate) mod policies;
pub(crate) mod policy;
pub(crate) mod process_state;
pub(crate) mod provider;
pub(crate) mod read_tracking;
pub(crate) mod redaction;
pub(crate) mod repair;
pub(crate) mod settings;
pub(crate) mod status;
pub(crate) mod store_states;
pub(crate) mod stores;
pub(crate) mod unknown_stores;
pub(crate) mod usage_cache;
