//! The storage pages for farm administrators: BLOB stores, storage policies, jobs, search indexes, BLOBs awaiting
//! deletion, and damaged BLOBs.

mod faults;
mod job_forms;
mod jobs;
mod pending_deletions;
mod policies;
mod policy_form;
mod search_indexes;
mod store_forms;
mod stores;
pub(super) mod words;

use axum::Router;
use axum::routing::{get, post};

use http_core::server::state::AppState;

pub use super::storage::policies::{Described, describe};
pub use super::storage::stores::address as store_address;
pub use super::storage::words::{kind_of_work, work};

/// Routes of these pages.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/farm/stores", get(stores::list))
        .route("/farm/new-store/{kind}", get(store_forms::ask_new).post(store_forms::add))
        .route("/farm/stores/{store}", get(store_forms::ask_change).post(store_forms::change))
        .route("/farm/stores/{store}/state", post(stores::set_state))
        .route("/farm/stores/{store}/test", post(stores::test))
        .route("/farm/stores/{store}/rotate", post(stores::rotate))
        .route("/farm/stores/{store}/drain", get(stores::ask_drain).post(stores::drain))
        .route("/farm/stores/{store}/remove", get(stores::ask_remove).post(stores::remove))
        .route("/farm/policies", get(policies::list))
        .route("/farm/policies/new", get(policies::ask_place).post(policies::find_place))
        .route("/farm/policies/{kind}/{target}", get(policy_form::ask).post(policy_form::save))
        .route("/farm/jobs", get(jobs::list))
        .route("/farm/jobs/new/{kind}", get(job_forms::ask).post(job_forms::start))
        .route("/farm/jobs/{job}", get(jobs::show).post(jobs::ask))
        .route("/farm/search", get(search_indexes::list))
        .route("/farm/search/settings", get(search_indexes::ask).post(search_indexes::save))
        .route("/farm/reclaim", get(pending_deletions::show))
        .route("/farm/faults", get(faults::list))
        .route("/farm/faults/{digest}", post(faults::resolve))
}
