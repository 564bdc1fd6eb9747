//! Children that open what anybody uploaded: they read the text of documents, and run other programs on them.
//!
//! A child is this program once more, with a hidden command. Before it sees a byte of a document, it gives up the network, the files and most
//! calls of the system, and takes limits on memory, time and files (`inside`, `rules`). From outside, a thread of its own keeps it
//! (`keeper`): it ends the child with all that it started at a deadline, when nobody waits for it any more and when the server stops, and
//! frees the child's turn (`turns`) only when it is gone. Knows nothing of rights, and of formats only who reads them.

use model::Code;
pub mod inside;
mod keeper;
mod lack;
mod rules;
mod turns;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Error, Id, Result};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::{oneshot, watch};

use crate::extract::{Extract, Format};
use keeper::{Ended, Input, Order, Outcome};
pub use lack::Lack;
pub use turns::Turn;
use turns::Turns;

/// The command of this program that children run.
pub const COMMAND: &str = "sandbox";
/// Where this program is, also after an upgrade has replaced its file.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Documents that are read at the same time, of all users and of each.
const READING: (usize, usize) = (4, 1);
/// Documents that other programs work on at the same time, of all users and of each.
const RUNNING: (usize, usize) = (2, 1);
/// Longest wait for a turn to read and to run.
const WAITING_TO_READ: Duration = Duration::from_secs(15);
const WAITING_TO_RUN: Duration = Duration::from_secs(60);
/// Longest time for reading one document.
const READING_TIME: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const MOST_ANSWER: usize = 8 << 20;
/// Longest wait for children that were told to end.
const ENDING_TIME: Duration = Duration::from_secs(1);

/// Starts children and keeps count of them. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    program: PathBuf,
    stopping: watch::Sender<bool>,
    reading: Turns,
    running: Turns,
}

/// A document that a child reads. It lies in memory that belongs to no process.
pub struct Document(std::fs::File);

/// Another program, and what it may have.
#[derive(Debug)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// What it is told.
    pub arguments: Vec<OsString>,
    /// The one directory that it may write to.
    pub place: PathBuf,
    /// The most time.
    pub time: Duration,
    /// The most bytes of a file that it writes.
    pub file: u64,
}

impl Document {
    /// An empty one.
    pub fn new() -> Result<Self> {
        let file = memfd_create("document", MemfdFlags::CLOEXEC).map_err(|error| cannot_start(&error.into()))?;
        Ok(Self(file.into()))
    }

    /// Adds bytes to its end.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes).map_err(|error| cannot_start(&error))
    }
}

impl Sandbox {
    /// Children of the program that runs now.
    pub fn of_this_program() -> Self {
        Self::new(THIS_PROGRAM)
    }

    /// Children of this program, which has the command [`COMMAND`].
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Inner {
            program: program.into(),
            stopping: watch::Sender::new(false),
            reading: Turns::new(READING.0, READING.1),
            running: Turns::new(RUNNING.0, RUNNING.1),
        }))
    }

    /// Waits until this user may have a document read.
    ///
    /// # Errors
    /// Unavailable with code `busy` when others take too long.
    pub async fn turn_to_read(&self, user: Id) -> Result<Turn> {
        self.turn(&self.0.reading, user, WAITING_TO_READ).await
    }

    /// Waits until this user may have another program work on a document.
    ///
    /// # Errors
    /// Unavailable with code `busy` when others take too long.
    pub async fn turn_to_run(&self, user: Id) -> Result<Turn> {
        self.turn(&self.0.running, user, WAITING_TO_RUN).await
    }

    async fn turn(&self, turns: &Turns, user: Id, longest: Duration) -> Result<Turn> {
        let mut stopping = self.0.stopping.subscribe();
        tokio::select! {
            // First: once the server stops, a turn that is free is nobody's.
            biased;
            _ = stopping.wait_for(|stops| *stops) => Err(stops()),
            turn = turns.take(user, longest) => turn,
        }
    }

    /// Reads the text of a document.
    ///
    /// # Errors
    /// Those of [`crate::extract::extract`]; invalid with code `took_too_long` when that takes more than its time, with code `reader_failed` when the
    /// child fails on it, as for want of memory; unavailable when no child can be started and while the server stops.
    pub async fn read(&self, turn: Turn, format: Format, document: Document) -> Result<Extract> {
        let mut input = document.0;
        io::Seek::rewind(&mut input).map_err(|error| cannot_start(&error))?;
        let order = Order {
            program: self.0.program.clone(),
            words: vec![COMMAND.into(), inside::READ.into(), format.as_str().into()],
            input: Input::File(input),
            answer: MOST_ANSWER,
            time: READING_TIME,
        };
        let (outcome, _) = self.keep("read", order, turn).await?;
        match outcome.ended {
            Ended::Well => inside::answer(&outcome.answer)?,
            Ended::TooLong => Err(too_long()),
            Ended::Badly => {
                Err(Error::invalid("the program that reads documents failed on it").with_code(Code::ReaderFailed))
            }
        }
    }

    /// Runs another program, and gives back what was kept for it meanwhile; tells whether it ended in time.
    ///
    /// # Errors
    /// Unavailable when it cannot be started and while the server stops.
    pub async fn run<K: Send + 'static>(&self, program: Program, kept: K) -> Result<(bool, K)> {
        let number = |number: u64| OsString::from(number.to_string());
        let mut words = vec![COMMAND.into(), inside::RUN.into(), program.place.into_os_string()];
        words.extend([number(program.time.as_secs() + 2), number(program.file), program.path.into_os_string()]);
        words.extend(program.arguments);
        let order = Order { program: self.0.program.clone(), words, input: Input::Life, answer: 0, time: program.time };
        let (outcome, kept) = self.keep("run", order, kept).await?;
        Ok((outcome.ended != Ended::TooLong, kept))
    }

    /// Asks a child what it cannot be kept from on this system.
    ///
    /// # Errors
    /// Unavailable when no child can be started: no document can be read then.
    pub async fn lacks(&self) -> Result<Vec<Lack>> {
        let order = Order {
            program: self.0.program.clone(),
            words: vec![COMMAND.into(), inside::PROBE.into()],
            input: Input::Life,
            answer: MOST_ANSWER,
            time: READING_TIME,
        };
        let (outcome, ()) = self.keep("probe", order, ()).await?;
        if outcome.ended != Ended::Well {
            return Err(Error::unavailable("the program that reads documents does not start on this system"));
        }
        Ok(String::from_utf8_lossy(&outcome.answer).split_whitespace().filter_map(Lack::parse).collect())
    }

    /// Ends all children, and waits a moment until they are gone. None is started any more.
    pub async fn end_all(&self) {
        self.0.stopping.send_replace(true);
        let gone = async {
            self.0.reading.all_back().await;
            self.0.running.all_back().await;
        };
        if tokio::time::timeout(ENDING_TIME, gone).await.is_err() {
            tracing::warn!("children that read documents have not ended yet");
        }
    }

    /// Runs a child to its end. The thread that keeps it lets go of what is kept for it when it is gone.
    async fn keep<K: Send + 'static>(&self, task: &'static str, order: Order, kept: K) -> Result<(Outcome, K)> {
        let mut stopping = self.0.stopping.subscribe();
        if *stopping.borrow() {
            return Err(stops());
        }
        // The child ends when this end of the pipe is closed, however that comes about.
        let (left, waits) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| cannot_start(&error.into()))?;
        let (tell, told) = oneshot::channel();
        let keep = move || {
            let begun = Instant::now();
            let outcome = keeper::keep(order, &left);
            let result = match &outcome {
                Ok(outcome) => outcome.ended.as_str(),
                Err(_) => "not-started",
            };
            metrics::counter!("strongroom_sandbox_total", "task" => task, "result" => result).increment(1);
            metrics::histogram!("strongroom_sandbox_seconds", "task" => task).record(begun.elapsed().as_secs_f64());
            // Whoever asked may be gone.
            let _ = tell.send((outcome, kept));
        };
        std::thread::Builder::new().name("sandbox".to_owned()).spawn(keep).map_err(|error| cannot_start(&error))?;
        let answer = tokio::select! {
            answer = told => answer,
            _ = stopping.wait_for(|stops| *stops) => return Err(stops()),
        };
        drop(waits);
        let (outcome, kept) = answer.map_err(|_| stops())?;
        let outcome = outcome.map_err(|error| cannot_start(&error))?;
        if outcome.ended == Ended::Badly {
            tracing::info!(task, status = outcome.status, "a child failed on a document");
        }
        Ok((outcome, kept))
    }
}

fn too_long() -> Error {
    Error::invalid(format!("reading it took longer than {} seconds", READING_TIME.as_secs()))
        .with_code(Code::TookTooLong)
}

fn cannot_start(error: &io::Error) -> Error {
    Error::unavailable(format!("documents cannot be read now: {error}"))
}

fn stops() -> Error {
    Error::unavailable("the server is about to stop")
}
