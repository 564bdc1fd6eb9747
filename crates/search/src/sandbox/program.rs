//! Other programs that a child runs on documents.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use model::{Error, Result};

use super::child::{self, COMMAND};
use super::children::Sandbox;
use super::document::Document;
use super::failure::{reader_failed, too_long};
use super::supervisor::{ChildCommand, ChildEnd, ChildOutcome, Input, Share};

/// Limit on the memory of all processes of a program that runs in a directory.
const GROUP_MEMORY: u64 = 2 << 30;
/// Another program, and its limits.
#[derive(Debug)]
pub struct Program {
    /// Location.
    pub path: PathBuf,
    /// Command-line arguments.
    pub arguments: Vec<OsString>,
    /// The only directory that the program may write to.
    pub place: PathBuf,
    /// Time limit.
    pub time: Duration,
    /// Limit on the bytes of each file that it writes.
    pub file: u64,
    /// Limit on the bytes of all files in `place`, the document included. It is checked ten times a second.
    pub disk: u64,
}

/// Another program that reads a document from standard input and writes its result to standard output. It has no files,
/// and starts no other processes.
#[derive(Debug)]
pub struct PipedProgram {
    /// Location.
    pub path: PathBuf,
    /// Command-line arguments.
    pub arguments: Vec<OsString>,
    /// Time limit.
    pub time: Duration,
    /// Limit on its memory in bytes.
    pub memory: u64,
    /// Limit on the bytes of its result.
    pub most: usize,
}

/// The result of a [`PipedProgram`].
#[derive(Debug)]
pub struct PipedOutput {
    /// The bytes that it wrote, at most as many as allowed.
    pub bytes: Vec<u8>,
    /// Set if it would have written more.
    pub is_cut: bool,
    /// `Invalid` with code `took_too_long` at the time limit, with code `reader_failed` if it failed.
    pub fault: Option<Error>,
}

impl Sandbox {
    /// Runs another program. Returns whether it ended in time, and `kept`, which is held until the child is gone. All
    /// its processes are killed when they use more than their share of disk or memory.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be started, and while the server stops.
    pub async fn run<K: Send + 'static>(&self, program: Program, kept: K) -> Result<(bool, K)> {
        let share = Share { place: program.place.clone(), disk: program.disk, memory: GROUP_MEMORY };
        let mut words = vec![COMMAND.into(), child::RUN.into(), program.place.into_os_string()];
        words.extend([number(program.time.as_secs() + 2), number(program.file), program.path.into_os_string()]);
        words.extend(program.arguments);
        let order = ChildCommand {
            program: self.0.program.clone(),
            words,
            input: Input::Life,
            answer: 0,
            time: program.time,
            share: Some(share),
        };
        let (outcome, kept) = self.keep("run", order, kept).await?;
        Ok((outcome.ended != ChildEnd::Killed, kept))
    }

    /// Gives a document to another program. `kept` is held until the child is gone.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be started, and while the server stops.
    pub async fn run_piped<K: Send + 'static>(
        &self,
        piped: PipedProgram,
        document: Document,
        kept: K,
    ) -> Result<(PipedOutput, K)> {
        let input = document.into_file()?;
        let mut words = vec![COMMAND.into(), child::RUN_PIPED.into(), number(piped.time.as_secs() + 2)];
        words.extend([number(piped.memory), piped.path.into_os_string()]);
        words.extend(piped.arguments);
        let order = ChildCommand {
            program: self.0.program.clone(),
            words,
            input: Input::File(input),
            answer: piped.most,
            time: piped.time,
            share: None,
        };
        let (ChildOutcome { ended, answer: mut bytes, .. }, kept) = self.keep("run-piped", order, kept).await?;
        let is_cut = bytes.len() > piped.most;
        bytes.truncate(piped.most);
        let fault = match ended {
            ChildEnd::Killed => Some(too_long(piped.time)),
            ChildEnd::Failed if !is_cut => Some(reader_failed()),
            ChildEnd::Done | ChildEnd::Failed => None,
        };
        Ok((PipedOutput { bytes, is_cut, fault }, kept))
    }
}

fn number(number: u64) -> OsString {
    OsString::from(number.to_string())
}
