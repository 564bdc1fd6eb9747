//! Telling a client that its connection ends with the answer, when the answer came before the whole body was read: otherwise it sends its
//! next request on a connection that is being closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

/// Whether a body was read to its end.
#[derive(Clone)]
pub struct Ending(Option<Arc<AtomicBool>>);

/// Watches the body of a request that has one.
pub fn watch(request: Request) -> (Request, Ending) {
    if request.body().is_end_stream() {
        return (request, Ending(None));
    }
    let ended = Arc::new(AtomicBool::new(false));
    let watched = ended.clone();
    (request.map(|body| Body::new(Watched { body, ended: watched })), Ending(Some(ended)))
}

impl Ending {
    /// Says in the answer that the connection is closed, unless the body was read to its end.
    pub fn tell(&self, response: &mut Response) {
        if self.0.as_ref().is_some_and(|ended| !ended.load(Ordering::Relaxed)) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

struct Watched {
    body: Body,
    ended: Arc<AtomicBool>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.ended.store(true, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
