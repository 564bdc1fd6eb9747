//! The subcommands, one file each, and their dispatch. Contains no logic of its own.

mod backup;
mod backup_destination;
mod backup_sets;
mod backup_verify;
mod blobs;
mod clock;
mod crawl;
mod export;
mod farm;
mod fault_log;
mod group;
mod import;
mod jobs;
mod lab;
mod output;
mod passwords;
mod progress;
mod restore;
mod restore_servers;
mod sandbox;
mod search;
mod serve;
mod site;
mod site_template;
mod size;
mod user;
mod verdict;

use std::process::ExitCode;

use clap::Subcommand;
use model::Result;

/// The subcommands of the program.
#[derive(Subcommand)]
pub enum Command {
    /// Serve the farm; creates it on first start
    Serve(serve::Arguments),
    /// Manage accounts, passwords and tokens
    User(user::Arguments),
    /// Manage groups and their members
    Group(group::Arguments),
    /// Manage the list of forbidden passwords
    Passwords(passwords::Arguments),
    /// Import a directory tree into a library; a repeated run imports only what is missing or changed
    Import(import::Arguments),
    /// Export a library into a directory, byte for byte; a repeated run writes only what is missing or changed
    Export(export::Arguments),
    /// Manage site collections, quotas, libraries and content databases
    Site(site::Arguments),
    /// Manage and check BLOBs and BLOB stores
    Blobs(blobs::Arguments),
    /// Manage background jobs: migrations, collections, checks, full crawls
    Jobs(jobs::Arguments),
    /// Find documents by words in their names and texts
    Search(search::Arguments),
    /// Show the search indexes and unreadable documents, and build indexes anew
    Crawl(crawl::Arguments),
    /// Show or accept the farm's clock, which decides when items are permanently deleted
    Clock(clock::Arguments),
    /// Back up the whole farm while it is in use; list, verify and prune backups
    Backup(backup::Arguments),
    /// Restore a farm from a backup
    Restore(restore::Arguments),
    /// Load-test a document server and judge its responses
    Lab(lab::Arguments),
    /// Open a document with restricted rights; the server starts one such process for each document that it reads
    #[command(hide = true)]
    Sandbox(sandbox::Arguments),
}

impl Command {
    /// Returns whether the command runs with lowered CPU priority, so that other processes, above all a server in use,
    /// come first.
    pub fn runs_at_low_priority(&self) -> bool {
        matches!(self, Self::Backup(_))
    }

    /// Returns whether files that the command creates are readable by the user it runs as only. They may hold password
    /// hashes and other users' documents, whatever directory was given.
    pub fn creates_private_files(&self) -> bool {
        !matches!(self, Self::Export(_) | Self::Lab(_))
    }
}

/// Runs a command. Exit codes: 0 success; 1 done, but with reported faults; 2 failure; 3 nothing is known to be wrong,
/// but not everything could be checked.
pub async fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Serve(arguments) => serve::run(arguments).await,
        Command::User(arguments) => user::run(arguments).await,
        Command::Group(arguments) => group::run(arguments).await,
        Command::Passwords(arguments) => passwords::run(arguments).await,
        Command::Import(arguments) => import::run(arguments).await,
        Command::Export(arguments) => export::run(arguments).await,
        Command::Site(arguments) => site::run(arguments).await,
        Command::Blobs(arguments) => blobs::run(arguments).await,
        Command::Jobs(arguments) => jobs::run(arguments).await,
        Command::Search(arguments) => search::run(arguments).await,
        Command::Crawl(arguments) => crawl::run(arguments).await,
        Command::Clock(arguments) => clock::run(arguments).await,
        Command::Backup(arguments) => backup::run(arguments).await,
        Command::Restore(arguments) => restore::run(arguments).await,
        Command::Lab(arguments) => lab::run(arguments).await,
        Command::Sandbox(arguments) => Ok(arguments.run()),
    }
}
