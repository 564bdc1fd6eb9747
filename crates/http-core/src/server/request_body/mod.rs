//! Limits on request bodies: declared for each route, and bounding bytes, memory and time before the sender is known.
//!
//! Routes that take documents stream them, so that only quotas and policies bound their size. Everything else is read
//! into memory, exclusively by [`whole`]. Knows no credentials: a handler that reads a body before it knows the sender
//! accepts at most [`MAX_ANONYMOUS_BODY`] bytes.

mod memory;
mod refusal;
mod turns;

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use model::{Code, Error, Result};
use tokio::time::{Instant, Sleep, sleep_until};

use memory::{BodyMemory, Sender};
use refusal::Refused;
use turns::FairSemaphore;

pub use refusal::FIELDS;

/// Limit on the bytes of a body that is read before the sender is known.
pub const MAX_ANONYMOUS_BODY: usize = 64 << 10;
/// Limit on the bytes of a body with a workbook.
pub const WORKBOOK: usize = repository::MAX_WORKBOOK_BYTES;
/// Routes that take workbooks, by method and pattern. They read them into memory. The first of them takes nothing else.
pub const WORKBOOKS: [(&str, &str); 2] = [("POST", "/api/v1/items/{id}/rows.xlsx"), ("POST", "/items/{id}/paste")];
/// Routes that take documents, by method and pattern. Any other route takes at most [`FIELDS`] bytes.
pub const DOCUMENTS: [(&str, &str); 11] = [
    ("PUT", "/api/v1/content/{*path}"),
    ("PUT", "/api/v1/items/{id}/content"),
    ("POST", "/api/v1/items/{id}/documents"),
    ("POST", "/api/v1/uploads"),
    ("PATCH", "/api/v1/uploads/{id}"),
    ("POST", "/items/{id}/upload"),
    ("POST", "/items/{id}/replace"),
    ("POST", "/s/{link}/{secret}/files"),
    ("PUT", "/dav/{*path}"),
    ("PUT", "/edit/{secret}/{name}"),
    ("POST", "/wopi/files/{id}/contents"),
];

/// Longest pause within a body.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time that a client may make the server wait for a body of any size. More time must be earned with bytes.
const GRACE: Duration = Duration::from_secs(30);

/// Bounds the body of a request. `rate` is the minimum long-term rate in bytes per second; 0 means no minimum.
pub fn bound(request: Request, rate: u64) -> Request {
    if request.body().is_end_stream() {
        return request;
    }
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let left = most(request.method().as_str(), route);
    request.map(|body| {
        let most = left.unwrap_or(usize::MAX);
        Body::new(Bounded { body, most, left, rate, taken: 0, waited: Duration::ZERO, wait: None })
    })
}

/// Returns the limit on the bytes that a route takes; `None` for documents.
fn most(method: &str, route: &str) -> Option<usize> {
    match () {
        () if takes_documents(method, route) => None,
        () if WORKBOOKS.contains(&(method, route)) => Some(WORKBOOK),
        () => Some(FIELDS),
    }
}

/// Returns whether a route takes documents.
pub fn takes_documents(method: &str, route: &str) -> bool {
    DOCUMENTS.contains(&(method, route))
}

struct Bounded {
    body: Body,
    /// Limit on the bytes.
    most: usize,
    /// Bytes that may still arrive; `None` for no limit.
    left: Option<usize>,
    rate: u64,
    taken: u64,
    /// Total time that the server has waited for the client so far.
    waited: Duration,
    wait: Option<Wait>,
}

/// A wait in progress.
struct Wait {
    since: Instant,
    reason: Refused,
    end: Pin<Box<Sleep>>,
}

impl Bounded {
    /// Begins to wait for the next bytes, until the longest pause or the earned time is over.
    fn begin_wait(&self) -> Wait {
        let since = Instant::now();
        let earned =
            self.taken.checked_div(self.rate).map(|seconds| GRACE.saturating_add(Duration::from_secs(seconds)));
        let earned = earned.map(|earned| earned.saturating_sub(self.waited)).filter(|earned| *earned < IDLE_TIMEOUT);
        let (limit, reason) = match earned {
            Some(earned) => (earned, Refused::TooSlow(self.rate)),
            None => (IDLE_TIMEOUT, Refused::Silent),
        };
        Wait { since, reason, end: Box::pin(sleep_until(since + limit)) }
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let frame = match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                let started = this.begin_wait();
                let wait = this.wait.get_or_insert(started);
                ready!(wait.end.as_mut().poll(cx));
                return Poll::Ready(Some(Err(axum::Error::new(wait.reason))));
            }
        };
        if let Some(wait) = this.wait.take() {
            this.waited += wait.since.elapsed();
        }
        let Some(Ok(data)) = frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref)) else {
            return Poll::Ready(frame);
        };
        let count = data.map_or(0, Bytes::len);
        this.taken += count as u64;
        if let Some(left) = &mut this.left {
            if count > *left {
                *left = 0;
                return Poll::Ready(Some(Err(axum::Error::new(Refused::TooLarge(this.most)))));
            }
            *left -= count;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that was read completely, with its memory reservation.
#[derive(Debug)]
pub struct BufferedBody {
    bytes: Bytes,
    _taken: Option<BodyMemory>,
}

impl std::ops::Deref for BufferedBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Vec<u8>> for BufferedBody {
    /// For bytes from another source than a request body.
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), _taken: None }
    }
}

/// Reads a body of at most `most` bytes into memory.
///
/// # Errors
/// Exhausted with code `too_large`; Invalid with `body_timeout` or `incomplete_body`; Unavailable with `busy` when the
/// memory for bodies is used up; Exhausted with `too_many_requests` when the quota of the user or address is.
#[boxed]
pub async fn read_to_end(mut body: Body, most: usize) -> Result<BufferedBody> {
    // An announced length is refused without waiting for the bytes.
    if body.size_hint().lower() > most as u64 {
        return Err(Refused::TooLarge(most).error());
    }
    let mut buffer = BodyBuffer::new(most);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        buffer.push(&data)?;
    }
    Ok(buffer.finish())
}

/// A body, or a field of a form, that is being read into memory.
#[derive(Debug)]
pub struct BodyBuffer {
    bytes: BytesMut,
    taken: BodyMemory,
    most: usize,
}

impl BodyBuffer {
    /// Creates a buffer for at most `most` bytes from the sender of the current request.
    pub fn new(most: usize) -> Self {
        Self { bytes: BytesMut::new(), taken: BodyMemory::nothing(), most }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Exhausted with code `too_large`; those of [`read_to_end`] when there is no memory.
    pub fn push(&mut self, data: &[u8]) -> Result<()> {
        if self.bytes.len() + data.len() > self.most {
            return Err(Refused::TooLarge(self.most).error());
        }
        self.taken.grow(self.bytes.len() + data.len()).map_err(Refused::error)?;
        self.bytes.extend_from_slice(data);
        Ok(())
    }

    /// Returns the bytes with their reservation.
    pub fn finish(self) -> BufferedBody {
        BufferedBody { bytes: self.bytes.freeze(), _taken: Some(self.taken) }
    }
}

/// Length that is parsed in less than a millisecond, whatever the content.
const SHORT: usize = 8 << 10;

/// Parses a body with `read`. A long body is parsed on another thread, so that no other request waits meanwhile. Until
/// then the body counts against the memory for bodies.
pub async fn parse_off_thread<T: Send + 'static>(
    body: BufferedBody,
    read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
) -> Result<T> {
    if body.len() <= SHORT {
        return read(&body);
    }
    run_cpu_bound(move || read(&body)).await?
}

/// Permits for CPU-bound work. One processor is left for everything else.
static TURNS: LazyLock<Arc<FairSemaphore>> =
    LazyLock::new(|| FairSemaphore::new(processors().saturating_sub(1).max(1)));

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs work that can take more than a millisecond on another thread, as soon as there is a permit. The sender of the
/// current request waits for at most one piece of work of each other sender.
pub async fn run_cpu_bound<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let turn = TURNS.take(Sender::current()).await;
    let turn = turn.ok_or_else(|| Error::unavailable("the server is shutting down"))?;
    // The permit is released when the work ends, even if no caller waits for the result any more.
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    let done = done.await;
    done.map_err(|error| Error::unavailable("the server was stopped during this request").with_source(error))
}

/// Returns the error for a body that ended with an error.
pub fn broken(error: axum::Error) -> Error {
    refused(&error).unwrap_or_else(|| {
        Error::invalid("the connection ended before the whole body had arrived: send it again")
            .with_code(Code::IncompleteBody)
            .with_source(error)
    })
}

/// Returns the refusal behind a reader's error, if there is one.
pub fn refused(error: &(dyn StdError + 'static)) -> Option<Error> {
    let mut cause = Some(error);
    while let Some(found) = cause {
        if let Some(refused) = found.downcast_ref::<Refused>() {
            return Some(refused.error());
        }
        cause = found.source();
    }
    None
}

/// Limit on the bytes that the reader of a multipart form may take in without returning any.
const AHEAD: usize = 1 << 20;

/// Tracks how far the reader of a multipart form has run ahead of its handler. Such readers search all the bytes that
/// they have taken in for the end of a field's header, or of the preamble before the first field.
#[derive(Clone, Default)]
pub struct ReadAheadLimit(Arc<std::sync::atomic::AtomicUsize>);

impl ReadAheadLimit {
    /// Wraps a body. It returns one piece at a time, and ends in an error when [`ReadAheadLimit::caught_up`] was not
    /// called for too many bytes.
    pub fn of(&self, body: Body) -> Body {
        Body::new(PacedBody { body, ahead: self.clone(), gave: false })
    }

    /// Records that the reader has returned something.
    pub fn caught_up(&self) {
        self.0.store(0, std::sync::atomic::Ordering::Relaxed);
    }
}

struct PacedBody {
    body: Body,
    ahead: ReadAheadLimit,
    /// True if the last poll returned a piece; the next poll then yields first.
    gave: bool,
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if std::mem::take(&mut self.gave) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let count = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()).map_or(0, Bytes::len);
        self.gave = count > 0;
        let ahead = self.ahead.0.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
        if ahead + count > AHEAD {
            return Poll::Ready(Some(Err(axum::Error::new(Refused::TooLarge(AHEAD)))));
        }
        Poll::Ready(frame)
    }
}

#[cfg(test)]
pub mod tests;
