//! Sandboxed child processes that open uploaded documents: they read the text of documents, and run other programs on
//! them.
//!
//! A child is this same program, started with a hidden command. Before it sees a byte of a document, it gives up the
//! network, the file system and most system calls, and sets limits on memory, time and files (`inside`, `rules`). On
//! the server's side a thread supervises it (`keeper`). The thread kills the child with everything that it started at a
//! deadline, when the caller stops waiting, and when the server stops. It releases the child's permit (`permits`) only
//! once the child is gone. Children that read texts for the search index are kept warm instead (`pool`, `frame`).
//! Permissions are not known here, and formats only to the code that reads them.

mod failure;
mod frame;
pub mod inside;
mod keeper;
mod lack;
mod permits;
mod pool;
mod rules;
mod usage;

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
use crate::readers::{DocumentText, ReadableFormat};
pub(crate) use failure::too_long;
use failure::{cannot_start, reader_failed, stops};
pub use inside::COMMAND;
use keeper::{ChildCommand, ChildEnd, ChildOutcome, Input, Share};
pub use lack::MissingRestriction;
pub use permits::ChildPermit;
use permits::ChildPermits;
use pool::ReaderPool;
pub use pool::TextRoom;

/// Path of this program, valid even after an upgrade has replaced its file.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Number of documents that are read at the same time: in total, and per user.
const READING: (usize, usize) = (4, 1);
/// Number of documents that other programs process at the same time: in total, and per user.
const RUNNING: (usize, usize) = (2, 1);
/// Timeouts for a permit to read and for one to run a program.
const WAITING_TO_READ: Duration = Duration::from_secs(15);
const WAITING_TO_RUN: Duration = Duration::from_secs(60);
/// Maximum number of children that read texts for the search index, however many processors there are. Time limits for
/// a document there.
const MAX_TEXT_CHILDREN: usize = 4;
const SHORT_TEXT: Duration = Duration::from_secs(3);
const LONG_TEXT: Duration = Duration::from_secs(60);
/// Time limit for reading one document.
const READING_TIME: Duration = Duration::from_secs(10);
/// Limit on the memory of all processes of a program that runs in a directory.
const PROGRAM_MEMORY: u64 = 2 << 30;
/// Limit on the bytes of an answer.
const MAX_ANSWER: usize = 8 << 20;
/// Timeout for killed children to disappear when the server stops.
const ENDING_TIME: Duration = Duration::from_secs(1);

/// Starts children and limits their number. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    program: PathBuf,
    stopping: watch::Sender<bool>,
    reading: ChildPermits,
    running: ChildPermits,
    texts: Arc<ReaderPool>,
    slow_texts: Arc<ReaderPool>,
}

/// Time limit for reading a document for the search index. Documents that exceed the short one are read one by one with
/// the long one, so that they hold up no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// 3 seconds, in one of several children.
    Short,
    /// A minute, in the only child for such documents.
    Long,
}

impl Patience {
    /// The time limit.
    pub const fn time(self) -> Duration {
        match self {
            Self::Short => SHORT_TEXT,
            Self::Long => LONG_TEXT,
        }
    }
}

/// A document for a child to read. It lies in an anonymous memory file that is passed to the child.
pub struct Document(std::fs::File);

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

fn number(number: u64) -> OsString {
    OsString::from(number.to_string())
}

impl Document {
    /// Creates a document of these bytes.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let mut document = Self::new()?;
        document.write(bytes)?;
        Ok(document)
    }

    /// Creates an empty document.
    pub fn new() -> Result<Self> {
        let file = memfd_create("document", MemfdFlags::CLOEXEC).map_err(|error| cannot_start(&error.into()))?;
        Ok(Self(file.into()))
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes).map_err(|error| cannot_start(&error))
    }
}

impl Sandbox {
    /// A sandbox whose children are the running program.
    pub fn of_this_program() -> Self {
        Self::new(THIS_PROGRAM)
    }

    /// A sandbox whose children are `program`, which must support [`COMMAND`].
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        let children = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_TEXT_CHILDREN);
        Self(Arc::new(Inner {
            texts: ReaderPool::new(program.clone(), children, SHORT_TEXT),
            slow_texts: ReaderPool::new(program.clone(), 1, LONG_TEXT),
            program,
            stopping: watch::Sender::new(false),
            reading: ChildPermits::new(READING.0, READING.1),
            running: ChildPermits::new(RUNNING.0, RUNNING.1),
        }))
    }

    /// Waits for a permit of this user to read a document.
    ///
    /// # Errors
    /// `Unavailable` with code `busy` if no permit becomes free in time.
    pub async fn permit_to_read(&self, user: Id) -> Result<ChildPermit> {
        self.permit(&self.0.reading, user, WAITING_TO_READ).await
    }

    /// Waits for a permit of this user to process a document with another program.
    ///
    /// # Errors
    /// `Unavailable` with code `busy` if no permit becomes free in time.
    pub async fn permit_to_run(&self, user: Id) -> Result<ChildPermit> {
        self.permit(&self.0.running, user, WAITING_TO_RUN).await
    }

    async fn permit(&self, permits: &ChildPermits, user: Id, longest: Duration) -> Result<ChildPermit> {
        let mut stopping = self.0.stopping.subscribe();
        tokio::select! {
            // Shutdown has priority: once the server stops, no permit is granted even if one is free.
            biased;
            _ = stopping.wait_for(|stops| *stops) => Err(stops()),
            permit = permits.take(user, longest) => permit,
        }
    }

    /// Reads the text of a document in a child.
    ///
    /// # Errors
    /// Those of [`crate::extract::extract`]; `Invalid` with code `took_too_long` at the time limit, or with code
    /// `reader_failed` if the child fails on the document, for example for lack of memory; `Unavailable` if no child
    /// can be started, and while the server stops.
    pub async fn read(&self, permit: ChildPermit, format: Format, document: Document) -> Result<Extract> {
        let mut input = document.0;
        io::Seek::rewind(&mut input).map_err(|error| cannot_start(&error))?;
        let order = ChildCommand {
            program: self.0.program.clone(),
            words: vec![COMMAND.into(), inside::READ.into(), format.as_str().into()],
            input: Input::File(input),
            answer: MAX_ANSWER,
            time: READING_TIME,
            share: None,
        };
        let (outcome, _) = self.keep("read", order, permit).await?;
        match outcome.ended {
            ChildEnd::Well => inside::answer(&outcome.answer)?,
            ChildEnd::TooLong => Err(too_long(READING_TIME)),
            ChildEnd::Badly => Err(reader_failed()),
        }
    }

    /// Waits for room in memory for a document of this many bytes, whose text is to be read.
    ///
    /// # Errors
    /// `Unavailable` while the server stops.
    pub async fn text_room(&self, patience: Patience, bytes: u64) -> Result<TextRoom> {
        self.pool(patience).room(bytes).await
    }

    /// Reads the text of a document for the search index, in a child that has read others before. Waits for one.
    ///
    /// # Errors
    /// Those of [`crate::readers::read`], and those of [`Self::read`].
    pub async fn read_text(
        &self,
        patience: Patience,
        room: TextRoom,
        format: ReadableFormat,
        bytes: &[u8],
    ) -> Result<DocumentText> {
        let mut stopping = self.0.stopping.subscribe();
        tokio::select! {
            biased;
            _ = stopping.wait_for(|stops| *stops) => Err(stops()),
            read = self.pool(patience).read(room, format, bytes) => read,
        }
    }

    fn pool(&self, patience: Patience) -> &Arc<ReaderPool> {
        match patience {
            Patience::Short => &self.0.texts,
            Patience::Long => &self.0.slow_texts,
        }
    }

    /// Runs another program. Returns whether it ended in time, and `kept`, which is held until the child is gone. All
    /// its processes are killed when they use more than their share of disk or memory.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be started, and while the server stops.
    pub async fn run<K: Send + 'static>(&self, program: Program, kept: K) -> Result<(bool, K)> {
        let share = Share { place: program.place.clone(), disk: program.disk, memory: PROGRAM_MEMORY };
        let mut words = vec![COMMAND.into(), inside::RUN.into(), program.place.into_os_string()];
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
        Ok((outcome.ended != ChildEnd::TooLong, kept))
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
        let mut input = document.0;
        io::Seek::rewind(&mut input).map_err(|error| cannot_start(&error))?;
        let mut words = vec![COMMAND.into(), inside::RUN_PIPED.into(), number(piped.time.as_secs() + 2)];
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
            ChildEnd::TooLong => Some(too_long(piped.time)),
            ChildEnd::Badly if !is_cut => Some(reader_failed()),
            ChildEnd::Well | ChildEnd::Badly => None,
        };
        Ok((PipedOutput { bytes, is_cut, fault }, kept))
    }

    /// Starts a child to find out the restrictions that this system lacks.
    ///
    /// # Errors
    /// `Unavailable` if no child can be started. In that case no document can be read.
    pub async fn lacks(&self) -> Result<Vec<MissingRestriction>> {
        let order = ChildCommand {
            program: self.0.program.clone(),
            words: vec![COMMAND.into(), inside::PROBE.into()],
            input: Input::Life,
            answer: MAX_ANSWER,
            time: READING_TIME,
            share: None,
        };
        let (outcome, ()) = self.keep("probe", order, ()).await?;
        if outcome.ended != ChildEnd::Well {
            return Err(Error::unavailable("the program that reads documents does not start on this system"));
        }
        Ok(String::from_utf8_lossy(&outcome.answer).split_whitespace().filter_map(MissingRestriction::parse).collect())
    }

    /// Returns whether the server stops, so that no child answers any more.
    pub fn is_stopping(&self) -> bool {
        *self.0.stopping.borrow()
    }

    /// Kills all children, and waits a moment until those for previews are gone. No child is started afterwards.
    pub async fn end_all(&self) {
        self.0.stopping.send_replace(true);
        self.0.texts.end_all();
        self.0.slow_texts.end_all();
        let gone = async {
            self.0.reading.wait_for_all().await;
            self.0.running.wait_for_all().await;
        };
        if tokio::time::timeout(ENDING_TIME, gone).await.is_err() {
            tracing::warn!("child processes that read documents have not ended yet");
        }
    }

    /// Runs a child to its end. The supervising thread holds `kept` until the child is gone, even if the caller stops
    /// waiting.
    async fn keep<K: Send + 'static>(
        &self,
        task: &'static str,
        order: ChildCommand,
        kept: K,
    ) -> Result<(ChildOutcome, K)> {
        let mut stopping = self.0.stopping.subscribe();
        if *stopping.borrow() {
            return Err(stops());
        }
        // The child is killed when this end of the pipe is closed, for whatever reason.
        let (left, waits) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| cannot_start(&error.into()))?;
        let (tell, told) = oneshot::channel();
        let keep = move || {
            let begun = Instant::now();
            let outcome = keeper::supervise(order, &left);
            let result = match &outcome {
                Ok(outcome) => outcome.ended.as_str(),
                Err(_) => "not-started",
            };
            metrics::counter!("strongroom_sandbox_total", "task" => task, "result" => result).increment(1);
            metrics::histogram!("strongroom_sandbox_seconds", "task" => task).record(begun.elapsed().as_secs_f64());
            // Fails if the caller has stopped waiting.
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
        if outcome.ended == ChildEnd::Badly {
            tracing::info!(task, status = outcome.status, "a child process failed on a document");
        }
        Ok((outcome, kept))
    }
}
