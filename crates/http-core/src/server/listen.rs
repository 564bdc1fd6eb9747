//! Listening, timeouts and graceful stop. Knows sockets and hyper; knows no route.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsAcceptor;
use futures_util::future::BoxFuture;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use model::{Error, Result};

use super::admission::LimitingAcceptor;
use super::connection::preface::PrefaceGuard;
use super::connection::proxy::ProxyAcceptor;
use super::connection::stall::{self, StallAcceptor};
use super::connection::tls::ServedCertificate;
use super::connection::traffic::CountingAcceptor;
use super::edge::MAX_HEAD;
use super::options::Options;
use super::state::AppState;
use crate::figures;

/// Longest wait for the header of a request, and longest idle time of a kept-alive connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval at which samples of the metrics are folded into their histograms.
const UPKEEP: Duration = Duration::from_secs(5);
/// Limit on the bytes that an HTTP/1.1 connection reads ahead: room for the largest header. A client that keeps sending
/// after the server stopped reading fills them.
const MAX_READ_AHEAD: usize = 2 * MAX_HEAD;
/// Maximum number of requests in flight on one HTTP/2 connection.
const STREAMS: u32 = 128;

/// Binds the configured address, so that no other process can take it. Clients that connect wait for [`serve`].
///
/// # Errors
/// Unavailable when another program has the address, or this machine does not have it.
pub fn bind(options: &Options) -> Result<TcpListener> {
    let failed = |error| cannot_listen(options.listen, error);
    let listener = TcpListener::bind(options.listen).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Serves `app` until `shutdown` resolves, then finishes the requests in flight within `options.grace`. `tidying` runs
/// alongside and is aborted at the end.
///
/// `ready` is called once with the listening address, before the first connection is accepted.
pub fn run(
    (state, app): (AppState, Router),
    tidying: BoxFuture<'static, ()>,
    listener: TcpListener,
    options: Options,
    ready: Box<dyn FnOnce(SocketAddr) + Send>,
    shutdown: BoxFuture<'static, ()>,
) -> BoxFuture<'static, Result<()>> {
    Box::pin(async move {
        let trust = options.trust.clone();
        let address = listener.local_addr().map_err(|e| cannot_listen(options.listen, e))?;
        let certificate = options.tls.clone().map(ServedCertificate::read).transpose()?;
        let tls = certificate.as_ref().map(ServedCertificate::config);
        let renewing = certificate.map(|certificate| tokio::spawn(certificate.keep_fresh()));
        let handle = Handle::new();
        let waiter = tokio::spawn(end_on(shutdown, handle.clone(), state.clone(), options.grace));
        let upkeep = tokio::spawn(async {
            loop {
                tokio::time::sleep(UPKEEP).await;
                figures::fold_samples();
            }
        });
        let sampling = tokio::spawn(figures::keep(state.figures().clone()));
        let tidying = tokio::spawn(tidying);
        ready(address);
        let limits = state.limits().clone();
        let app = app.layer(from_fn_with_state(options.stall, stall::watch));
        let accept = CountingAcceptor::new(StallAcceptor(options.stall));
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        let mut server = axum_server::from_tcp(listener).map_err(|e| cannot_listen(address, e))?.handle(handle);
        tune(server.http_builder());
        let result = match tls {
            None => {
                let plain = PrefaceGuard::new(accept, HEAD_TIMEOUT);
                let announced = ProxyAcceptor::new(plain, trust.clone(), HEAD_TIMEOUT);
                server.acceptor(LimitingAcceptor::new(announced, limits, trust)).serve(service).await
            }
            Some(config) => {
                let secure = PrefaceGuard::new(RustlsAcceptor::new(config).acceptor(accept), HEAD_TIMEOUT);
                let announced = ProxyAcceptor::new(secure, trust.clone(), HEAD_TIMEOUT);
                server.acceptor(LimitingAcceptor::new(announced, limits, trust)).serve(service).await
            }
        };
        renewing.into_iter().for_each(|task| task.abort());
        waiter.abort();
        upkeep.abort();
        sampling.abort();
        tidying.abort();
        result.map_err(|e| Error::unavailable(format!("the server on {address} ended: {e}")).with_source(e))
    })
}

/// Sets limits on what one connection may hold or delay.
fn tune(builder: &mut Builder<TokioExecutor>) {
    // A client that has sent everything may close its side; it still waits for the response.
    builder
        .http1()
        .half_close(true)
        .max_buf_size(MAX_READ_AHEAD)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(MAX_HEAD as u32)
        .keep_alive_interval(HEAD_TIMEOUT)
        .keep_alive_timeout(HEAD_TIMEOUT);
}

async fn end_on(shutdown: BoxFuture<'static, ()>, handle: Handle<SocketAddr>, state: AppState, grace: Duration) {
    shutdown.await;
    state.begin_shutdown();
    handle.graceful_shutdown(Some(grace));
    if let Ok(sandbox) = state.repository().sandbox() {
        sandbox.end_all().await;
    }
}

fn cannot_listen(address: SocketAddr, error: io::Error) -> Error {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => "another program uses it; stop that one or choose another address with --listen",
        io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege; choose a higher one with --listen",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address; choose another with --listen",
        _ => "choose another address with --listen",
    };
    Error::unavailable(format!("cannot listen on {address}: {advice}")).with_source(error)
}
