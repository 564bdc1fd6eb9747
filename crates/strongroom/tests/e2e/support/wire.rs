//! A client that sends and receives bodies at its own pace, on HTTP/1.1 or HTTP/2.

use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::AbortHandle;

use super::{PASSWORD, Server};

/// A request body.
pub type Sent = BoxBody<Bytes, Infallible>;

/// The HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    One,
    Two,
}

/// The pace at which a response is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    Fast,
    /// With short pauses.
    Slow,
    /// With stops that are long enough for all buffers to fill up, so that nothing moves any more.
    Stopping,
}

/// A client of one server, with a new connection for each request.
pub struct RawClient {
    host: String,
    pub http: Http,
    /// Header field and value with the credential.
    credential: (&'static str, String),
    connections: Mutex<Vec<AbortHandle>>,
    /// True if the receive buffer is kept as small as possible.
    is_narrow: bool,
}

impl RawClient {
    /// A client with a bearer token.
    pub fn with_token(server: &Server, http: Http, token: &str) -> Self {
        let credential = ("authorization", format!("Bearer {token}"));
        Self { host: server.host().to_owned(), http, credential, connections: Mutex::default(), is_narrow: false }
    }

    /// A client without credentials.
    pub fn unknown(server: &Server, http: Http) -> Self {
        let host = server.host().to_owned();
        Self { host, http, credential: ("cookie", String::new()), connections: Mutex::default(), is_narrow: false }
    }

    /// A browser session of the administrator.
    pub async fn signed_in(server: &Server, http: Http) -> Self {
        let mut wire = Self::unknown(server, http);
        let form = wire.send("GET", "/sign-in", &[], Self::nothing()).await;
        let cookie = |response: &Response<Incoming>| {
            let fields = response.headers().get_all("set-cookie").iter();
            let pairs = fields.map(|field| field.to_str().unwrap().split(';').next().unwrap().to_owned());
            pairs.filter(|pair| !pair.ends_with('=')).collect::<Vec<_>>().join("; ")
        };
        wire.credential.1 = cookie(&form);
        let token = form_token(&read_body(form, Pace::Fast).await);
        let body = format!("form_token={token}&login=admin&password={}&next=/", PASSWORD.replace(' ', "+"));
        let kind = ("content-type", "application/x-www-form-urlencoded");
        let signed_in = wire.send("POST", "/sign-in", &[kind], Self::bytes(body)).await;
        assert_eq!(signed_in.status().as_u16(), 303);
        wire.credential.1 = cookie(&signed_in);
        wire
    }

    /// The same client with the smallest possible receive buffer.
    pub fn with_small_buffer(self) -> Self {
        Self { is_narrow: true, ..self }
    }

    async fn connect(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        if self.is_narrow {
            socket.set_recv_buffer_size(4_096).unwrap();
        }
        socket.connect(self.host.parse().unwrap()).await.unwrap()
    }

    /// A form token.
    pub async fn form_token(&self) -> String {
        form_token(&self.get("/account").await)
    }

    /// No body.
    pub fn nothing() -> Sent {
        Self::bytes("")
    }

    /// A body of known length.
    pub fn bytes(bytes: impl Into<Bytes>) -> Sent {
        Full::new(bytes.into()).boxed()
    }

    /// A body of unknown length, in pieces. If `pace` is slow, there is a pause before some of them.
    pub fn pieces(bytes: Bytes, piece: usize, pace: Pace) -> Sent {
        let stream = futures_util::stream::unfold((bytes, 0_usize), move |(mut rest, count)| async move {
            if rest.is_empty() {
                return None;
            }
            if pace == Pace::Slow && count < PAUSES {
                pause().await;
            }
            let next = rest.split_to(piece.min(rest.len()));
            Some((Ok(Frame::data(next)), (rest, count + 1)))
        });
        BodyExt::boxed(StreamBody::new(stream))
    }

    /// A body that repeats one piece `count` times.
    pub fn repeated(piece: Bytes, count: u64) -> Sent {
        let pieces = (0..count).map(move |_| Ok(Frame::data(piece.clone())));
        BodyExt::boxed(StreamBody::new(futures_util::stream::iter(pieces)))
    }

    /// Sends a request. The response's body is still to be read.
    pub async fn send(&self, method: &str, path: &str, fields: &[(&str, &str)], body: Sent) -> Response<Incoming> {
        self.try_send(method, path, fields, body).await.unwrap()
    }

    /// Like [`Self::send`], but returns an error if the connection or stream ends before a response arrives.
    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: Sent,
    ) -> hyper::Result<Response<Incoming>> {
        self.send_on(self.connect().await, method, path, fields, body).await
    }

    async fn send_on(
        &self,
        stream: TcpStream,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        body: Sent,
    ) -> hyper::Result<Response<Incoming>> {
        let address = match self.http {
            Http::One => path.to_owned(),
            Http::Two => format!("http://{}{path}", self.host),
        };
        let mut request = Request::builder().method(method).uri(address);
        if self.http == Http::One {
            request = request.header("host", &self.host);
        }
        if !self.credential.1.is_empty() {
            request = request.header(self.credential.0, &self.credential.1);
        }
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let request = request.body(body).unwrap();
        let io = TokioIo::new(stream);
        match self.http {
            Http::One => {
                let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
                self.connections.lock().unwrap().push(tokio::spawn(connection).abort_handle());
                sender.send_request(request).await
            }
            Http::Two => {
                let executor = TokioExecutor::new();
                let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, io).await.unwrap();
                self.connections.lock().unwrap().push(tokio::spawn(connection).abort_handle());
                sender.send_request(request).await
            }
        }
    }

    /// Sends `count` bytes of a longer body, then disconnects.
    pub async fn send_and_disconnect(&self, path: &str, count: usize) {
        self.cut_after("PUT", path, &[], Bytes::from(vec![7; count])).await;
    }

    /// Sends the beginning of a body, then disconnects.
    pub async fn cut_after(&self, method: &str, path: &str, fields: &[(&str, &str)], begin: Bytes) {
        let stream = futures_util::stream::unfold(Some(begin), move |first| async move {
            match first {
                Some(begin) => Some((Ok(Frame::data(begin)), None)),
                None => std::future::pending().await,
            }
        });
        let body: Sent = BodyExt::boxed(StreamBody::new(stream));
        let stream = self.connect().await.into_std().unwrap();
        let end = stream.try_clone().unwrap();
        let request = self.send_on(TcpStream::from_std(stream).unwrap(), method, path, fields, body);
        let begun = tokio::time::timeout(Duration::from_millis(500), request).await;
        assert!(begun.is_err(), "there is no answer before the body ended");
        // On HTTP/2 the connection would stay open as long as its body does.
        if let Err(error) = end.shutdown(std::net::Shutdown::Both) {
            // The connection was already closed by either side.
            assert_eq!(error.kind(), std::io::ErrorKind::NotConnected, "{error}");
        }
        self.hang_up();
    }

    /// Closes all connections at once.
    pub fn hang_up(&self) {
        self.connections.lock().unwrap().drain(..).for_each(|connection| connection.abort());
    }

    /// Fetches the whole body at a path.
    pub async fn get(&self, path: &str) -> Vec<u8> {
        let answer = self.send("GET", path, &[], Self::nothing()).await;
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        read_body(answer, Pace::Fast).await
    }
}

/// Duration of a client's stops, and the number of bytes between them. A server fills all buffers in between in a
/// fraction of that time.
const STOP: Duration = Duration::from_millis(1_500);
const STOP_EACH: usize = 8 << 20;
/// Number of pauses of a slow client.
const PAUSES: usize = 8;

async fn pause() {
    // sleep: these tests need a slow client
    tokio::time::sleep(Duration::from_millis(30)).await;
}

fn form_token(page: &[u8]) -> String {
    let text = String::from_utf8_lossy(page);
    let after = text.split("name=\"form_token\" value=\"").nth(1).unwrap();
    after.split('"').next().unwrap().to_owned()
}

/// Reads a body to its end, and panics if it is incomplete.
pub async fn read_body(answer: Response<Incoming>, pace: Pace) -> Vec<u8> {
    let (mut body, mut taken, mut count, mut next_stop) = (answer.into_body(), Vec::new(), 0, 1);
    while let Some(frame) = body.frame().await {
        let frame = frame.unwrap_or_else(|error| panic!("the answer ended after {} bytes: {error}", taken.len()));
        if let Some(data) = frame.data_ref() {
            taken.extend_from_slice(data);
        }
        if pace == Pace::Slow && count < PAUSES {
            pause().await;
        }
        if pace == Pace::Stopping && taken.len() >= next_stop {
            next_stop += STOP_EACH;
            // sleep: this client stops reading until the server can send no more
            tokio::time::sleep(STOP).await;
        }
        count += 1;
    }
    taken
}
