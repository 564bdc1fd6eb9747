//! What the body of a request may be: declared for each route, and bounded in bytes, memory and time before anybody
//! knows who asks.
//!
//! Routes that take documents stream them, so that quotas and policies alone bound their size. Everything else is read
//! into memory by [`whole`] and nothing else. Knows no credential: a handler that reads before it knows who asks takes
//! [`UNKNOWN`] bytes at most.

use model::Code;
mod memory;
mod refusal;
mod turns;

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use model::{Error, Result};
use tokio::time::{Instant, Sleep, sleep_until};

use memory::{BodyMemory, Sender};
use refusal::Refused;
use turns::Turns;

pub use refusal::FIELDS;

/// Most bytes of one that is read before it is known who asks.
pub const UNKNOWN: usize = 64 << 10;
/// Routes that take documents, by method and pattern. A route that is not here takes [`FIELDS`] bytes at most.
pub const DOCUMENTS: [(&str, &str); 8] = [
    ("PUT", "/api/v1/content/{*path}"),
    ("PUT", "/api/v1/items/{id}/content"),
    ("POST", "/api/v1/items/{id}/documents"),
    ("POST", "/api/v1/uploads"),
    ("PATCH", "/api/v1/uploads/{id}"),
    ("POST", "/items/{id}/upload"),
    ("POST", "/items/{id}/replace"),
    ("PUT", "/dav/{*path}"),
];

/// Longest silence inside a body.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a client may make the server wait for a body, whatever its size; the rest of the time has to be earned with
/// bytes.
const GRACE: Duration = Duration::from_secs(30);

/// Bounds the body of a request; `rate` is the fewest bytes a second that are taken in the long run, 0 for any.
pub fn bound(request: Request, rate: u64) -> Request {
    if request.body().is_end_stream() {
        return request;
    }
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let left = if takes_documents(request.method().as_str(), route) { None } else { Some(FIELDS) };
    request.map(|body| Body::new(Bounded { body, left, rate, taken: 0, waited: Duration::ZERO, wait: None }))
}

/// Returns whether a route takes documents.
pub fn takes_documents(method: &str, route: &str) -> bool {
    DOCUMENTS.contains(&(method, route))
}

struct Bounded {
    body: Body,
    /// Bytes that may still come; none for no bound.
    left: Option<usize>,
    rate: u64,
    taken: u64,
    /// Time in which the server had to wait for the client, up to now.
    waited: Duration,
    wait: Option<Wait>,
}

/// A wait that goes on.
struct Wait {
    since: Instant,
    reason: Refused,
    end: Pin<Box<Sleep>>,
}

impl Bounded {
    /// Begins to wait for the next bytes, up to the end of silence or of the time that was earned.
    fn begin_wait(&self) -> Wait {
        let since = Instant::now();
        let earned =
            self.taken.checked_div(self.rate).map(|seconds| GRACE.saturating_add(Duration::from_secs(seconds)));
        let earned = earned.map(|earned| earned.saturating_sub(self.waited)).filter(|earned| *earned < SILENCE);
        let (limit, reason) = match earned {
            Some(earned) => (earned, Refused::TooSlow(self.rate)),
            None => (SILENCE, Refused::Silent),
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
                return Poll::Ready(Some(Err(axum::Error::new(Refused::TooLarge(FIELDS)))));
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

/// A body that was read to its end, with the room that it takes in memory.
#[derive(Debug)]
pub struct Whole {
    bytes: Bytes,
    _taken: Option<BodyMemory>,
}

impl std::ops::Deref for Whole {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Vec<u8>> for Whole {
    /// Bytes that came otherwise.
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), _taken: None }
    }
}

/// A body as bytes, at most so many.
///
/// # Errors
/// Exhausted with code `too_large`; Invalid with `body_timeout` or `incomplete_body`; Unavailable with `busy` when too
/// much is being read; Exhausted with `too_many_requests` when too much of the same person or address is.
pub async fn whole(mut body: Body, most: usize) -> Result<Whole> {
    // What is announced need not be waited for.
    if body.size_hint().lower() > most as u64 {
        return Err(Refused::TooLarge(most).error());
    }
    let (mut bytes, mut taken) = (BytesMut::new(), BodyMemory::nothing());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(Refused::TooLarge(most).error());
        }
        taken.grow(bytes.len() + data.len()).map_err(Refused::error)?;
        bytes.extend_from_slice(&data);
    }
    Ok(Whole { bytes: bytes.freeze(), _taken: Some(taken) })
}

/// Bytes that are read in less than a millisecond, whatever they say.
const SHORT: usize = 8 << 10;

/// Parses a body with `read`, a long one on a thread of its own, so that no other request waits meanwhile. The body
/// counts against the memory for bodies until then.
pub async fn apart<T: Send + 'static>(
    body: Whole,
    read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
) -> Result<T> {
    if body.len() <= SHORT {
        return read(&body);
    }
    aside(move || read(&body)).await?
}

/// Turns for work that keeps a processor busy; one processor is left to what needs none.
static TURNS: LazyLock<Arc<Turns>> = LazyLock::new(|| Turns::new(processors().saturating_sub(1).max(1)));

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does work that can take more than a millisecond on a thread of its own, as soon as there is a turn. Whoever makes
/// the request under way waits for one piece of work of each other person at most.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let turn = TURNS.take(Sender::current()).await;
    let turn = turn.ok_or_else(|| Error::unavailable("the program is being stopped"))?;
    // The turn ends with the work, even when nobody waits for its outcome any more.
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    let done = done.await;
    done.map_err(|error| Error::unavailable("the program was stopped while it worked on this").with_source(error))
}

/// What it means that a body ended with an error.
pub fn broken(error: axum::Error) -> Error {
    refused(&error).unwrap_or_else(|| {
        Error::invalid("the connection ended before the whole body came: send it again")
            .with_code(Code::IncompleteBody)
            .with_source(error)
    })
}

/// The refusal behind an error of a reader, if it is one.
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

/// Bytes of a form with files that its reader may take in without giving any out.
const AHEAD: usize = 1 << 20;

/// How far the reader of a form with files has run ahead of its handler. Such readers look for the end of a field's
/// head, or of what comes before the first field, in all that they have taken in.
#[derive(Clone, Default)]
pub struct Ahead(Arc<std::sync::atomic::AtomicUsize>);

impl Ahead {
    /// A body that hands out one piece at a time and ends in an error when [`Ahead::caught_up`] was not called for too
    /// many bytes.
    pub fn of(&self, body: Body) -> Body {
        Body::new(Paced { body, ahead: self.clone(), gave: false })
    }

    /// Notes that the reader has given something out.
    pub fn caught_up(&self) {
        self.0.store(0, std::sync::atomic::Ordering::Relaxed);
    }
}

struct Paced {
    body: Body,
    ahead: Ahead,
    /// Whether the last poll gave a piece; then the next one waits for its turn.
    gave: bool,
}

impl HttpBody for Paced {
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
