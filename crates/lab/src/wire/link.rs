//! One connection. It is driven by the task that waits for it instead of by a task of its own, which saves a task
//! switch for each message.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::client::conn::http1::{self, SendRequest};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{Fault, FaultKind, RequestBody, Target};

/// Limit on the buffer of a connection. The buffer is small at first, so that ten thousand connections do not need much
/// memory.
const MAX_BUFFER: usize = 256 * 1024;

trait Wire: Read + Write + Unpin {}
impl<T: Read + Write + Unpin> Wire for T {}

/// A connection to a target.
pub struct Connection {
    sender: SendRequest<RequestBody>,
    connection: Option<HttpConnection>,
    free_since: Instant,
}

enum HttpConnection {
    Plain(Box<http1::Connection<TokioIo<TcpStream>, RequestBody>>),
    Secure(Box<http1::Connection<Box<dyn Wire>, RequestBody>>),
}

impl HttpConnection {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let ended = match self {
            Self::Plain(connection) => Pin::new(connection.as_mut()).poll(context),
            Self::Secure(connection) => Pin::new(connection.as_mut()).poll(context),
        };
        // The task that waits for the response gets the error.
        ended.map(|_| ())
    }
}

impl Connection {
    /// Connects to a target.
    pub async fn open(target: &Target) -> Result<Self, Fault> {
        let failed = |error: &dyn std::fmt::Display| {
            Fault::new(FaultKind::Connect, format!("no connection to {}: {error}", target.url))
        };
        let stream = TcpStream::connect(&target.addresses[..]).await.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let mut builder = http1::Builder::new();
        builder.max_buf_size(MAX_BUFFER);
        let (sender, connection) = match &target.tls {
            None => {
                let made = builder.handshake(TokioIo::new(stream)).await;
                let (sender, connection) = made.map_err(|error| failed(&error))?;
                (sender, HttpConnection::Plain(Box::new(connection)))
            }
            Some((config, name)) => {
                let stream = TlsConnector::from(config.clone()).connect(name.clone(), stream).await;
                let stream = stream.map_err(|error| failed(&format!("{error}{}", hint(&error))))?;
                let wire: Box<dyn Wire> = Box::new(TokioIo::new(stream));
                let (sender, connection) = builder.handshake(wire).await.map_err(|error| failed(&error))?;
                (sender, HttpConnection::Secure(Box::new(connection)))
            }
        };
        Ok(Self { sender, connection: Some(connection), free_since: Instant::now() })
    }

    /// Returns whether another request can be sent. Notices that the server has closed the connection in the meantime.
    pub async fn is_usable(&mut self) -> bool {
        let mut asked = false;
        let sender = &mut self.sender;
        let connection = &mut self.connection;
        poll_fn(|context| {
            if drive(connection, context) || sender.is_closed() {
                return Poll::Ready(false);
            }
            match sender.poll_ready(context) {
                Poll::Ready(ready) => Poll::Ready(ready.is_ok()),
                // The end of the previous response may not have been processed yet.
                Poll::Pending if asked => Poll::Ready(false),
                Poll::Pending => {
                    asked = true;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Records that a response is complete.
    pub fn mark_idle(&mut self) {
        self.free_since = Instant::now();
    }

    /// Returns the time since the last response was complete.
    pub fn idle(&self) -> Duration {
        self.free_since.elapsed()
    }

    /// Waits for a future that makes progress only if the connection is driven.
    pub async fn wait<T>(&mut self, future: impl Future<Output = T>) -> T {
        wait(&mut self.connection, future).await
    }

    /// Sends a request and waits for the response head.
    pub async fn send(
        &mut self,
        request: hyper::Request<RequestBody>,
    ) -> hyper::Result<hyper::Response<hyper::body::Incoming>> {
        let answer = self.sender.send_request(request);
        wait(&mut self.connection, answer).await
    }
}

/// Returns the remedy for a TLS error: a server that sends something else, or nothing, may not speak TLS.
fn hint(error: &std::io::Error) -> &'static str {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let other = matches!(inner, Some(rustls::Error::InvalidMessage(_)));
    if other || error.kind() == std::io::ErrorKind::UnexpectedEof {
        ": if the server does not speak TLS, write http://"
    } else {
        ""
    }
}

/// Drives the connection. Returns true if it has ended.
fn drive(connection: &mut Option<HttpConnection>, context: &mut Context<'_>) -> bool {
    let ended = connection.as_mut().is_none_or(|driven| driven.poll(context).is_ready());
    if ended {
        *connection = None;
    }
    ended
}

async fn wait<T>(connection: &mut Option<HttpConnection>, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Poll::Ready(value);
        }
        drive(connection, context);
        future.as_mut().poll(context)
    })
    .await
}
