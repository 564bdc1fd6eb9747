//! A small in-memory WebDAV server that can be made to misbehave.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// Kinds of misbehaviour. Those of downloads begin with the load; those of uploads and collections act at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Misbehaviour {
    None,
    /// Answers nothing for 2 s, starting 6 s after the load begins.
    Stops,
    /// One in a hundred downloads takes a slow path.
    SlowPath,
    /// Downloads take longer every second.
    Leak,
    /// Each download allocates memory that is never released.
    Grows,
    /// Downloads wait for one lock.
    Lock,
    /// Every tenth download is an error page with status 200.
    ErrorPage,
    /// Every tenth download has one flipped bit.
    Flips,
    /// For every tenth download, the connection is closed without a response.
    Closes,
    /// Downloads begin and never end.
    Drips,
    /// Response heads arrive byte by byte and never end.
    DripsHeads,
    /// Requests to create a collection are never answered.
    Hangs,
    /// Each download takes 15 ms longer.
    Slow,
    /// The first upload to each path is refused temporarily.
    Busy,
    /// Uploads are refused.
    Refuses,
    /// Uploads are never answered.
    Swallows,
    /// Downloads are redirected to another server.
    Redirects,
}

/// Address that downloads are redirected to.
pub const ELSEWHERE: &str = "https://elsewhere.example/sign-in";

struct State {
    trouble: Misbehaviour,
    files: Mutex<HashMap<String, Bytes>>,
    refused: Mutex<HashSet<String>>,
    begun: OnceLock<Instant>,
    downloads: AtomicU64,
    uploads: AtomicU64,
    kept: Mutex<Vec<Vec<u8>>>,
    lock: tokio::sync::Mutex<()>,
}

/// A server that runs until the process ends.
#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    state: Arc<State>,
}

impl Server {
    pub async fn start(trouble: Misbehaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            trouble,
            files: Mutex::default(),
            refused: Mutex::default(),
            begun: OnceLock::new(),
            downloads: AtomicU64::new(0),
            uploads: AtomicU64::new(0),
            kept: Mutex::default(),
            lock: tokio::sync::Mutex::new(()),
        });
        let shared = state.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of upload requests.
    pub fn uploads(&self) -> u64 {
        self.state.uploads.load(Ordering::Relaxed)
    }

    /// Records that the load begins; from now on the server misbehaves.
    pub fn begin(&self) {
        let _ = self.state.begun.set(Instant::now());
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    let dripping = match state.trouble {
        Misbehaviour::Drips => Some("HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n"),
        Misbehaviour::DripsHeads => Some("HTTP/1.1 200 OK\r\nx-drips: "),
        _ => None,
    };
    if let Some(beginning) = dripping.filter(|_| state.begun.get().is_some()) {
        drip(stream, beginning).await;
        return;
    }
    stream.set_nodelay(true).unwrap();
    let service = service_fn(|request| answer(request, state.clone()));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// Sends the beginning of a response, then single bytes without end.
async fn drip(mut stream: TcpStream, beginning: &str) {
    let _ = stream.write_all(beginning.as_bytes()).await;
    while stream.write_all(b"l").await.is_ok() {
        // sleep: this is how the server behaves badly
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Response to a request; an error closes the connection.
type Served = Result<Response<Full<Bytes>>, std::io::Error>;

async fn answer(request: Request<Incoming>, state: Arc<State>) -> Served {
    let path = request.uri().path().trim_end_matches('/').to_owned();
    let elapsed = state.begun.get().map(Instant::elapsed);
    if state.trouble == Misbehaviour::Stops {
        let back = Duration::from_secs(8);
        if let Some(left) = elapsed.filter(|at| at.as_secs() >= 6).and_then(|at| back.checked_sub(at)) {
            // sleep: this is how the server behaves badly
            tokio::time::sleep(left).await;
        }
    }
    match request.method().as_str() {
        "PUT" => {
            state.uploads.fetch_add(1, Ordering::Relaxed);
            let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
            match state.trouble {
                Misbehaviour::Swallows => return std::future::pending().await,
                Misbehaviour::Refuses => return Ok(status(StatusCode::FORBIDDEN, "no more")),
                Misbehaviour::Busy if state.refused.lock().unwrap().insert(path.clone()) => {
                    return Ok(status(StatusCode::SERVICE_UNAVAILABLE, "not now"));
                }
                _ => {}
            }
            state.files.lock().unwrap().insert(path, body);
            Ok(status(StatusCode::CREATED, ""))
        }
        "MKCOL" if state.trouble == Misbehaviour::Hangs => std::future::pending().await,
        "MKCOL" => Ok(status(StatusCode::CREATED, "")),
        "DELETE" => {
            let gone = state.files.lock().unwrap().remove(&path);
            Ok(status(if gone.is_some() { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }, ""))
        }
        "GET" => {
            let found = state.files.lock().unwrap().get(&path).cloned();
            match (found, elapsed) {
                (None, _) => Ok(status(StatusCode::NOT_FOUND, "no such file")),
                (Some(bytes), None) => Ok(Response::new(Full::new(bytes))),
                (Some(bytes), Some(elapsed)) => download(bytes, elapsed, &state).await,
            }
        }
        _ => Ok(status(StatusCode::METHOD_NOT_ALLOWED, "")),
    }
}

async fn download(bytes: Bytes, elapsed: Duration, state: &State) -> Served {
    let number = state.downloads.fetch_add(1, Ordering::Relaxed);
    let wait = match state.trouble {
        Misbehaviour::Slow => Duration::from_millis(15),
        Misbehaviour::SlowPath if number % 100 == 99 => Duration::from_millis(600),
        Misbehaviour::Leak => Duration::from_millis(5) + elapsed * 8 / 1000,
        Misbehaviour::Lock => {
            let _held = state.lock.lock().await;
            // sleep: this is how the server behaves badly
            tokio::time::sleep(Duration::from_millis(4)).await;
            Duration::ZERO
        }
        _ => Duration::ZERO,
    };
    if state.trouble == Misbehaviour::Grows {
        state.kept.lock().unwrap().push(vec![1; 16 << 10]);
    }
    if !wait.is_zero() {
        // sleep: this is how the server behaves badly
        tokio::time::sleep(wait).await;
    }
    if state.trouble == Misbehaviour::Redirects {
        let mut response = status(StatusCode::FOUND, "go and sign in");
        response.headers_mut().insert("location", ELSEWHERE.parse().unwrap());
        return Ok(response);
    }
    if number % 10 != 9 {
        return Ok(Response::new(Full::new(bytes)));
    }
    match state.trouble {
        Misbehaviour::ErrorPage => Ok(status(StatusCode::OK, "<html><title>Error</title>Something went wrong</html>")),
        Misbehaviour::Flips => {
            let mut wrong = bytes.to_vec();
            let middle = wrong.len() / 2;
            wrong[middle] ^= 1;
            Ok(Response::new(Full::new(wrong.into())))
        }
        Misbehaviour::Closes => Err(std::io::Error::other("closed on purpose")),
        _ => Ok(Response::new(Full::new(bytes))),
    }
}

fn status(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}
