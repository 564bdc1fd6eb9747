//! Owns a closure on its way to the thread that runs it, and its answer on the way back.
//!
//! What a closure returns travels with its type erased: so the engines are compiled once, and not again for each
//! operation of each caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use model::{Code, Error, Result};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::errors::closed;
use super::session::{Reader, Transaction};

/// What a closure returned.
pub(crate) type Returned = Box<dyn Any + Send>;

/// A closure that reads.
pub(crate) type ReadClosure = Box<dyn FnOnce(&mut Reader<'_>) -> Result<Returned> + Send>;

/// A closure that writes. It can be run again after a rollback.
pub(crate) type WriteClosure = Box<dyn FnMut(&mut Transaction<'_>) -> Result<Returned> + Send>;

/// Where the answer arrives.
pub(crate) type Answer = oneshot::Receiver<Result<Returned>>;

/// Erases the type of what a read returns.
pub(crate) fn erase_read<T: Send + 'static>(
    f: impl FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
) -> ReadClosure {
    Box::new(move |reader| f(reader).map(|value| Box::new(value) as Returned))
}

/// Erases the type of what a write returns.
pub(crate) fn erase_write<T: Send + 'static>(
    mut f: impl FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
) -> WriteClosure {
    Box::new(move |transaction| f(transaction).map(|value| Box::new(value) as Returned))
}

/// Gives back the type that was erased; the caller names the one that its own closure returned.
pub(crate) fn restore<T: 'static>(returned: Returned) -> Result<T> {
    returned.downcast().map(|value| *value).map_err(|_| closed())
}

/// A write that waits or runs.
pub(crate) struct Write {
    closure: WriteClosure,
    vital: bool,
    value: Option<Returned>,
    queued: Instant,
    answer: oneshot::Sender<Result<Returned>>,
}

/// Kinds of reads, by what they ask of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One statement.
    Single,
    /// A few, none of which may take long.
    Short,
    /// Any.
    Long,
}

/// A read that waits for a thread.
pub(crate) struct Read {
    closure: ReadClosure,
    kind: Kind,
    queued: Instant,
    answer: oneshot::Sender<Result<Returned>>,
}

/// Waits for the answer; a thread that went away without one is told as unavailable.
pub(crate) async fn answered(answer: Answer) -> Result<Returned> {
    answer.await.unwrap_or_else(|_| Err(closed()))
}

/// Runs work that waits for a connection as a task, which goes on while nobody polls its caller. Without a task, the
/// connection could be given to a caller that nobody polls, and nobody else could use it. Dropping the caller ends the
/// task.
pub(crate) async fn as_task<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let mut task = JoinSet::new();
    task.spawn(work);
    task.join_next().await.and_then(std::result::Result::ok).unwrap_or_else(|| Err(closed()))
}

/// Runs a closure of a caller; a panic in it becomes an error.
pub(crate) fn caught(run: impl FnOnce() -> Result<Returned>) -> Result<Returned> {
    // The state that the closure captured is dropped or run again only after a rollback; nothing of ours is shared.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic_text(panic.as_ref());
        tracing::error!(panic = text, "a transaction panicked and was rolled back");
        Err(Error::unavailable("the operation failed inside the server and nothing was changed; see the server's log")
            .with_code(Code::InternalError)
            .with_source(text.to_owned()))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("of an unknown kind")
}

impl Write {
    pub(crate) fn new(closure: WriteClosure, vital: bool) -> (Self, Answer) {
        let (answer, receiver) = oneshot::channel();
        (Self { closure, vital, value: None, queued: Instant::now(), answer }, receiver)
    }

    /// When it began to wait.
    pub(crate) fn queued(&self) -> Instant {
        self.queued
    }

    /// Whether it may use the room that is kept back for when the disk is full.
    pub(crate) fn is_vital(&self) -> bool {
        self.vital
    }

    /// Whether nobody waits for it any more and it need not be begun.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    /// Runs the closure and keeps what it returned. Catches panics.
    pub(crate) fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()> {
        self.value = None;
        let answer = caught(|| (self.closure)(transaction));
        self.value = Some(transaction.verdict(answer)?);
        Ok(())
    }

    /// Answers with what the last run returned, or with the error.
    pub(crate) fn answer(self, outcome: Result<()>) {
        // Nobody listens when the caller went away; the transaction stands all the same.
        let _ = self.answer.send(outcome.and_then(|()| self.value.ok_or_else(closed)));
    }
}

impl Read {
    pub(crate) fn new(closure: ReadClosure, kind: Kind) -> (Self, Answer) {
        let (answer, receiver) = oneshot::channel();
        (Self { closure, kind, queued: Instant::now(), answer }, receiver)
    }

    /// What it asks of the server.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// When it began to wait.
    pub(crate) fn queued(&self) -> Instant {
        self.queued
    }

    /// Whether nobody waits for it any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    /// Runs the closure and answers; tells whether it succeeded.
    pub(crate) fn run(self, reader: &mut Reader<'_>) -> bool {
        let answer = caught(|| (self.closure)(reader));
        let answer = reader.verdict(answer);
        let succeeded = answer.is_ok();
        let _ = self.answer.send(answer);
        succeeded
    }

    /// Answers without having run.
    pub(crate) fn refuse(self, error: Error) {
        let _ = self.answer.send(Err(error));
    }
}
