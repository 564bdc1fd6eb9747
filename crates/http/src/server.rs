//! Listening, timeouts and an orderly end. Knows sockets and hyper; knows no route.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use axum_server::Handle;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use futures_util::future::BoxFuture;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use model::{Error, Result};
use repository::Repository;

use crate::client::{PublicUrl, Trust};
use crate::crowd::CrowdAcceptor;
use crate::edge::MAX_HEAD;
use crate::figures;
use crate::health;
use crate::preface::PrefaceGuard;
use crate::proxy::ProxyAcceptor;
use crate::rest;
use crate::router::router;
use crate::stall::{self, StallAcceptor};
use crate::state::AppState;
use crate::tls;
use crate::traffic::CountingAcceptor;

/// Longest wait for the head of a request, and the longest idle time of a kept connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How often samples of the metrics are folded into their histograms.
const UPKEEP: Duration = Duration::from_secs(5);
/// Most bytes that an HTTP/1.1 connection reads ahead: room for the largest head. A sender whom nobody listens to any
/// more fills them.
const MOST_READ: usize = 2 * MAX_HEAD;
/// Most requests in flight on one HTTP/2 connection.
const STREAMS: u32 = 128;

/// Where and how to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 lets the system choose one.
    pub listen: SocketAddr,
    /// Certificate and key; without them the server speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// How long requests that are under way at shutdown may still take.
    pub grace: Duration,
    /// How long a client may take nothing of an answer before it is given up.
    pub stall: Duration,
    /// Whether a proxy in front ends TLS: cookies are then `Secure` and Basic credentials are accepted from trusted proxies.
    pub behind_tls_proxy: bool,
    /// Which proxies are believed about clients, and what they tell.
    pub trust: Trust,
    /// Scheme and host of links, redirects, cookies and our own origin; without it the field `Host` of each request decides.
    pub public_url: Option<PublicUrl>,
    /// Whether `PROPFIND` answers `Depth: infinity` with the whole tree; otherwise it is refused.
    pub webdav_depth_infinity: bool,
    /// What programs show to read `/metrics`; without it only those on this very machine may.
    pub metrics_token: Option<String>,
    /// What clients may take of the server at a time.
    pub limits: Limits,
    /// The program that makes pages of office documents; without it their text is shown alone. See [`crate::Converter::find`].
    pub converter: Option<PathBuf>,
}

/// What clients may take of the server at a time; 0 is no limit. What comes from this very machine is not limited by
/// its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most open connections.
    pub connections: usize,
    /// Most open connections of one address; of IPv6, of one network of 64 bits.
    pub connections_per_address: usize,
    /// Most requests under way of one address.
    pub requests_per_address: usize,
    /// Most requests under way of one person.
    pub requests_per_user: usize,
    /// Fewest bytes a second of a body, after half a minute in which it may be slower.
    pub body_rate: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            connections_per_address: 256,
            requests_per_address: 512,
            requests_per_user: 256,
            body_rate: 500,
        }
    }
}

/// A certificate chain and its private key, both in PEM files.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The server's certificate first, then its issuers.
    pub certificate: PathBuf,
    /// The private key: PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
}

impl Options {
    /// Plain HTTP on `listen`, with ten seconds of grace at shutdown and a minute for clients that stop reading.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            tls: None,
            grace: Duration::from_secs(10),
            stall: stall::LIMIT,
            behind_tls_proxy: false,
            trust: Trust::default(),
            public_url: None,
            webdav_depth_infinity: false,
            metrics_token: None,
            limits: Limits::default(),
            converter: None,
        }
    }
}

/// Takes the address of the options, so that nobody else can have it; who connects waits for [`serve`].
///
/// # Errors
/// Unavailable when another program has it, or this machine does not have it.
pub fn bind(options: &Options) -> Result<TcpListener> {
    let failed = |error| cannot_listen(options.listen, error);
    let listener = TcpListener::bind(options.listen).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Serves the farm until `shutdown` resolves, then finishes what is under way within `options.grace`.
///
/// `ready` is called once with the address that is listened on, before the first connection is accepted.
pub fn serve(
    repository: Repository,
    listener: TcpListener,
    options: Options,
    ready: impl FnOnce(SocketAddr) + Send + 'static,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> BoxFuture<'static, Result<()>> {
    run(repository, listener, options, Box::new(ready), Box::pin(shutdown))
}

fn run(
    repository: Repository,
    listener: TcpListener,
    options: Options,
    ready: Box<dyn FnOnce(SocketAddr) + Send>,
    shutdown: BoxFuture<'static, ()>,
) -> BoxFuture<'static, Result<()>> {
    Box::pin(async move {
        let state = AppState::new(repository, &options);
        let trust = options.trust.clone();
        let address = listener.local_addr().map_err(|e| cannot_listen(options.listen, e))?;
        let tls = options.tls.as_ref().map(tls::read).transpose()?.map(RustlsConfig::from_config);
        let renewing = options.tls.clone().zip(tls.clone());
        let renewing = renewing.map(|(files, config)| tokio::spawn(tls::keep_fresh(files, config)));
        let handle = Handle::new();
        let waiter = tokio::spawn(end_on(shutdown, handle.clone(), state.clone(), options.grace));
        let upkeep = tokio::spawn(async {
            loop {
                tokio::time::sleep(UPKEEP).await;
                health::fold_samples();
            }
        });
        let sampling = tokio::spawn(figures::keep(state.clone()));
        let tidying = tokio::spawn(rest::keep_tidy(state.repository().clone()));
        ready(address);
        let crowds = state.crowds().clone();
        let app = router(state).layer(from_fn_with_state(options.stall, stall::watch));
        let accept = CountingAcceptor::new(StallAcceptor(options.stall));
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        let mut server = axum_server::from_tcp(listener).map_err(|e| cannot_listen(address, e))?.handle(handle);
        tune(server.http_builder());
        let result = match tls {
            None => {
                let plain = PrefaceGuard::new(accept, HEAD_TIMEOUT);
                let announced = ProxyAcceptor::new(plain, trust.clone(), HEAD_TIMEOUT);
                server.acceptor(CrowdAcceptor::new(announced, crowds, trust)).serve(service).await
            }
            Some(config) => {
                let secure = PrefaceGuard::new(RustlsAcceptor::new(config).acceptor(accept), HEAD_TIMEOUT);
                let announced = ProxyAcceptor::new(secure, trust.clone(), HEAD_TIMEOUT);
                server.acceptor(CrowdAcceptor::new(announced, crowds, trust)).serve(service).await
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

/// Bounds on what one connection may hold or delay.
fn tune(builder: &mut Builder<TokioExecutor>) {
    // A client that has said all it wants to say may close its side; it still waits for the answer.
    builder.http1().half_close(true).max_buf_size(MOST_READ).timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
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
        io::ErrorKind::AddrInUse => "another program uses it; end that one or choose another address with --listen",
        io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege; choose a higher one with --listen",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address; choose another with --listen",
        _ => "choose another address with --listen",
    };
    Error::unavailable(format!("cannot listen on {address}: {advice}")).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;

    struct Running {
        address: SocketAddr,
        stop: oneshot::Sender<()>,
        task: JoinHandle<Result<()>>,
        _directory: tempfile::TempDir,
    }

    async fn farm() -> (tempfile::TempDir, Repository) {
        let directory = tempfile::tempdir().unwrap();
        let options = repository::Options {
            directory: directory.path().to_owned(),
            configuration: None,
            content: None,
            administrator_password: Some("correct horse".into()),
            create: true,
        };
        let (repository, _) = Repository::open(&options).await.unwrap();
        (directory, repository)
    }

    async fn start() -> Running {
        start_with(stall::LIMIT).await
    }

    async fn start_with(stall: Duration) -> Running {
        let (directory, repository) = farm().await;
        let (report, address) = oneshot::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let options = Options { stall, ..Options::new("127.0.0.1:0".parse().unwrap()) };
        let listener = bind(&options).unwrap();
        let task = tokio::spawn(serve(repository, listener, options, |a| report.send(a).unwrap(), async {
            stopped.await.unwrap();
        }));
        Running { address: address.await.unwrap(), stop, task, _directory: directory }
    }

    async fn exchange(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    }

    #[tokio::test]
    async fn health_metrics_and_an_orderly_end() {
        let server = start().await;
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let alive = exchange(server.address, &get("/healthz")).await;
        assert!(alive.starts_with("HTTP/1.1 200") && alive.contains("x-request-id: "), "{alive}");
        assert!(exchange(server.address, &get("/readyz")).await.ends_with("ready\n"));
        let figures = exchange(server.address, &get("/metrics")).await;
        assert!(
            figures.contains("strongroom_http_request_seconds_bucket{route=\"/healthz\",status=\"2xx\""),
            "{figures}"
        );
        server.stop.send(()).unwrap();
        server.task.await.unwrap().unwrap();
        assert!(TcpStream::connect(server.address).await.is_err());
    }

    #[tokio::test]
    async fn rubbish_gets_an_answer_and_hurts_nobody() {
        let server = start().await;
        let rubbish = exchange(server.address, "\u{1}\u{2}rubbish rubbish rubbish rubbish\r\n\r\n").await;
        assert!(rubbish.is_empty() || rubbish.starts_with("HTTP/1.1 400"), "{rubbish}");
        let twice = "GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab";
        assert!(exchange(server.address, twice).await.starts_with("HTTP/1.1 400"));
        let many: String = (0..200).map(|i| format!("x-{i}: y\r\n")).collect();
        let many = exchange(server.address, &format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n")).await;
        assert!(many.starts_with("HTTP/1.1 431"), "{many}");
    }

    #[tokio::test]
    async fn a_client_that_closes_its_side_still_gets_its_answer() {
        let server = start().await;
        for request in [
            "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
            format!("PUT /api/v1/content/Documents/half.txt {HEAD}content-length: 4\r\n\r\nhalf"),
            format!("GET /api/v1/content/Documents/half.txt {HEAD}\r\n"),
        ] {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 20"), "{request}{answer}");
        }
        // Half a body is not a document, however politely it ends.
        let cut = format!("PUT /api/v1/content/Documents/cut.txt {HEAD}content-length: 9\r\n\r\nhalf");
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(cut.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        let get = format!("GET /api/v1/content/Documents/cut.txt {HEAD}\r\n");
        assert!(exchange(server.address, &get).await.starts_with("HTTP/1.1 404"));
    }

    /// admin:correct horse
    const HEAD: &str =
        "HTTP/1.1\r\nhost: x\r\nauthorization: Basic YWRtaW46Y29ycmVjdCBob3JzZQ==\r\nconnection: close\r\n";
    /// More than the system keeps for a connection on both sides.
    const BIG: usize = 48 << 20;

    /// A connection on which a document of `BIG` bytes was asked for.
    async fn download(address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET /api/v1/content/Documents/big.bin {HEAD}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_client_that_stops_reading_is_cut_and_a_slow_one_is_served() {
        let limit = Duration::from_millis(1_500);
        let server = start_with(limit).await;
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!("PUT /api/v1/content/Documents/big.bin {HEAD}content-length: {BIG}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![7; BIG]).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");

        let slow = tokio::spawn(async move {
            let mut stream = download(server.address).await;
            let (started, mut total, mut buffer) = (tokio::time::Instant::now(), 0, vec![0; 1 << 20]);
            loop {
                // Until the limit has passed several times.
                if started.elapsed() < limit * 3 {
                    // sleep: the test is about a client that takes its time
                    tokio::time::sleep(limit / 8).await;
                }
                match stream.read(&mut buffer).await.unwrap() {
                    0 => return total,
                    count => total += count,
                }
            }
        });
        let mut stalled = download(server.address).await;
        stalled.read_exact(&mut [0; 16]).await.unwrap();
        // The server's end is gone when it answers a byte with a reset.
        let waiting = async {
            while stalled.write_all(b"x").await.is_ok() {
                // sleep: the end of the connection is asked for, nothing tells of it
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(limit * 10, waiting).await.expect("the connection of a client that does not read ends");
        assert!(slow.await.unwrap() > BIG);
    }

    #[test]
    fn an_address_in_use_is_a_clear_error() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let options = Options::new(taken.local_addr().unwrap());
        let error = bind(&options).unwrap_err();
        assert!(error.message().contains("another program uses it"), "{error}");
    }
}
