//! Admits connections and requests within the limits of the server.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::Request;
use axum_server::accept::Accept;
use model::Result;
use tokio::net::TcpStream;
use tower::Service;

use super::concurrency::{ConcurrencyLimits, KeyedPermit, count_refusal, counted};
use super::origin::RequestOrigin;
use super::request;
use super::trust::Trust;

/// Counts a request among those of its address until its response was sent.
///
/// # Errors
/// Exhausted with code `too_many_requests` while too many are in flight.
pub fn admit(limits: &ConcurrencyLimits, request: &Request) -> Result<()> {
    let permit = RequestOrigin::of(request.extensions())
        .map(|request_origin| limits.address(request_origin.address))
        .transpose()?;
    request::set_limits(limits.clone(), permit.flatten());
    Ok(())
}

/// Wraps an acceptor. Connections beyond the limits are closed before any data is exchanged.
#[derive(Clone)]
pub struct LimitingAcceptor<A> {
    inner: A,
    limits: ConcurrencyLimits,
    trust: Trust,
}

impl<A> LimitingAcceptor<A> {
    /// Counts the connections of `inner`. Connections of trusted proxies, which carry many clients, are not counted by
    /// address.
    pub fn new(inner: A, limits: ConcurrencyLimits, trust: Trust) -> Self {
        Self { inner, limits, trust }
    }

    fn enter(&self, stream: &TcpStream) -> io::Result<Arc<Connected>> {
        let full = |limit| {
            count_refusal(limit);
            io::Error::other("too many connections")
        };
        let one = self.limits.connections.try_acquire(()).ok_or_else(|| full("connections"))?;
        let peer = stream.peer_addr()?.ip();
        let address = counted(peer).filter(|_| !self.trust.has(peer));
        let by_address = address.map(|address| self.limits.connections_by_address.try_acquire(address));
        let by_address = by_address.map(|permit| permit.ok_or_else(|| full("connections_per_address"))).transpose()?;
        Ok(Arc::new(Connected { _one: one, _by_address: by_address }))
    }
}

struct Connected {
    _one: KeyedPermit<()>,
    _by_address: Option<KeyedPermit<IpAddr>>,
}

/// The service of a connection, with the permits that the connection holds.
#[derive(Clone)]
pub struct AdmittedService<S> {
    service: S,
    _connected: Arc<Connected>,
}

impl<S: Service<R>, R> Service<R> for AdmittedService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.service.call(request)
    }
}

impl<A, S> Accept<TcpStream, S> for LimitingAcceptor<A>
where
    A: Accept<TcpStream, S>,
    A::Future: Send + 'static,
{
    type Stream = A::Stream;
    type Service = AdmittedService<A::Service>;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let entered = self.enter(&stream);
        let accepting = entered.map(|connected| (self.inner.accept(stream, service), connected));
        Box::pin(async move {
            let (accepting, connected) = accepting?;
            let (stream, service) = accepting.await?;
            Ok((stream, AdmittedService { service, _connected: connected }))
        })
    }
}
