//! Execution of the farm's jobs: one module per kind of work, the lease of a running job, and throttling in favour of
//! requests. [`repository::Job`] defines jobs and the operations on them.

mod check;
mod collect;
mod crawl;
mod delete_copies;
mod migrate;
mod resume;
mod runner;
mod running_job;
mod throttle;

pub(crate) use resume::resume_deletions;
pub use runner::{follow, run_here, run_jobs};
