//! The HTTP client below the object-storage library: TLS with ring, and limits of time and memory for every message.
//!
//! This module does not know objects. The library decides about retries.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use model::{Error, Result};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::time::{Instant, Sleep};

use super::options::Timeouts;
use super::silence::{Progress, SilenceFlag, TrackedBody};

/// Limit on the bytes of an error response or a listing.
const TEXT_LIMIT: u64 = 8 << 20;
/// Number of bytes in a list of parts, about four of them, for which assembling may take one more second.
const LISTED_PARTS: u64 = 512;

/// Creates the HTTP clients of one store.
#[derive(Clone, Debug)]
pub struct Connector {
    tls: Arc<rustls::ClientConfig>,
    patience: Timeouts,
    silence: SilenceFlag,
}

impl Connector {
    /// Creates a connector that trusts the system's certificate authorities (or, where there are none, Mozilla's) and
    /// those in `more` (PEM).
    pub fn new(more: Option<&str>, patience: Timeouts) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        if let Some(more) = more {
            let unreadable = |why: String| Error::invalid(format!("a certificate of the store cannot be read: {why}"));
            let before = roots.len();
            for certificate in CertificateDer::pem_slice_iter(more.as_bytes()) {
                let certificate = certificate.map_err(|e| unreadable(e.to_string()))?;
                roots.add(certificate).map_err(|e| unreadable(e.to_string()))?;
            }
            if roots.len() == before {
                return Err(unreadable("there is no certificate in PEM format".to_owned()));
            }
        }
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::unavailable("TLS cannot be set up").with_source(e))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { tls: Arc::new(tls), patience, silence: SilenceFlag::default() })
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(self.patience.connect()));
        tcp.set_keepalive(Some(Duration::from_secs(60)));
        let tls = HttpsConnectorBuilder::new().with_tls_config((*self.tls).clone());
        let plain = options.get_config_value(&ClientConfigKey::AllowHttp).is_some_and(|value| value == "true");
        let tls = if plain { tls.https_or_http() } else { tls.https_only() };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .http1_max_buf_size(1 << 20)
            .build(tls.enable_http1().wrap_connector(tcp));
        let (patience, silence) = (self.patience.clone(), self.silence.clone());
        Ok(HttpClient::new(Service { client, patience, silence }))
    }
}

#[derive(Debug)]
struct Service {
    client: Client<HttpsConnector<TcpConnector>, TrackedBody>,
    patience: Timeouts,
    silence: SilenceFlag,
}

impl Service {
    /// Sends a request and waits for the beginning of the response.
    async fn answer(&self, request: HttpRequest) -> Result<hyper::Response<Incoming>, HttpError> {
        let bytes = request.body().content_length() as u64;
        // The service assembles the parts of an upload before it responds.
        let parts = if completes_upload(&request) { Duration::from_secs(bytes / LISTED_PARTS) } else { Duration::ZERO };
        let still = self.silence.bound(self.patience.transfer(0)) + parts;
        let deadline = Instant::now() + self.patience.transfer(bytes) + parts;
        let movement = Progress::now();
        let doubted = self.silence.is_on();
        let watched = request.map(|body| TrackedBody::new(body, movement.clone()));
        let failure = tokio::select! {
            answer = self.client.request(watched) => match answer {
                Ok(answer) => {
                    self.silence.set(false);
                    return Ok(answer);
                }
                Err(error) => transport(error.is_connect(), error),
            },
            () = movement.ends(still, deadline) => too_slow(),
        };
        let silent = is_silence(&failure);
        self.silence.set(silent);
        // After two silent requests in a row, the error is one that is not retried, so that the caller does not wait a
        // third time.
        if silent && doubted { Err(HttpError::new(HttpErrorKind::Unknown, failure)) } else { Err(failure) }
    }
}

impl HttpService for Service {
    fn call<'a: 'r, 'r>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = std::result::Result<HttpResponse, HttpError>> + Send + 'r>> {
        Box::pin(async move {
            let listing = listing_in(request.uri().query().unwrap_or_default());
            let (head, body) = self.answer(request).await?.into_parts();
            let is_object = head.status.is_success() && body.size_hint().exact().is_some();
            let limit = if is_object { u64::MAX } else { TEXT_LIMIT };
            let bound = self.patience.transfer(body.size_hint().exact().unwrap_or(TEXT_LIMIT));
            let still = self.patience.transfer(0);
            let (deadline, timer) = (Instant::now() + bound, Box::pin(tokio::time::sleep(still)));
            let (last, silence) = (Instant::now(), self.silence.clone());
            let mut body =
                HttpResponseBody::new(LimitedBody { body, deadline, still, last, timer, silence, left: limit });
            if let Some(element) = listing.filter(|_| head.status.is_success()) {
                let bytes = body.bytes().await?;
                let text = String::from_utf8_lossy(&bytes);
                // An error, or the page of another server such as a login page, under a status of 200 would be read as
                // an empty listing.
                if !text.contains(&format!("<{element}")) || !text.trim_end().ends_with(&format!("</{element}>")) {
                    return Err(HttpError::new(HttpErrorKind::Decode, MessageError("the answer is not a listing")));
                }
                body = HttpResponseBody::from(bytes);
            }
            Ok(HttpResponse::from_parts(head, body))
        })
    }
}

/// Returns whether there was no response at all, not even a refusal.
fn is_silence(failure: &HttpError) -> bool {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(failure);
    let mut timed_out = failure.kind() == HttpErrorKind::Timeout;
    while let Some(error) = cause {
        timed_out |= error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::TimedOut);
        cause = error.source();
    }
    timed_out
}

/// Returns whether the request assembles the parts of an upload into one object.
fn completes_upload(request: &HttpRequest) -> bool {
    request.method() == hyper::Method::POST && request.uri().query().is_some_and(|query| query.contains("uploadId="))
}

/// Returns the XML element that encloses a complete listing; `None` for any other request.
fn listing_in(query: &str) -> Option<&'static str> {
    let mut pairs = query.split('&');
    pairs.find_map(|pair| match pair {
        "list-type=2" => Some("ListBucketResult"),
        "comp=list" => Some("EnumerationResults"),
        _ => None,
    })
}

/// A response body that must keep moving, end before the deadline, and stay below its length limit.
struct LimitedBody {
    body: Incoming,
    deadline: Instant,
    still: Duration,
    /// Time at which the last frame arrived.
    last: Instant,
    timer: Pin<Box<Sleep>>,
    silence: SilenceFlag,
    left: u64,
}

impl Body for LimitedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            this.last = Instant::now();
            return Poll::Ready(frame.map(|frame| {
                let frame = frame.map_err(|error| transport(false, error))?;
                let length = frame.data_ref().map_or(0, |data| data.len() as u64);
                let left = this.left.checked_sub(length);
                this.left =
                    left.ok_or_else(|| HttpError::new(HttpErrorKind::Decode, MessageError("the answer is too long")))?;
                Ok(frame)
            }));
        }
        loop {
            ready!(this.timer.as_mut().poll(cx));
            let end = this.deadline.min(this.last + this.still);
            if end <= Instant::now() {
                this.silence.set(true);
                return Poll::Ready(Some(Err(too_slow())));
            }
            this.timer.as_mut().reset(end);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[derive(Debug)]
struct MessageError(&'static str);

impl std::fmt::Display for MessageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl StdError for MessageError {}

fn too_slow() -> HttpError {
    HttpError::new(HttpErrorKind::Timeout, MessageError("no complete answer in time"))
}

/// Classifies a transport error by whether the request may be retried.
fn transport(connecting: bool, error: impl StdError + Send + Sync + 'static) -> HttpError {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
    let mut kind = if connecting { HttpErrorKind::Connect } else { HttpErrorKind::Unknown };
    let mut cause: Option<&(dyn StdError + 'static)> = Some(&error);
    while let Some(error) = cause.filter(|_| kind == HttpErrorKind::Unknown) {
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            if error.is_closed()
                || error.is_canceled()
                || error.is_incomplete_message()
                || error.is_body_write_aborted()
            {
                kind = HttpErrorKind::Request;
            }
        } else if let Some(error) = error.downcast_ref::<std::io::Error>() {
            kind = match error.kind() {
                TimedOut => HttpErrorKind::Timeout,
                BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => HttpErrorKind::Interrupted,
                _ => kind,
            };
        }
        cause = error.source();
    }
    HttpError::new(kind, error)
}
