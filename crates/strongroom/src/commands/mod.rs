//! The subcommands, one file each. Does nothing itself.

mod backup;
mod backup_place;
mod backup_sets;
mod backup_verify;
mod blobs;
mod clock;
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
mod serve;
mod site;
mod size;
mod user;
mod verdict;

use std::process::ExitCode;

use clap::Subcommand;
use model::Result;

/// What the program is asked to do.
#[derive(Subcommand)]
pub enum Command {
    /// Serve the farm, creating it at first start
    Serve(serve::Arguments),
    /// Make and change accounts, passwords and tokens
    User(user::Arguments),
    /// Make and change groups and their members
    Group(group::Arguments),
    /// The list of passwords that nobody may have
    Passwords(passwords::Arguments),
    /// Take a tree of files into a library; starting it again does only what is missing or changed
    Import(import::Arguments),
    /// Write a library into a directory, byte for byte; starting it again does only what is missing or changed
    Export(export::Arguments),
    /// Site collections, their quotas and libraries, and the content databases that hold them
    Site(site::Arguments),
    /// Where the bytes of documents are, whether all are undamaged, and moving and collecting them
    Blobs(blobs::Arguments),
    /// What goes on in the background: migrations, collections, checks
    Jobs(jobs::Arguments),
    /// What the farm thinks of its clock, which decides when something is deleted for good
    Clock(clock::Arguments),
    /// Back up the whole farm while people work; list, verify and prune backups
    Backup(backup::Arguments),
    /// Bring a farm back from a backup
    Restore(restore::Arguments),
    /// Put a document server under load and judge what comes back
    Lab(lab::Arguments),
    /// Open a document with few rights; the server starts this for each document that it reads
    #[command(hide = true)]
    Sandbox(sandbox::Arguments),
}

impl Command {
    /// Whether the threads of the command leave the processors to others, above all to a server that people wait for.
    pub fn stands_back(&self) -> bool {
        matches!(self, Self::Backup(_))
    }

    /// Whether what the command writes is for nobody but the user it runs as, as passwords' hashes and documents of others are,
    /// whatever the directory is that it was given.
    pub fn keeps_secrets(&self) -> bool {
        !matches!(self, Self::Export(_) | Self::Lab(_))
    }
}

/// Runs a command. Exit codes: 0 done and all is well; 1 done, with faults that were reported; 2 could not be done; 3 nothing is known to be
/// wrong, but not everything could be looked at.
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
        Command::Clock(arguments) => clock::run(arguments).await,
        Command::Backup(arguments) => backup::run(arguments).await,
        Command::Restore(arguments) => restore::run(arguments).await,
        Command::Lab(arguments) => lab::run(arguments).await,
        Command::Sandbox(arguments) => Ok(arguments.run()),
    }
}
