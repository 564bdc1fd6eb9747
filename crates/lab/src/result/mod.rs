//! The result of a run: one value that is kept as JSON and that every report is drawn from. Judges nothing.

mod finding;
mod run_result;

pub use finding::{Finding, Trouble};
#[cfg(test)]
pub use run_result::sample;
pub use run_result::{
    CorpusResult, Environment, FaultResult, Generator, OperationResult, PartResult, RunResult, VERSION,
};
