//! Watches streamed responses. One that cannot be sent to its end is logged with the reason. No other place can report
//! it, since the status was sent before; the client only sees its connection or stream end.

use std::error::Error as StdError;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::http::header;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use model::{Code, Error};

use super::request::RequestContext;

/// Watches the body of a response, unless all its bytes are available already.
pub fn watch(response: Response, route: &str, context: &RequestContext) -> Response {
    if response.body().is_end_stream() || response.body().size_hint().exact().is_some() {
        return response;
    }
    let announced = response.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse().ok());
    let (route, context) = (route.to_owned(), context.clone());
    response.map(|body| Body::new(Watched { body, announced, sent: 0, ended: false, route, context }))
}

struct Watched {
    body: Body,
    /// The length announced to the client.
    announced: Option<u64>,
    sent: u64,
    ended: bool,
    route: String,
    context: RequestContext,
}

impl Watched {
    fn log(&self, code: Code, reason: &str) {
        let code = code.as_str();
        let (route, sent, request_id) = (self.route.as_str(), self.sent, self.context.id());
        tracing::error!(target: "http", route, sent, request_id, code, "a response was aborted: {reason}");
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.ended |= matches!(polled, Poll::Ready(None | Some(Err(_))));
        match &polled {
            Poll::Ready(Some(Ok(frame))) => self.sent += frame.data_ref().map_or(0, |data| data.len() as u64),
            Poll::Ready(Some(Err(error))) => match of_the_farm(error) {
                Some(known) => self.log(known.code(), &known.report()),
                None => self.log(Code::Internal, &error.to_string()),
            },
            Poll::Ready(None) if self.announced.is_some_and(|length| length != self.sent) => {
                self.log(Code::Internal, "it ended before its announced length");
            }
            Poll::Ready(None) | Poll::Pending => {}
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
        if self.ended || self.announced == Some(self.sent) {
            return;
        }
        // Clients disconnect, or are given up because they take nothing for too long. Neither is an error of the
        // server.
        let (route, sent, request_id) = (self.route.as_str(), self.sent, self.context.id());
        tracing::debug!(target: "http", route, sent, request_id, "a client did not read a response to its end");
    }
}

/// Returns the farm's error behind an error of the framework.
fn of_the_farm<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Error> {
    let mut cause = Some(error);
    while let Some(found) = cause {
        if let Some(known) = found.downcast_ref() {
            return Some(known);
        }
        cause = found.source();
    }
    None
}
