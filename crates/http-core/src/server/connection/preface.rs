//! Limit on the time in which a new connection must show its HTTP version.
//!
//! hyper distinguishes HTTP/1 from HTTP/2 by the first bytes and waits for them without a limit of its own. Without
//! this guard a client could hold connections open for ever by sending nothing, or a single letter.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum_server::accept::Accept;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Length of the HTTP/2 preface. After this many bytes hyper knows the version and its own timeouts apply.
const PREFACE: usize = 24;

/// Wraps an acceptor. The streams that it accepts must deliver their first bytes in time.
#[derive(Clone, Debug)]
pub struct PrefaceGuard<A> {
    inner: A,
    limit: Duration,
}

impl<A> PrefaceGuard<A> {
    /// Guards the connections of `inner`. The limit starts after any TLS handshake.
    pub fn new(inner: A, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl<A, I, S> Accept<I, S> for PrefaceGuard<A>
where
    A: Accept<I, S>,
    A::Future: Send + 'static,
{
    type Stream = Guarded<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let (accepting, limit) = (self.inner.accept(stream, service), self.limit);
        Box::pin(async move {
            let (stream, service) = accepting.await?;
            Ok((Guarded { stream, left: PREFACE, deadline: Some(Box::pin(sleep(limit))) }, service))
        })
    }
}

/// A stream that fails with `TimedOut` when its first bytes do not arrive.
pub struct Guarded<S> {
    stream: S,
    left: usize,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let this = &mut *self;
        let Some(deadline) = &mut this.deadline else { return Pin::new(&mut this.stream).poll_read(cx, buf) };
        match Pin::new(&mut this.stream).poll_read(cx, buf) {
            Poll::Ready(result) => {
                this.left = this.left.saturating_sub(buf.filled().len() - before);
                if this.left == 0 {
                    this.deadline = None;
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(deadline.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
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
    use super::*;
    use axum_server::accept::DefaultAcceptor;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    async fn guarded(limit: Duration) -> (DuplexStream, Guarded<DuplexStream>) {
        let (client, server) = tokio::io::duplex(1024);
        let (stream, ()) = PrefaceGuard::new(DefaultAcceptor, limit).accept(server, ()).await.unwrap();
        (client, stream)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_says_too_little_is_cut() {
        let (mut client, mut server) = guarded(Duration::from_secs(30)).await;
        client.write_all(b"P").await.unwrap();
        let mut bytes = Vec::new();
        let error = server.read_to_end(&mut bytes).await.unwrap_err();
        assert_eq!((error.kind(), bytes.as_slice()), (io::ErrorKind::TimedOut, b"P".as_slice()));
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_preface_the_connection_may_be_quiet() {
        let (mut client, mut server) = guarded(Duration::from_secs(30)).await;
        client.write_all(&[b'x'; PREFACE]).await.unwrap();
        let mut bytes = [0; PREFACE];
        server.read_exact(&mut bytes).await.unwrap();
        // sleep: the clock is paused, no real time passes
        tokio::time::sleep(Duration::from_secs(300)).await;
        client.write_all(b"more").await.unwrap();
        server.read_exact(&mut bytes[..4]).await.unwrap();
    }
}
