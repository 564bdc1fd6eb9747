//! Starts the server with all its routes.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};

use futures_util::future::BoxFuture;
use model::Result;
use repository::Repository;

use crate::router::router;
use http_core::server::state::AppState;
use http_core::server::{self, Options};

/// Serves the farm until `shutdown` resolves, then finishes the requests in flight within `options.grace`.
///
/// `ready` is called once with the listening address, before the first connection is accepted.
pub fn serve(
    repository: Repository,
    listener: TcpListener,
    options: Options,
    ready: impl FnOnce(SocketAddr) + Send + 'static,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> BoxFuture<'static, Result<()>> {
    let tidying = Box::pin(rest::keep_tidy(repository.clone()));
    let state = AppState::new(repository, &options);
    let app = router(state.clone());
    server::run((state, app), tidying, listener, options, Box::new(ready), Box::pin(shutdown))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;

    use super::*;
    use http_core::server::bind;
    use http_core::server::options::STALL_LIMIT;

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
        start_with(STALL_LIMIT).await
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
        assert!(alive.starts_with("HTTP/1.1 200"), "{alive}");
        assert!(alive.contains("x-request-id: "), "{alive}");
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
        // A truncated body is not a document, even if the client closes its side properly.
        let cut = format!("PUT /api/v1/content/Documents/cut.txt {HEAD}content-length: 9\r\n\r\nhalf");
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(cut.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        let get = format!("GET /api/v1/content/Documents/cut.txt {HEAD}\r\n");
        assert!(exchange(server.address, &get).await.starts_with("HTTP/1.1 404"));
    }

    /// Credentials: admin:correct horse
    const HEAD: &str =
        "HTTP/1.1\r\nhost: x\r\nauthorization: Basic YWRtaW46Y29ycmVjdCBob3JzZQ==\r\nconnection: close\r\n";
    /// More than the socket buffers of both sides hold.
    const BIG: usize = 48 << 20;

    /// Opens a connection and requests a document of `BIG` bytes on it.
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
                // Slow until the limit has passed several times.
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
        // The server has closed its end when it answers a byte with a reset.
        let waiting = async {
            while stalled.write_all(b"x").await.is_ok() {
                // sleep: the test polls for the end of the connection, nothing signals it
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
