//! `strongroom lab`: sends the load of a plan to a document server and judges the answers. One file for each action.

mod agent;
mod compare;
mod corpus;
mod failure;
mod live;
mod paper;
mod plans;
mod run;
mod sweep;
mod target;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use model::Result;

/// What the lab does.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Run a plan against a server; exit status 1 when a threshold does not hold or the figures are not valid
    Run(run::Run),
    /// Run the workload of a paper with documents in the database and external in turn, and print its figures beside ours
    Paper(paper::Paper),
    /// Run a plan at rising levels and say how much the server takes
    Sweep(sweep::Sweep),
    /// Compare two results and say which differences chance does not explain
    Compare(compare::Compare),
    /// Write the corpus of a plan to a folder, for `strongroom import`
    Corpus(corpus::Corpus),
    /// Send load from this machine for runs that are led from another
    Agent(agent::Agent),
    /// List the plans that come with the program, or print one
    Plans(plans::Plans),
    /// List the operations that plans may ask for
    Operations(plans::Operations),
}

/// Runs `strongroom lab`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    match arguments.action {
        Action::Run(run) => run.run().await,
        Action::Paper(paper) => paper.run().await,
        Action::Sweep(sweep) => sweep.run().await,
        Action::Compare(compare) => compare.run(),
        Action::Corpus(corpus) => corpus.run().await,
        Action::Agent(agent) => agent.run().await,
        Action::Plans(plans) => plans.run(),
        Action::Operations(operations) => Ok(operations.run()),
    }
}
