//! `strongroom lab`: sends the load of a plan to a document server and judges the answers. One file for each action.

mod agent;
mod compare;
mod corpus;
mod live;
mod paper;
mod plans;
mod run;
mod sweep;

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use model::{Error, Result};

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

/// Where load goes and who signs in.
#[derive(Args)]
pub struct TargetFlags {
    /// Address of the server, such as http://127.0.0.1:8080; that of the plan when absent
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    /// Another server that should be equal to the target, such as one more of the same farm; may be given several times. Users are
    /// spread over all, and one that differs is named
    #[arg(long, value_name = "URL")]
    twin: Vec<String>,
    /// What the server speaks
    #[arg(long, value_enum)]
    kind: Option<KindFlag>,
    /// Below which path the corpus lies: a site, or for WebDAV a collection such as /dav/Documents
    #[arg(long, value_name = "PATH")]
    root: Option<String>,
    /// Who signs in
    #[arg(long)]
    user: Option<String>,
    /// The password; better given by the environment
    #[arg(long, env = "STRONGROOM_LAB_PASSWORD", hide_env_values = true, requires = "user")]
    password: Option<String>,
    /// The server is on another machine and may be put under load
    #[arg(long)]
    yes_this_is_mine: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindFlag {
    Strongroom,
    Webdav,
}

impl TargetFlags {
    fn wishes(&self) -> lab::Wishes {
        let kind = self.kind.map(|kind| match kind {
            KindFlag::Strongroom => lab::Kind::Strongroom,
            KindFlag::Webdav => lab::Kind::Webdav,
        });
        let login =
            self.user.clone().map(|user| lab::Login { user, password: self.password.clone().unwrap_or_default() });
        lab::Wishes {
            target: self.target.clone(),
            twins: self.twin.clone(),
            changes: lab::Changes { kind, root: self.root.clone(), ..lab::Changes::default() },
            login,
            confirmed: self.yes_this_is_mine,
            ..lab::Wishes::default()
        }
    }
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

/// What the lab could not do, as commands say it: line by line, since a target's own words may be in it.
fn said(error: &lab::Error) -> Error {
    let lines: Vec<String> = error.to_string().lines().map(lab::report::plain).collect();
    Error::invalid(lines.join("\n"))
}
