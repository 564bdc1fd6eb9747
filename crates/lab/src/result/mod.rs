//! The result of a run: one value that is stored as JSON, and from which every report is made. Evaluates nothing.

mod crawl_result;
mod finding;
mod run_result;

pub use crawl_result::CrawlResult;
pub use finding::{Finding, Problem};
#[cfg(test)]
pub use run_result::sample;
pub use run_result::{
    CorpusResult, Environment, FaultResult, Generator, OperationResult, PartResult, RunResult, VERSION,
};
