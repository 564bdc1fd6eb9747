//! Warm children that read the texts of many documents one after the other, so that a small document does not cost the
//! start of a process.
//!
//! A child that fails or takes too long is killed, and charged to the document that it held. If it failed after it had
//! read others, the document is tried once more in a fresh child, since it might suffer from what they left behind.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use model::Result;
use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::child::{COMMAND, READ_TEXTS};
use super::failure::{cannot_start, reader_failed, stops, too_long};
use super::protocol::{self, Answer, READY};
use crate::readers::{DocumentText, MAX_DOCUMENT_BYTES, ReadableFormat};

/// Time limit for a child to start.
const STARTING: Duration = Duration::from_secs(20);
/// Limit on the bytes of all documents that are being read or wait for a child, in units that a semaphore can count.
const MAX_WAITING: u64 = MAX_DOCUMENT_BYTES;
const UNIT: u64 = 1_024;
/// Time for a child that failed to end.
const ENDING: Duration = Duration::from_secs(1);
/// Time after which an idle child is ended, and how often idle children are checked.
const MAX_IDLE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_secs(20);

/// Warm children with the same time limit.
pub struct ReaderPool {
    program: PathBuf,
    /// Time limit for a document.
    time: Duration,
    /// Units of memory for documents.
    room: Arc<Semaphore>,
    /// A permit for each child that may run.
    permits: Semaphore,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    children: Vec<(WarmChild, Instant)>,
    /// Set once a task ends idle children.
    is_watched: bool,
}

/// A child that waits for a document. It is killed when dropped.
struct WarmChild {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// Set until it has read a document.
    is_fresh: bool,
}

/// The reason why a child returned no answer.
enum Failure {
    /// It ended by itself.
    Ended(String),
    /// It was killed by somebody else, such as a system without memory.
    Killed,
    TooLong,
}

/// Room in memory for a document that is to be read.
pub struct TextRoom {
    _units: OwnedSemaphorePermit,
}

impl ReaderPool {
    /// A pool of at most `count` children of `program`, with this time limit for a document.
    pub fn new(program: PathBuf, count: usize, time: Duration) -> Arc<Self> {
        let room = Arc::new(Semaphore::new((MAX_WAITING / UNIT) as usize));
        Arc::new(Self { program, time, room, permits: Semaphore::new(count), idle: Mutex::default() })
    }

    /// Waits for room for a document of this many bytes.
    pub async fn room(&self, bytes: u64) -> Result<TextRoom> {
        let units = u32::try_from(bytes.min(MAX_WAITING).div_ceil(UNIT)).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(units).await;
        room.map(|units| TextRoom { _units: units }).map_err(|_| stops())
    }

    /// Reads the text of a document.
    pub async fn read(self: &Arc<Self>, _room: TextRoom, format: ReadableFormat, bytes: &[u8]) -> Result<DocumentText> {
        let _permit = self.permits.acquire().await.map_err(|_| stops())?;
        let begun = Instant::now();
        let mut is_second_try = false;
        let (read, result) = loop {
            let idle = if is_second_try { None } else { self.take() };
            let mut child = match idle {
                Some(child) => child,
                None => WarmChild::start(&self.program).await.map_err(|error| cannot_start(&error))?,
            };
            match child.read(format, bytes, self.time).await {
                Ok(answer) => {
                    if !answer.is_last {
                        child.is_fresh = false;
                        self.put_back(child);
                    }
                    break (answer.read, "done");
                }
                Err(Failure::TooLong) => break (Err(too_long(self.time)), "killed"),
                Err(Failure::Killed | Failure::Ended(_)) if !child.is_fresh => is_second_try = true,
                Err(Failure::Killed) => {
                    let error = std::io::Error::other("the child process was killed");
                    break (Err(cannot_start(&error)), "failed");
                }
                Err(Failure::Ended(status)) => {
                    tracing::info!(task = "text", status, "a child process failed on a document");
                    break (Err(reader_failed()), "failed");
                }
            }
        };
        metrics::counter!("strongroom_sandbox_total", "task" => "text", "result" => result).increment(1);
        metrics::histogram!("strongroom_sandbox_seconds", "task" => "text").record(begun.elapsed().as_secs_f64());
        read
    }

    /// Kills the idle children. Others end with their readers.
    pub fn end_all(&self) {
        self.room.close();
        self.permits.close();
        self.idle().children.clear();
    }

    fn take(&self) -> Option<WarmChild> {
        self.idle().children.pop().map(|(child, _)| child)
    }

    fn put_back(self: &Arc<Self>, child: WarmChild) {
        if self.permits.is_closed() {
            return;
        }
        let mut idle = self.idle();
        idle.children.push((child, Instant::now()));
        if !std::mem::replace(&mut idle.is_watched, true) {
            tokio::spawn(watch(Arc::downgrade(self)));
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends children that are idle for long, until none is left.
async fn watch(pool: Weak<ReaderPool>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = pool.idle();
        idle.children.retain(|(_, since)| since.elapsed() < MAX_IDLE);
        if idle.children.is_empty() {
            idle.is_watched = false;
            return;
        }
    }
}

impl WarmChild {
    async fn start(program: &PathBuf) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args([COMMAND, READ_TEXTS]).env_clear().current_dir("/").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the child process has no pipes"));
        };
        let mut child = Self { child, input, output, is_fresh: true };
        match tokio::time::timeout(STARTING, child.output.read_u8()).await {
            Ok(Ok(READY)) => Ok(child),
            _ => Err(io::Error::other("the program that reads documents does not start")),
        }
    }

    async fn read(
        &mut self,
        format: ReadableFormat,
        bytes: &[u8],
        time: Duration,
    ) -> std::result::Result<Answer, Failure> {
        let (input, output) = (&mut self.input, &mut self.output);
        let exchange = async {
            protocol::send_document(input, format, bytes).await?;
            protocol::receive_answer(output).await
        };
        match tokio::time::timeout(time, exchange).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.end(&error).await),
            Err(_) => Err(Failure::TooLong),
        }
    }

    /// Returns why the child failed.
    async fn end(&mut self, error: &io::Error) -> Failure {
        // A child that closed its pipes ends, or has ended.
        let ended = tokio::time::timeout(ENDING, self.child.wait()).await;
        let Ok(ended) = ended else { return Failure::Ended(error.to_string()) };
        match ended {
            Ok(status) if status.signal() == Some(Signal::KILL.as_raw()) => Failure::Killed,
            Ok(status) => Failure::Ended(format!("{status}, {error}")),
            Err(error) => Failure::Ended(error.to_string()),
        }
    }
}
