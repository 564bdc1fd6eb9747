//! Responses that are sent before the whole request body was read. The response announces that the connection closes;
//! otherwise the client would send its next request on a closing connection. The rest of the body is read and discarded
//! for a while: many clients look for a response only after they have sent everything, and a connection that closes
//! earlier loses the response.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::sync::watch;
use tokio::time::timeout;

/// Limits on discarding an unwanted body: total bytes, total time, and time until the next bytes.
const MAX_DISCARDED: usize = 256 << 20;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(30);
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Body size up to which the rest has probably arrived already. The response waits this long for it, and the connection
/// stays open.
const SMALL: u64 = 64 << 10;
const SMALL_BODY_WAIT: Duration = Duration::from_millis(50);

/// Tracks whether a body was read to its end.
pub struct BodyEnd {
    ended: watch::Receiver<bool>,
    /// True if waiting for the end is worthwhile.
    near: bool,
}

/// Watches the body of a request. Returns `None` for a request without a body.
pub fn watch(request: Request) -> (Request, Option<BodyEnd>) {
    if request.body().is_end_stream() {
        return (request, None);
    }
    // A client that waits for `100 Continue` has sent nothing, and reading the first bytes would send it.
    let sends = !request.headers().contains_key(header::EXPECT);
    let near = sends && request.body().size_hint().upper().is_some_and(|most| most <= SMALL);
    let (end, ended) = watch::channel(false);
    (request.map(|body| Body::new(Watched { body, end, sends })), Some(BodyEnd { ended, near }))
}

impl BodyEnd {
    /// Announces in the response that the connection closes, unless the body was read to its end.
    #[boxed]
    pub async fn announce_close(&mut self, response: &mut Response) {
        if self.near && !*self.ended.borrow() {
            // The outcome is checked below.
            let _ = timeout(SMALL_BODY_WAIT, self.ended.wait_for(|ended| *ended)).await;
        }
        if !*self.ended.borrow() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

struct Watched {
    body: Body,
    end: watch::Sender<bool>,
    /// True if the client is sending.
    sends: bool,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.sends = true;
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.end.send_replace(true);
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

impl Drop for Watched {
    fn drop(&mut self) {
        let ended = *self.end.borrow();
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && self.sends
            && !ended
        {
            runtime.spawn(timeout(DISCARD_TIMEOUT, discard(std::mem::take(&mut self.body), self.end.clone())));
        }
    }
}

/// Reads and discards the rest of a body, up to its end or the limits.
async fn discard(mut body: Body, end: watch::Sender<bool>) {
    let mut taken = 0;
    while let Ok(frame) = timeout(IDLE_TIMEOUT, body.frame()).await {
        let Some(frame) = frame else {
            end.send_replace(true);
            return;
        };
        taken += frame.as_ref().ok().and_then(Frame::data_ref).map_or(MAX_DISCARDED, Bytes::len);
        if taken >= MAX_DISCARDED {
            return;
        }
    }
}
