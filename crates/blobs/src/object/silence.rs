//! The distinction between a slow service and a silent one: by whether bytes move, not by the total duration.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use object_store::client::{HttpError, HttpRequestBody};
use tokio::time::{Instant, sleep_until};

/// Timeout without progress for a service that was silent the last time.
const SUSPECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Length limit of the pieces in which a body is handed over, so that the progress of a long one is visible.
const MAX_PIECE: usize = 64 << 10;

/// The flag that a service was silent at the last failed request. All clients of one store share it.
#[derive(Clone, Debug, Default)]
pub struct SilenceFlag(Arc<AtomicBool>);

impl SilenceFlag {
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }

    /// Returns `usual`, or less for a service that was silent.
    pub fn bound(&self, usual: Duration) -> Duration {
        if self.is_on() { usual.min(SUSPECT_TIMEOUT) } else { usual }
    }
}

/// The time at which a part of a request last moved.
#[derive(Clone)]
pub struct Progress(Arc<Mutex<Instant>>);

impl Progress {
    pub fn now() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when nothing has moved for `still`, or at `deadline` in any case.
    #[boxed]
    pub async fn ends(&self, still: Duration, deadline: Instant) {
        loop {
            let end = deadline.min(self.last() + still);
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

/// A request body that records when a part of it is taken.
pub struct TrackedBody {
    body: HttpRequestBody,
    rest: Bytes,
    movement: Progress,
}

impl TrackedBody {
    pub fn new(body: HttpRequestBody, movement: Progress) -> Self {
        Self { body, rest: Bytes::new(), movement }
    }
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        this.movement.note();
        if this.rest.is_empty() {
            match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) => this.rest = bytes,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                ended => return ended,
            }
        }
        let length = this.rest.len().min(MAX_PIECE);
        Poll::Ready(Some(Ok(Frame::data(this.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.rest.len() as u64;
        match self.body.size_hint().exact() {
            Some(exact) => SizeHint::with_exact(exact + left),
            None => SizeHint::default(),
        }
    }
}
