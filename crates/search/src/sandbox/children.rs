//! Starts children and supervises them, and limits their number.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Error, Id, Result};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::{oneshot, watch};

use super::child::{self, COMMAND};
use super::document::Document;
use super::failure::{cannot_start, reader_failed, refused, stops, too_long};
use super::missing_restriction::MissingRestriction;
use super::permits::{ChildPermit, ChildPermits};
use super::pool::ReaderPool;
use super::read_limit::ReadLimit;
use super::supervisor::{self, ChildCommand, ChildEnd, ChildOutcome, Input};
use crate::extract::{Extract, Format, MAX_MEMBER, MemberContent};
use crate::sheets::Sheet;
use crate::sheets::wire::{self, Answer};

/// Path of this program, valid even after an upgrade has replaced its file.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Number of documents that are read at the same time: in total, and per user.
const READING: (usize, usize) = (4, 1);
/// Number of documents that other programs process at the same time: in total, and per user.
const RUNNING: (usize, usize) = (2, 1);
/// Timeouts for a permit to read and for one to run a program.
const WAITING_TO_READ: Duration = Duration::from_secs(15);
const WAITING_TO_RUN: Duration = Duration::from_secs(60);
/// Maximum number of children that read texts for the search index, however many processors there are.
const MAX_TEXT_CHILDREN: usize = 4;
/// Time limit for reading one document.
const READING_TIME: Duration = Duration::from_secs(10);
/// Limit on the bytes of an answer.
const MAX_ANSWER: usize = 8 << 20;
/// Limit on the bytes of an answer before those of a file.
const MAX_HEAD: usize = 4 << 10;
/// Timeout for killed children to disappear when the server stops.
const ENDING_TIME: Duration = Duration::from_secs(1);

/// Starts children and limits their number. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) program: PathBuf,
    pub(super) stopping: watch::Sender<bool>,
    reading: ChildPermits,
    running: ChildPermits,
    pub(super) texts: Arc<ReaderPool>,
    pub(super) slow_texts: Arc<ReaderPool>,
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
            texts: ReaderPool::new(program.clone(), children, ReadLimit::Short.time()),
            slow_texts: ReaderPool::new(program.clone(), 1, ReadLimit::Long.time()),
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
        let input = document.into_file()?;
        let order = ChildCommand {
            program: self.0.program.clone(),
            words: vec![COMMAND.into(), child::READ.into(), format.as_str().into()],
            input: Input::File(input),
            answer: MAX_ANSWER,
            time: READING_TIME,
            share: None,
        };
        let (outcome, _) = self.keep("read", order, permit).await?;
        match outcome.ended {
            ChildEnd::Done => child::answer(&outcome.answer)?,
            ChildEnd::Killed => Err(too_long(READING_TIME)),
            ChildEnd::Failed => Err(reader_failed()),
        }
    }

    /// Reads a member of an archive, or an attachment, in a child: the one at this position of its list.
    ///
    /// # Errors
    /// Those of [`crate::extract::member`], and those of [`Self::read`].
    pub async fn read_member(
        &self,
        permit: ChildPermit,
        format: Format,
        at: usize,
        document: Document,
    ) -> Result<MemberContent> {
        let order = ChildCommand {
            program: self.0.program.clone(),
            words: vec![COMMAND.into(), child::READ_MEMBER.into(), format.as_str().into(), at.to_string().into()],
            input: Input::File(document.into_file()?),
            answer: MAX_MEMBER as usize + MAX_HEAD,
            time: READING_TIME,
            share: None,
        };
        let (outcome, _) = self.keep("read-member", order, permit).await?;
        match outcome.ended {
            ChildEnd::Done => child::parse_member(outcome.answer),
            ChildEnd::Killed => Err(too_long(READING_TIME)),
            ChildEnd::Failed => Err(reader_failed()),
        }
    }

    /// Makes a picture smaller in a child: its sides have at most `most` pixels then. Returns it as PNG or JPEG.
    ///
    /// # Errors
    /// `Invalid` with code `not_readable` for what is no picture of a known format, and with code `too_large`; those
    /// of [`Self::read`] for a child that fails.
    pub async fn shrink(&self, permit: ChildPermit, most: u32, document: Document) -> Result<Vec<u8>> {
        let order = ChildCommand {
            program: self.0.program.clone(),
            words: vec![COMMAND.into(), child::SHRINK.into(), most.to_string().into()],
            input: Input::File(document.into_file()?),
            answer: MAX_ANSWER,
            time: READING_TIME,
            share: None,
        };
        let (outcome, _) = self.keep("shrink", order, permit).await?;
        match outcome.ended {
            ChildEnd::Done => child::parse_bytes(outcome.answer),
            ChildEnd::Killed => Err(too_long(READING_TIME)),
            ChildEnd::Failed => Err(reader_failed()),
        }
    }

    /// Reads the cells of a workbook in a child: those of the sheet with this name, or of the first one that is
    /// visible.
    ///
    /// # Errors
    /// Those of [`crate::sheets::read`], and those of [`Self::read`].
    pub async fn read_cells(&self, permit: ChildPermit, workbook: &[u8], sheet: Option<&str>) -> Result<Sheet> {
        let mut document = Document::new()?;
        document.write(&wire::head(sheet))?;
        document.write(workbook)?;
        let order = ChildCommand {
            program: self.0.program.clone(),
            words: vec![COMMAND.into(), child::READ_CELLS.into()],
            input: Input::File(document.into_file()?),
            answer: wire::MAX_ANSWER,
            time: READING_TIME,
            share: None,
        };
        let (outcome, _) = self.keep("read-cells", order, permit).await?;
        match outcome.ended {
            ChildEnd::Done => match wire::read_answer(&outcome.answer) {
                Some(Answer::Read(sheet)) => Ok(sheet),
                Some(Answer::Refused(code, why)) => Err(refused(&code, &why)),
                None => Err(reader_failed()),
            },
            ChildEnd::Killed => Err(too_long(READING_TIME)),
            ChildEnd::Failed => Err(reader_failed()),
        }
    }

    /// Starts a child to find out the restrictions that this system lacks.
    ///
    /// # Errors
    /// `Unavailable` if no child can be started. In that case no document can be read.
    pub async fn missing_restrictions(&self) -> Result<Vec<MissingRestriction>> {
        let order = ChildCommand {
            program: self.0.program.clone(),
            words: vec![COMMAND.into(), child::PROBE.into()],
            input: Input::Life,
            answer: MAX_ANSWER,
            time: READING_TIME,
            share: None,
        };
        let (outcome, ()) = self.keep("probe", order, ()).await?;
        if outcome.ended != ChildEnd::Done {
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
    pub(super) async fn keep<K: Send + 'static>(
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
            let outcome = supervisor::supervise(order, &left);
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
        if outcome.ended == ChildEnd::Failed {
            tracing::info!(task, status = outcome.status, "a child process failed on a document");
        }
        Ok((outcome, kept))
    }
}
