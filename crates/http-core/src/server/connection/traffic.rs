//! Counts connections and their bytes on the wire, below TLS.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum_server::accept::Accept;
use metrics::{Counter, Gauge, counter, gauge};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::figures::names::{CONNECTIONS, RECEIVED, SENT};

/// Wraps an acceptor and counts the bytes of the streams that it accepts.
#[derive(Clone)]
pub struct CountingAcceptor<A> {
    inner: A,
    metrics: Metrics,
}

#[derive(Clone)]
struct Metrics {
    connections: Gauge,
    received: Counter,
    sent: Counter,
}

impl<A> CountingAcceptor<A> {
    /// Counts the connections of `inner`.
    pub fn new(inner: A) -> Self {
        let metrics = Metrics { connections: gauge!(CONNECTIONS), received: counter!(RECEIVED), sent: counter!(SENT) };
        Self { inner, metrics }
    }
}

impl<A, I, S> Accept<I, S> for CountingAcceptor<A>
where
    A: Accept<I, S>,
    A::Future: Send + 'static,
{
    type Stream = Counted<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let (accepting, metrics) = (self.inner.accept(stream, service), self.metrics.clone());
        Box::pin(async move {
            let (stream, service) = accepting.await?;
            metrics.connections.increment(1);
            Ok((Counted { stream, metrics }, service))
        })
    }
}

/// A stream whose bytes are counted, and which counts as a connection while it lives.
pub struct Counted<S> {
    stream: S,
    metrics: Metrics,
}

impl<S> Counted<S> {
    fn sent(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = &outcome {
            self.metrics.sent.increment(*count as u64);
        }
        outcome
    }
}

impl<S> Drop for Counted<S> {
    fn drop(&mut self) {
        self.metrics.connections.decrement(1);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.metrics.received.increment((buf.filled().len() - before) as u64);
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.sent(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.sent(outcome)
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
    use axum_server::accept::DefaultAcceptor;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::figures;

    /// Reads a value from the recorder of this process, to which other tests add as well.
    fn value(name: &str) -> f64 {
        let text = figures::recorder().unwrap().render();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        line.unwrap_or_default()
    }

    #[tokio::test]
    async fn what_goes_through_a_connection_is_counted_both_ways() {
        figures::record_metrics();
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let (mut server, ()) = CountingAcceptor::new(DefaultAcceptor).accept(server, ()).await.unwrap();
        let (received, sent) = (value(RECEIVED), value(SENT));
        assert!(value(CONNECTIONS) >= 1.0);
        client.write_all(&[7; 30_000]).await.unwrap();
        server.read_exact(&mut [0; 30_000]).await.unwrap();
        server.write_all(&[7; 50_000]).await.unwrap();
        client.read_exact(&mut [0; 50_000]).await.unwrap();
        assert!(value(RECEIVED) - received >= 30_000.0);
        assert!(value(SENT) - sent >= 50_000.0);
    }
}
