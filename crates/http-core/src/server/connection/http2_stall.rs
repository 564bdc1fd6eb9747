//! Data on one HTTP/2 connection that the client has not taken yet. hyper keeps a piece of a response until the client
//! has room for it, polls for no further piece meanwhile, and cannot be told to give up. Therefore the connection
//! itself tracks its responses, and ends.
//!
//! A response that is not taken keeps the permits of its request. Knows no route.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use futures_util::task::AtomicWaker;
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::server::request::RequestContext;

/// Maximum number of stalled responses on a connection where others make progress, such as downloads that the user
/// paused.
const PAUSED: usize = 4;
/// Maximum size of a piece in bytes. Each piece must be taken within the limit.
const MAX_PIECE: usize = 16 << 10;

/// An HTTP/2 connection and its responses.
#[derive(Debug)]
pub struct StallMonitor {
    limit: Duration,
    numbers: AtomicU64,
    waiting: Mutex<Waiting>,
    watched: AtomicBool,
    given_up: AtomicBool,
    reader: AtomicWaker,
}

#[derive(Debug)]
struct Waiting {
    /// Responses with pieces that are not taken: the number of pieces, and the time since which none was taken.
    answers: HashMap<u64, (usize, Instant)>,
    /// Time at which a piece of any response was last taken.
    moved: Instant,
}

impl StallMonitor {
    /// Creates a connection that ends when its client takes nothing for `limit`, or takes nothing of more than a few
    /// responses.
    pub fn new(limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            limit,
            numbers: AtomicU64::new(0),
            waiting: Mutex::new(Waiting { answers: HashMap::new(), moved: Instant::now() }),
            watched: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            reader: AtomicWaker::new(),
        })
    }

    /// Wraps the body of a response on this connection. `context` holds the permits of the request until the last byte
    /// was taken.
    pub fn wrap_body(self: Arc<Self>, body: Body, context: Option<RequestContext>) -> Body {
        if !self.watched.swap(true, Ordering::Relaxed) {
            tokio::spawn(watch(Arc::downgrade(&self), self.limit));
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let answer = Arc::new(Answer { line: self, number, _context: context });
        Body::new(Carried { body, rest: Bytes::new(), answer })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stalled(&self) -> bool {
        let waiting = self.waiting();
        let still = waiting.answers.values().filter(|(_, since)| since.elapsed() >= self.limit).count();
        still > PAUSED || still > 0 && waiting.moved.elapsed() >= self.limit
    }

    fn give_up(&self) {
        tracing::debug!(target: "http", "a connection is closed because its client reads nothing");
        self.given_up.store(true, Ordering::Relaxed);
        self.reader.wake();
    }

    fn check_alive(&self) -> io::Result<()> {
        if self.given_up.load(Ordering::Relaxed) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

async fn watch(line: Weak<StallMonitor>, limit: Duration) {
    loop {
        tokio::time::sleep(limit / 4).await;
        let Some(line) = line.upgrade() else { return };
        if line.is_stalled() {
            return line.give_up();
        }
    }
}

/// A response that is being sent, with its number on the connection.
struct Answer {
    line: Arc<StallMonitor>,
    number: u64,
    _context: Option<RequestContext>,
}

/// A piece of a response. It counts as taken when its last reference is dropped.
struct Piece {
    bytes: Bytes,
    answer: Arc<Answer>,
}

impl Piece {
    fn new(bytes: Bytes, answer: Arc<Answer>) -> Self {
        answer.line.waiting().answers.entry(answer.number).or_insert((0, Instant::now())).0 += 1;
        Self { bytes, answer }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let (number, now) = (self.answer.number, Instant::now());
        let mut waiting = self.answer.line.waiting();
        waiting.moved = now;
        if let Some((pieces, since)) = waiting.answers.get_mut(&number) {
            *pieces -= 1;
            *since = now;
            if *pieces == 0 {
                waiting.answers.remove(&number);
            }
        }
    }
}

struct Carried {
    body: Body,
    rest: Bytes,
    answer: Arc<Answer>,
}

impl HttpBody for Carried {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Ok(Err(trailers))) => return Poll::Ready(Some(Ok(trailers))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(MAX_PIECE);
        let piece = Piece::new(self.rest.split_to(length), self.answer.clone());
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// The stream of a connection. It fails once the connection was given up.
pub struct MonitoredStream<S> {
    stream: S,
    line: Arc<StallMonitor>,
}

impl<S> MonitoredStream<S> {
    /// Wraps the stream of this connection.
    pub fn new(stream: S, line: Arc<StallMonitor>) -> Self {
        Self { stream, line }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MonitoredStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.line.reader.register(cx.waker());
        self.line.check_alive()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MonitoredStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.line.check_alive()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.line.check_alive()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    async fn piece(body: &mut Body) -> Bytes {
        body.frame().await.unwrap().unwrap().into_data().unwrap()
    }

    /// Returns whether the connection still serves after this time.
    async fn serves_after(line: &StallMonitor, time: Duration) -> bool {
        // sleep: the clock is paused, no real time passes
        tokio::time::sleep(time).await;
        line.check_alive().is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_ends_whose_client_takes_nothing_of_a_small_answer() {
        let line = StallMonitor::new(LIMIT);
        let mut body = line.clone().wrap_body(Body::from(vec![7; MAX_PIECE + 1]), None);
        assert_eq!(body.size_hint().exact(), Some(MAX_PIECE as u64 + 1));
        let first = piece(&mut body).await;
        assert_eq!((first.len(), body.size_hint().exact(), body.is_end_stream()), (MAX_PIECE, Some(1), false));
        assert!(serves_after(&line, LIMIT / 2).await);
        drop(first);
        let last = piece(&mut body).await;
        assert!(body.is_end_stream());
        assert!(serves_after(&line, LIMIT - LIMIT / 4).await);
        assert!(!serves_after(&line, LIMIT).await);
        drop(last);
        assert!(line.waiting().answers.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_not_made_yet_is_waited_for() {
        let line = StallMonitor::new(LIMIT);
        let pieces = futures_util::stream::pending::<Result<Bytes, io::Error>>();
        let mut body = line.clone().wrap_body(Body::from_stream(pieces), None);
        let waited = tokio::time::timeout(LIMIT * 3, body.frame()).await;
        assert!(waited.is_err());
        assert!(line.check_alive().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_answers_may_stand_still_where_others_move() {
        let line = StallMonitor::new(LIMIT);
        let mut paused = Vec::new();
        for _ in 0..PAUSED {
            let mut body = line.clone().wrap_body(Body::from("paused"), None);
            paused.push(piece(&mut body).await);
        }
        for _ in 0..10 {
            drop(piece(&mut line.clone().wrap_body(Body::from("taken"), None)).await);
            assert!(serves_after(&line, LIMIT / 2).await);
        }
        paused.push(piece(&mut line.clone().wrap_body(Body::from("one too many"), None)).await);
        for _ in 0..3 {
            drop(piece(&mut line.clone().wrap_body(Body::from("taken"), None)).await);
            serves_after(&line, LIMIT / 2).await;
        }
        assert!(line.check_alive().is_err());
    }
}
