//! The agent: carries out one load order at a time, and monitors its machine for any number of callers.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::protocol::{AgentLine, AgentOrder};
use crate::corpus::Corpus;
use crate::engine::{self, Mix, Setup};
use crate::error::{Error, Result};
use crate::monitor::{self, Monitor};
use crate::wire::{Login, Target};

/// Limit on concurrent connections; further connections are closed.
const MAX_CONNECTIONS: usize = 256;
/// Timeout for receiving a request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for receiving an order.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// Limit on the bytes of an order: the largest plan, written as JSON, and the logins of as many users as a run can
/// have.
const MAX_ORDER: usize = 8 << 20;
/// Limit on the agents of a run.
const MAX_AGENTS: u32 = 1_000;
/// Interval between keep-alive lines.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Waits for orders until the process ends. `bound` receives the address that the agent listens on.
///
/// # Errors
/// If the agent cannot listen on the address.
pub fn serve(
    listen: SocketAddr,
    token: String,
    bound: impl FnOnce(SocketAddr) + Send + 'static,
) -> BoxFuture<'static, Result<()>> {
    wait(listen, token, Box::new(bound))
}

fn wait(
    listen: SocketAddr,
    token: String,
    bound: Box<dyn FnOnce(SocketAddr) + Send>,
) -> BoxFuture<'static, Result<()>> {
    Box::pin(async move {
        let failed = |error: std::io::Error| Error::new(format!("cannot listen on {listen}: {error}"));
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        bound(listener.local_addr().map_err(failed)?);
        let token = Arc::new(token);
        let busy = Arc::new(AtomicBool::new(false));
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // A transient failure, such as running out of file descriptors.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            // At the connection limit, a new connection is closed at once.
            let Ok(place) = places.clone().try_acquire_owned() else { continue };
            let (token, busy) = (token.clone(), busy.clone());
            tokio::spawn(async move {
                let answer = |request| answer(request, token.clone(), busy.clone());
                // An error means that the client has disconnected, so there is nothing to report it to.
                let _ = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .serve_connection(TokioIo::new(stream), service_fn(answer))
                    .await;
                drop(place);
            });
        }
    })
}

async fn answer(
    request: Request<Incoming>,
    token: Arc<String>,
    busy: Arc<AtomicBool>,
) -> Result<Response<Body>, Infallible> {
    let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !constant_time_eq(given.strip_prefix("Bearer ").unwrap_or_default(), &token) {
        return Ok(refuse(
            StatusCode::UNAUTHORIZED,
            "this agent was started with a different token: see --token and STRONGROOM_LAB_TOKEN",
        ));
    }
    let to_watch = request.uri().path() == "/watch";
    if request.method() != Method::POST || !(to_watch || request.uri().path() == "/run") {
        return Ok(refuse(StatusCode::NOT_FOUND, "an agent accepts POST /run and POST /watch only"));
    }
    let body = tokio::time::timeout(BODY_TIMEOUT, Limited::new(request.into_body(), MAX_ORDER).collect()).await;
    let Ok(Ok(body)) = body else {
        return Ok(refuse(StatusCode::BAD_REQUEST, "the order did not arrive completely"));
    };
    let body = body.to_bytes();
    let (to, from) = unbounded_channel();
    if to_watch {
        let Ok(monitor) = serde_json::from_slice::<Monitor>(&body) else { return Ok(refuse_version()) };
        tokio::spawn(watch(monitor, to));
        return Ok(lines(from));
    }
    let Ok(order) = serde_json::from_slice::<AgentOrder>(&body) else { return Ok(refuse_version()) };
    if order.part.0 >= order.part.1 || order.part.1 > MAX_AGENTS {
        return Ok(refuse(StatusCode::BAD_REQUEST, "the order's part must be from 1 to 1000"));
    }
    if busy.swap(true, Ordering::AcqRel) {
        return Ok(refuse(StatusCode::CONFLICT, "this agent is busy with another run"));
    }
    let held = BusyGuard(busy);
    tokio::spawn(async move {
        let line = match execute(order, &to).await {
            Ok(()) => AgentLine::End,
            Err(error) => AgentLine::Failed(error.to_string()),
        };
        drop(held);
        // The caller may no longer be waiting.
        let _ = to.send(line);
    });
    Ok(lines(from))
}

/// Monitors this machine until the caller disconnects.
async fn watch(monitor: Monitor, to: UnboundedSender<AgentLine>) {
    let seen = to.clone();
    let keep = move |readings| {
        // The caller may have disconnected; the `select!` below ends the monitor then.
        let _ = seen.send(AgentLine::Seen(readings));
    };
    match monitor::look(&monitor, keep).await {
        Ok(looking) => {
            tokio::select! {
                () = looking => {}
                () = to.closed() => {}
            }
        }
        Err(error) => {
            let _ = to.send(AgentLine::Failed(error.to_string()));
        }
    }
}

fn lines(from: UnboundedReceiver<AgentLine>) -> Response<Body> {
    let lines = stream::unfold(from, next_line);
    Response::new(StreamBody::new(lines.map(|line| Ok(Frame::data(line)))).boxed_unsync())
}

/// Returns the next line, or a keep-alive line if none arrives in time.
async fn next_line(mut from: UnboundedReceiver<AgentLine>) -> Option<(Bytes, UnboundedReceiver<AgentLine>)> {
    let line = match tokio::time::timeout(KEEP_ALIVE, from.recv()).await {
        Ok(None) => return None,
        Ok(Some(line)) => line,
        Err(_) => AgentLine::Alive,
    };
    let mut text = serde_json::to_string(&line).ok()?;
    text.push('\n');
    Some((text.into(), from))
}

async fn execute(order: AgentOrder, to: &UnboundedSender<AgentLine>) -> Result<()> {
    let plan = Arc::new(order.changes.apply(&order.plan)?);
    let login = order.login.map(|(user, password)| Login { user, password });
    let (target, twins) = Target::all(&plan.target, Some(&order.target), &order.twins, login, order.confirmed).await?;
    let mix = Mix::new(&plan, &target).await?;
    let corpus = Arc::new(Corpus::new(plan.corpus.clone()));
    let people = order.people.into_iter().map(|(user, password)| Login { user, password }).collect();
    let setup = Setup {
        plan,
        target,
        twins,
        corpus,
        run: order.run,
        people: Arc::new(people),
        searchable: order.searchable,
        generator_index: order.part,
    };
    let (flush, mut flushes) = unbounded_channel();
    let running = engine::start(&setup, &mix, &flush)?;
    drop(flush);
    while let Some(flush) = flushes.recv().await {
        if to.send(AgentLine::Flush(Box::new(flush))).is_err() {
            // The leader has disconnected, and load without a measurement is of no use.
            running.stop();
            break;
        }
    }
    running.ended().await;
    Ok(())
}

/// Frees the agent for the next order when dropped, however the current order ended.
struct BusyGuard(Arc<AtomicBool>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn refuse_version() -> Response<Body> {
    refuse(StatusCode::BAD_REQUEST, "the order comes from another version of the lab")
}

/// Refuses a request and closes its connection, so that a client without the token does not occupy a connection slot.
fn refuse(status: StatusCode, why: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(why)).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Compares two strings in constant time, so that the timing does not reveal how many characters match.
fn constant_time_eq(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}
