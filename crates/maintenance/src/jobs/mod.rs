//! Running the farm's jobs: one file for each kind of work, the lease that a running job holds, and how it makes room for
//! requests. What a job is and what people ask of one is [`repository::Job`]'s.

mod check;
mod collect;
mod migrate;
mod reclaim;
mod resume;
mod runner;
mod throttle;
mod ticket;

pub(crate) use resume::resume_deletions;
pub use runner::{follow, run_here, run_jobs};
