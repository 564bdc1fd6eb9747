//! The load lab: sends the load of a plan to a document server, measures the responses and evaluates them. It knows any
//! target only through HTTP and shares no code with the Strongroom server. It can therefore test any build of
//! Strongroom, and any other server.

pub mod agent;
pub mod compare;
mod corpus;
mod crawl;
mod diagnosis;
mod engine;
mod error;
mod evaluation;
mod event;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod live;
mod loading;
mod measure;
mod monitor;
mod numbers;
mod operations;
mod options;
pub mod paper;
mod people;
mod plan;
mod quantity;
mod random;
pub mod report;
mod result;
mod run;
mod stats;
mod stop;
pub mod sweep;
mod thread;
mod watch;
mod wire;

pub use corpus::{Corpus, CorpusPlan, Loaded, write_folder};
pub use error::{Error, Result};
pub use event::Event;
pub use measure::Window;
pub use monitor::Series;
pub use operations::{ALL as OPERATIONS, Operation};
pub use options::{PlanOverrides, RunOptions};
pub use plan::{Plan, SHIPPED};
pub use random::random_password;
pub use result::{CrawlResult, Finding, OperationResult, Problem, RunResult};
pub use run::{read_plan, run};
pub use stop::Stop;
pub use wire::{Login, TargetKind};
