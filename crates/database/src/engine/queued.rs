//! Owns a closure on its way to the thread that runs it, and its result on the way back.
//!
//! The result travels with its type erased, so that the engines are compiled once and not again for each operation of
//! each caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use model::{Code, Error, Result};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::errors::closed;
use super::session::{Reader, Transaction};

/// The type-erased result of a closure.
pub(crate) type Returned = Box<dyn Any + Send>;

/// A closure that reads.
pub(crate) type ReadClosure = Box<dyn FnOnce(&mut Reader<'_>) -> Result<Returned> + Send>;

/// A closure that writes. It can be run again after a rollback.
pub(crate) type WriteClosure = Box<dyn FnMut(&mut Transaction<'_>) -> Result<Returned> + Send>;

/// The receiver of the result.
pub(crate) type Answer = oneshot::Receiver<Result<Returned>>;

/// Erases the result type of a read.
pub(crate) fn erase_read<T: Send + 'static>(
    f: impl FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
) -> ReadClosure {
    Box::new(move |reader| f(reader).map(|value| Box::new(value) as Returned))
}

/// Erases the result type of a write.
pub(crate) fn erase_write<T: Send + 'static>(
    mut f: impl FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
) -> WriteClosure {
    Box::new(move |transaction| f(transaction).map(|value| Box::new(value) as Returned))
}

/// Restores the erased type. The caller names the result type of its own closure.
pub(crate) fn restore<T: 'static>(returned: Returned) -> Result<T> {
    returned.downcast().map(|value| *value).map_err(|_| closed())
}

/// A write that is queued or running.
pub(crate) struct Write {
    closure: WriteClosure,
    vital: bool,
    value: Option<Returned>,
    queued: Instant,
    answer: oneshot::Sender<Result<Returned>>,
}

/// Kinds of reads, by the load that they put on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadDuration {
    /// One statement.
    Single,
    /// A few statements, none of which may take long.
    Short,
    /// Any statements.
    Long,
}

/// A read that waits for a thread.
pub(crate) struct Read {
    closure: ReadClosure,
    duration: ReadDuration,
    queued: Instant,
    answer: oneshot::Sender<Result<Returned>>,
}

/// Waits for the result. If the thread ended without one, the result is an `Unavailable` error.
pub(crate) async fn answered(answer: Answer) -> Result<Returned> {
    answer.await.unwrap_or_else(|_| Err(closed()))
}

/// Runs work that waits for a connection as a task of its own, which proceeds even while its caller is not polled.
/// Otherwise a connection could be assigned to a caller that is not polled, and be unusable for all others. Dropping
/// the caller aborts the task.
pub(crate) async fn as_task<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let mut task = JoinSet::new();
    task.spawn(work);
    task.join_next().await.and_then(std::result::Result::ok).unwrap_or_else(|| Err(closed()))
}

/// Runs a caller's closure; a panic in it becomes an error.
pub(crate) fn caught(run: impl FnOnce() -> Result<Returned>) -> Result<Returned> {
    // Captured state is dropped, or used again only after a rollback. No state of this module is shared with the
    // closure.
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
        .unwrap_or("of an unknown duration")
}

impl Write {
    pub(crate) fn new(closure: WriteClosure, vital: bool) -> (Self, Answer) {
        let (answer, receiver) = oneshot::channel();
        (Self { closure, vital, value: None, queued: Instant::now(), answer }, receiver)
    }

    /// Time when it was queued.
    pub(crate) fn queued(&self) -> Instant {
        self.queued
    }

    /// Returns whether the transaction may use the reserved space when the disk is full.
    pub(crate) fn is_vital(&self) -> bool {
        self.vital
    }

    /// Returns whether the caller has stopped waiting, so that the transaction need not begin.
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

    /// Sends the result of the last run, or the error, to the caller.
    pub(crate) fn answer(self, outcome: Result<()>) {
        // Fails if the caller has stopped waiting. The transaction stays committed all the same.
        let _ = self.answer.send(outcome.and_then(|()| self.value.ok_or_else(closed)));
    }
}

impl Read {
    pub(crate) fn new(closure: ReadClosure, duration: ReadDuration) -> (Self, Answer) {
        let (answer, receiver) = oneshot::channel();
        (Self { closure, duration, queued: Instant::now(), answer }, receiver)
    }

    /// The kind of the read.
    pub(crate) fn duration(&self) -> ReadDuration {
        self.duration
    }

    /// Time when it was queued.
    pub(crate) fn queued(&self) -> Instant {
        self.queued
    }

    /// Returns whether the caller has stopped waiting.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    /// Runs the closure and sends the result. Returns whether it succeeded.
    pub(crate) fn run(self, reader: &mut Reader<'_>) -> bool {
        let answer = caught(|| (self.closure)(reader));
        let answer = reader.verdict(answer);
        let succeeded = answer.is_ok();
        let _ = self.answer.send(answer);
        succeeded
    }

    /// Sends an error without running the closure.
    pub(crate) fn refuse(self, error: Error) {
        let _ = self.answer.send(Err(error));
    }
}
