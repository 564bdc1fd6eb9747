//! Owns a closure on its way to the thread that runs it, and its answer on the way back.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use model::{Error, Result};
use tokio::sync::oneshot;

use super::session::{Reader, Transaction};

/// A write that waits or runs. It can be run again after a rollback.
pub(crate) trait Write: Send {
    /// When it began to wait.
    fn queued(&self) -> Instant;
    /// Whether nobody waits for it any more and it need not be begun.
    fn is_abandoned(&self) -> bool;
    /// Runs the closure and keeps what it returned. Catches panics.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()>;
    /// Answers with what the last run returned, or with the error.
    fn answer(self: Box<Self>, outcome: Result<()>);
}

/// A read that waits for a thread.
pub(crate) trait Read: Send {
    /// When it began to wait.
    fn queued(&self) -> Instant;
    /// Whether nobody waits for it any more.
    fn is_abandoned(&self) -> bool;
    /// Runs the closure and answers; tells whether it succeeded.
    fn run(self: Box<Self>, reader: &mut Reader<'_>) -> bool;
    /// Answers without having run.
    fn refuse(self: Box<Self>, error: Error);
}

struct Job<T, F> {
    f: F,
    value: Option<T>,
    queued: Instant,
    answer: oneshot::Sender<Result<T>>,
}

/// Where the answer arrives.
pub(crate) type Answer<T> = oneshot::Receiver<Result<T>>;

pub(crate) fn write<T, F>(f: F) -> (Box<dyn Write>, Answer<T>)
where
    T: Send + 'static,
    F: FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
{
    let (answer, receiver) = oneshot::channel();
    (Box::new(Job { f, value: None, queued: Instant::now(), answer }), receiver)
}

pub(crate) fn read<T, F>(f: F) -> (Box<dyn Read>, Answer<T>)
where
    T: Send + 'static,
    F: FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
{
    let (answer, receiver) = oneshot::channel();
    (Box::new(Job { f, value: None, queued: Instant::now(), answer }), receiver)
}

/// Waits for the answer; a thread that went away without one is told as unavailable.
pub(crate) async fn answered<T>(answer: Answer<T>) -> Result<T> {
    answer.await.unwrap_or_else(|_| Err(closed()))
}

/// The error of everything that is asked of a database after it was closed.
pub(crate) fn closed() -> Error {
    Error::unavailable("the database was closed; the server is stopping").with_code("closed")
}

/// Runs a closure of a caller; a panic in it becomes an error.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    // The state that the closure captured is dropped or run again only after a rollback; nothing of ours is shared.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic_text(panic.as_ref());
        tracing::error!(panic = text, "a transaction panicked and was rolled back");
        Err(Error::unavailable("the operation failed inside the server and nothing was changed; see the server's log")
            .with_code("internal_error")
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

impl<T, F> Write for Job<T, F>
where
    T: Send,
    F: FnMut(&mut Transaction<'_>) -> Result<T> + Send,
{
    fn queued(&self) -> Instant {
        self.queued
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()> {
        self.value = None;
        let answer = caught(|| (self.f)(transaction));
        self.value = Some(transaction.verdict(answer)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        let Self { value, answer, .. } = *self;
        // Nobody listens when the caller went away; the transaction stands all the same.
        let _ = answer.send(outcome.and_then(|()| value.ok_or_else(closed)));
    }
}

impl<T, F> Read for Job<T, F>
where
    T: Send,
    F: FnOnce(&mut Reader<'_>) -> Result<T> + Send,
{
    fn queued(&self) -> Instant {
        self.queued
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn run(self: Box<Self>, reader: &mut Reader<'_>) -> bool {
        let job = *self;
        let answer = caught(|| (job.f)(reader));
        let answer = reader.verdict(answer);
        let succeeded = answer.is_ok();
        let _ = job.answer.send(answer);
        succeeded
    }

    fn refuse(self: Box<Self>, error: Error) {
        let _ = self.answer.send(Err(error));
    }
}
