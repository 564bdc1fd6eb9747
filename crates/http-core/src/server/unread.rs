//! An answer that comes before the whole body was read. The client is told that its connection ends with it, for otherwise it sends its next
//! request on a connection that is being closed. And what it is still sending is taken and thrown away for a while: many clients look for an
//! answer only when they have sent everything, and a connection that is closed before takes the answer with it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::sync::watch;
use tokio::time::timeout;

/// Most bytes of a body nobody wants that are taken, and longest time for all of them and for the next of them.
const MOST: usize = 256 << 20;
const TIME: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(5);
/// A body up to this many bytes is probably here already: the answer waits this long for it, and the connection stays.
const SMALL: u64 = 64 << 10;
const MOMENT: Duration = Duration::from_millis(50);

/// Whether a body was read to its end.
pub struct Ending {
    ended: watch::Receiver<bool>,
    /// Whether the end may be waited for.
    near: bool,
}

/// Watches the body of a request; answers nothing for one that has none.
pub fn watch(request: Request) -> (Request, Option<Ending>) {
    if request.body().is_end_stream() {
        return (request, None);
    }
    // Who waits for leave to send has sent nothing, and to take the first bytes would give that leave.
    let sends = !request.headers().contains_key(header::EXPECT);
    let near = sends && request.body().size_hint().upper().is_some_and(|most| most <= SMALL);
    let (end, ended) = watch::channel(false);
    (request.map(|body| Body::new(Watched { body, end, sends })), Some(Ending { ended, near }))
}

impl Ending {
    /// Says in the answer that the connection is closed, unless the body was read to its end.
    pub async fn tell(&mut self, response: &mut Response) {
        if self.near && !*self.ended.borrow() {
            // Whatever comes of it is seen below.
            let _ = timeout(MOMENT, self.ended.wait_for(|ended| *ended)).await;
        }
        if !*self.ended.borrow() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

struct Watched {
    body: Body,
    end: watch::Sender<bool>,
    /// Whether the client is sending.
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
            runtime.spawn(timeout(TIME, discard(std::mem::take(&mut self.body), self.end.clone())));
        }
    }
}

/// Takes what is still coming, to its end or to the bounds.
async fn discard(mut body: Body, end: watch::Sender<bool>) {
    let mut taken = 0;
    while let Ok(frame) = timeout(PAUSE, body.frame()).await {
        let Some(frame) = frame else {
            end.send_replace(true);
            return;
        };
        taken += frame.as_ref().ok().and_then(Frame::data_ref).map_or(MOST, Bytes::len);
        if taken >= MOST {
            return;
        }
    }
}
