//! Limits on how long a client may stall a response. A client that stops reading must not hold buffers, a connection
//! and an open BLOB for ever.
//!
//! On a connection of its own the kernel enforces the limit: the connection ends when bytes stay unacknowledged, or the
//! receive window stays closed, for that long. On a shared HTTP/2 connection a single stream may stall, so each
//! response is watched. A stalled one releases its resources. The connection ends when nothing on it moves, or when
//! more than a few responses stall ([`StallMonitor`]).

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use axum::Extension;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Version, header};
use axum::middleware::{AddExtension, Next};
use axum::response::Response;
use axum_server::accept::Accept;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tower::Layer;

use super::http2_stall::{MonitoredStream, StallMonitor};
use crate::server::fair_sending;
use crate::server::request::RequestContext;

/// Responses up to this many bytes hold no other resources, so nothing is released before their connection ends.
const SMALL: u64 = 64 * 1024;

/// Accepts connections that end when the client takes no sent data for the limit.
#[derive(Clone, Copy, Debug)]
pub struct StallAcceptor(pub Duration);

impl<S> Accept<TcpStream, S> for StallAcceptor {
    type Stream = MonitoredStream<TcpStream>;
    type Service = AddExtension<S, Arc<StallMonitor>>;
    type Future = Ready<io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let millis = u32::try_from(self.0.as_millis()).unwrap_or(u32::MAX);
        let limited = rustix::net::sockopt::set_tcp_user_timeout(&stream, millis).map_err(io::Error::from);
        let line = StallMonitor::new(self.0);
        let service = Extension(line.clone()).layer(service);
        ready(stream.set_nodelay(true).and(limited).map(|()| (MonitoredStream::new(stream, line), service)))
    }
}

/// Watches the responses on HTTP/2.
#[boxed]
pub async fn watch(State(limit): State<Duration>, request: Request, next: Next) -> Result<Response, Infallible> {
    let shared = request.version() == Version::HTTP_2;
    let line = request.extensions().get::<Arc<StallMonitor>>().filter(|_| shared).cloned();
    let mut response = next.run(request).await;
    let length = response.body().size_hint().exact();
    let small = length.is_some_and(|length| length <= SMALL);
    if small {
        fair_sending::answered_small();
    }
    let Some(line) = line.filter(|_| length != Some(0)) else { return Ok(response) };
    if let Some(length) = length {
        response.headers_mut().entry(header::CONTENT_LENGTH).or_insert(HeaderValue::from(length));
    }
    let context = response.extensions_mut().remove::<RequestContext>();
    Ok(response.map(|body| line.wrap_body(if small { body } else { watched(body, limit) }, context)))
}

/// A body that is dropped, and ends in an error, when its next piece is not polled for within the limit.
fn watched(body: Body, limit: Duration) -> Body {
    // The last message is `None`, so that a regular end can be told from an abort.
    let (pieces, taken) = mpsc::channel::<Option<Result<Bytes, axum::Error>>>(1);
    tokio::spawn(async move {
        let mut body = body.into_data_stream().map(Some).chain(stream::iter([None]));
        while let Some(piece) = body.next().await {
            if pieces.send_timeout(piece, limit).await.is_err() {
                return;
            }
        }
    });
    Body::from_stream(stream::unfold(Some(taken), |taken| async {
        let mut taken = taken?;
        match taken.recv().await {
            Some(Some(Ok(bytes))) => Some((Ok(bytes), Some(taken))),
            Some(Some(Err(error))) => Some((Err(error), None)),
            Some(None) => None,
            None => Some((Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut))), None)),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::options::STALL_LIMIT;

    const PIECE_TIME: Duration = Duration::from_secs(5);

    /// A body of this many pieces that holds `resource` while it lives.
    fn body(pieces: usize, resource: Arc<()>) -> Body {
        Body::from_stream(stream::unfold((0, resource), move |(at, resource)| async move {
            let piece = Ok::<_, io::Error>(Bytes::from_static(b"piece"));
            (at < pieces).then_some((piece, (at + 1, resource)))
        }))
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_takes_lets_go_of_what_it_holds() {
        let resource = Arc::new(());
        let mut taken = watched(body(100, Arc::clone(&resource)), STALL_LIMIT).into_data_stream();
        taken.next().await.unwrap().unwrap();
        // sleep: the clock is paused, no real time passes
        tokio::time::sleep(STALL_LIMIT * 2).await;
        assert_eq!(Arc::strong_count(&resource), 1);
        let mut rest = Vec::new();
        while let Some(piece) = taken.next().await {
            rest.push(piece);
        }
        assert!(rest.len() < 5, "{rest:?}");
        assert!(rest.last().unwrap().is_err(), "{rest:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_taken_slowly_arrives_whole() {
        let mut taken = watched(body(100, Arc::new(())), STALL_LIMIT).into_data_stream();
        let mut bytes = 0;
        while let Some(piece) = taken.next().await {
            bytes += piece.unwrap().len();
            // sleep: the clock is paused, no real time passes
            tokio::time::sleep(STALL_LIMIT - PIECE_TIME).await;
        }
        assert_eq!(bytes, 500);
    }
}
