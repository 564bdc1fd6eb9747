//! A client that sends and takes bodies at its own pace, on HTTP/1.1 or HTTP/2.

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

/// A body of a request.
pub type Sent = BoxBody<Bytes, Infallible>;

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    One,
    Two,
}

/// How an answer is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    Fast,
    /// With short pauses.
    Slow,
    /// With stops, in which everything on the way fills up and nothing moves any more.
    Stopping,
}

/// Speaks to one server, each request on a connection of its own.
pub struct Wire {
    host: String,
    pub http: Http,
    /// Field and value that prove who asks.
    credential: (&'static str, String),
    connections: Mutex<Vec<AbortHandle>>,
    /// Whether the system keeps as little as it can of what was not taken yet.
    is_narrow: bool,
}

impl Wire {
    /// A client with a bearer token.
    pub fn with_token(server: &Server, http: Http, token: &str) -> Self {
        let credential = ("authorization", format!("Bearer {token}"));
        Self { host: server.host().to_owned(), http, credential, connections: Mutex::default(), is_narrow: false }
    }

    /// A client that shows nothing.
    pub fn unknown(server: &Server, http: Http) -> Self {
        let host = server.host().to_owned();
        Self { host, http, credential: ("cookie", String::new()), connections: Mutex::default(), is_narrow: false }
    }

    /// A browser of the administrator.
    pub async fn signed_in(server: &Server, http: Http) -> Self {
        let mut wire = Self::unknown(server, http);
        let form = wire.send("GET", "/sign-in", &[], Self::nothing()).await;
        let cookie = |response: &Response<Incoming>| {
            let fields = response.headers().get_all("set-cookie").iter();
            let pairs = fields.map(|field| field.to_str().unwrap().split(';').next().unwrap().to_owned());
            pairs.filter(|pair| !pair.ends_with('=')).collect::<Vec<_>>().join("; ")
        };
        wire.credential.1 = cookie(&form);
        let token = form_token(&whole(form, Pace::Fast).await);
        let body = format!("form_token={token}&login=admin&password={}&next=/", PASSWORD.replace(' ', "+"));
        let kind = ("content-type", "application/x-www-form-urlencoded");
        let signed_in = wire.send("POST", "/sign-in", &[kind], Self::bytes(body)).await;
        assert_eq!(signed_in.status().as_u16(), 303);
        wire.credential.1 = cookie(&signed_in);
        wire
    }

    /// The same client, for which the system keeps as little as it can of what was not taken yet.
    pub fn narrow(self) -> Self {
        Self { is_narrow: true, ..self }
    }

    async fn connect(&self) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        if self.is_narrow {
            socket.set_recv_buffer_size(4_096).unwrap();
        }
        socket.connect(self.host.parse().unwrap()).await.unwrap()
    }

    /// A token for forms.
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

    /// A body whose length is not told, in pieces; with a pause before some of them where `pace` is slow.
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

    /// A body of one piece again and again.
    pub fn repeated(piece: Bytes, count: u64) -> Sent {
        let pieces = (0..count).map(move |_| Ok(Frame::data(piece.clone())));
        BodyExt::boxed(StreamBody::new(futures_util::stream::iter(pieces)))
    }

    /// Sends a request; the answer's body is still to be taken.
    pub async fn send(&self, method: &str, path: &str, fields: &[(&str, &str)], body: Sent) -> Response<Incoming> {
        self.try_send(method, path, fields, body).await.unwrap()
    }

    /// The same; an error means that the connection or the stream ended before an answer came.
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

    /// Sends so many bytes of a body that is to be longer, then goes away.
    pub async fn cut(&self, path: &str, count: usize) {
        self.cut_after("PUT", path, &[], Bytes::from(vec![7; count])).await;
    }

    /// Sends the beginning of a body, then goes away.
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
        // On HTTP/2 the connection would live on as long as its body does.
        if let Err(error) = end.shutdown(std::net::Shutdown::Both) {
            // The client or the server went first.
            assert_eq!(error.kind(), std::io::ErrorKind::NotConnected, "{error}");
        }
        self.hang_up();
    }

    /// Closes all connections at once.
    pub fn hang_up(&self) {
        self.connections.lock().unwrap().drain(..).for_each(|connection| connection.abort());
    }

    /// The whole body of what is at an address.
    pub async fn get(&self, path: &str) -> Vec<u8> {
        let answer = self.send("GET", path, &[], Self::nothing()).await;
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        whole(answer, Pace::Fast).await
    }
}

/// How long a client stops, and after how many bytes again: a server fills all that is between in a fraction of that.
const STOP: Duration = Duration::from_millis(1_500);
const STOP_EACH: usize = 8 << 20;
/// How often a slow client pauses.
const PAUSES: usize = 8;

async fn pause() {
    // sleep: these tests are about a client that takes its time
    tokio::time::sleep(Duration::from_millis(30)).await;
}

fn form_token(page: &[u8]) -> String {
    let text = String::from_utf8_lossy(page);
    let after = text.split("name=\"form_token\" value=\"").nth(1).unwrap();
    after.split('"').next().unwrap().to_owned()
}

/// Takes a body to its end, which must be a proper one.
pub async fn whole(answer: Response<Incoming>, pace: Pace) -> Vec<u8> {
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
            // sleep: this client stops until the server can send no more
            tokio::time::sleep(STOP).await;
        }
        count += 1;
    }
    taken
}
