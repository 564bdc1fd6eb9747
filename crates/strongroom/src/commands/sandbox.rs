//! `strongroom sandbox`: the child process that opens a single document. Hidden, since its arguments are an internal
//! protocol between it and the server.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

/// Arguments from the server.
#[derive(Args)]
pub struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Arguments {
    /// Runs the child. Must be called while the process is single-threaded: the restrictions apply to the calling
    /// thread and to threads that it starts later, but not to other existing threads.
    pub fn run(&self) -> ExitCode {
        search::sandbox::child::main(&self.words)
    }
}
