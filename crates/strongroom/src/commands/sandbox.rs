//! `strongroom sandbox`: the child that opens one document. Hidden: what it is told is between it and the server.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

/// The words of the server.
#[derive(Args)]
pub struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Arguments {
    /// Does what they say. To be called before there is a second thread: only those that are there give up their rights.
    pub fn run(&self) -> ExitCode {
        search::sandbox::inside::main(&self.words)
    }
}
