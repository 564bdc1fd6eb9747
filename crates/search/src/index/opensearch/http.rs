//! Requests to the search server: TLS with ring, and a limit of time and memory for every answer.
//!
//! This module knows neither indexes nor queries. Callers are threads that may wait, never tasks.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use model::{Error, Result};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::limits::Limits;

/// Bytes that every answer may have at any time.
const FREE: usize = 256 << 10;
/// Limit on the bytes of an answer that is an error.
const MAX_REFUSAL: usize = 64 << 10;
/// Limit on the KiB of all longer answers that are received and parsed at the same time in this process.
const MAX_AT_ONCE: u32 = 64 << 10;
static AT_ONCE: Semaphore = Semaphore::const_new(MAX_AT_ONCE as usize);
/// Limit on the time for a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// Time beyond the limit of a request after which its caller waits no longer.
const GRACE: Duration = Duration::from_millis(200);

/// Body of a request.
pub(super) enum Body {
    /// No body.
    None,
    /// A JSON value.
    Json(serde_json::Value),
    /// JSON values, each on a line of its own.
    Lines(Bytes),
}

/// An answer.
pub(super) struct Answer {
    /// Status code.
    pub(super) status: u16,
    /// Its body. That of an error is empty if it is too long.
    pub(super) bytes: Vec<u8>,
    /// Its share of what may be received and parsed at the same time.
    _share: Option<SemaphorePermit<'static>>,
}

/// The connections to one server.
pub(super) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Scheme, host and port.
    base: String,
    authorization: Option<HeaderValue>,
}

impl Http {
    /// Prepares connections to `base`, a scheme with host and port. Trusts the certificate authorities of the system
    /// and those in `certificates` (PEM).
    ///
    /// # Errors
    /// `Invalid` if a certificate cannot be read.
    pub(super) fn new(base: String, authorization: Option<HeaderValue>, certificates: Option<&str>) -> Result<Self> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        let tls = HttpsConnectorBuilder::new().with_tls_config(tls(certificates)?).https_or_http().enable_http1();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(tls.wrap_connector(tcp));
        Ok(Self { client, base, authorization })
    }

    /// Sends a request and waits for the whole answer within its limits. Longer answers also wait for each other. Drop
    /// the answer when it is parsed. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if there is no answer in time, or it is too long.
    pub(super) fn send(&self, method: Method, path: &str, body: Body, limits: Limits) -> Result<Answer> {
        let request = self.request(method, path, body)?;
        let (client, base) = (self.client.clone(), self.base.clone());
        let (answers, answer) = sync_channel(1);
        let ask = async move {
            let asked = async {
                let (head, body) = client.request(request).await.map_err(|error| away(&base, error))?.into_parts();
                received(&base, head.status.as_u16(), body, limits.bytes).await
            };
            let answer = tokio::time::timeout(limits.time, asked).await.unwrap_or_else(|_| Err(silent(&base)));
            // The caller may have stopped waiting.
            let _ = answers.send(answer);
        };
        runtime()?.spawn(ask);
        answer.recv_timeout(limits.time + GRACE).unwrap_or_else(|_| Err(silent(&self.base)))
    }

    fn request(&self, method: Method, path: &str, body: Body) -> Result<Request<Full<Bytes>>> {
        let (kind, bytes) = match body {
            Body::None => (None, Bytes::new()),
            Body::Json(value) => (Some("application/json"), value.to_string().into()),
            Body::Lines(lines) => (Some("application/x-ndjson"), lines),
        };
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(kind) = kind {
            request = request.header(CONTENT_TYPE, kind);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let built = request.body(Full::new(bytes));
        built.map_err(|error| Error::invalid("the address of the search server cannot be used").with_source(error))
    }
}

/// Receives the body of an answer of at most so many bytes.
///
/// # Errors
/// `Unavailable` if it is longer or breaks off.
async fn received(base: &str, status: u16, mut body: Incoming, limit: usize) -> Result<Answer> {
    let is_refusal = status >= 400;
    let limit = if is_refusal { MAX_REFUSAL } else { limit };
    let (mut bytes, mut share) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Error::unavailable(format!("the connection to the search server at {base} was lost during its answer"))
                .with_source(error)
        })?;
        let Ok(data) = frame.into_data() else { continue };
        let length = bytes.len() + data.len();
        if length > limit {
            if is_refusal {
                return Ok(Answer { status, bytes: Vec::new(), _share: None });
            }
            return Err(Error::unavailable(format!(
                "the answer of the search server at {base} is longer than {limit} bytes, which is more than was asked \
                 for: check what answers there"
            )));
        }
        if length > FREE && share.is_none() {
            let wanted = u32::try_from(limit >> 10).unwrap_or(MAX_AT_ONCE).min(MAX_AT_ONCE);
            let ended = |error| Error::unavailable("answers of the search server are not received").with_source(error);
            share = Some(AT_ONCE.acquire_many(wanted).await.map_err(ended)?);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Answer { status, bytes, _share: share })
}

/// The tasks that send requests have a thread of their own, which outlives all indexes.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let start = || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name("search-http").enable_all().build()
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|error| {
        Error::unavailable(format!("the thread for requests to the search server cannot be started: {error}"))
    })
}

fn away(base: &str, error: hyper_util::client::legacy::Error) -> Error {
    let text = format!("the search server at {base} cannot be reached: check its address and whether it runs");
    Error::unavailable(text).with_source(error)
}

fn silent(base: &str) -> Error {
    Error::unavailable(format!("the search server at {base} did not answer in time: check its load"))
}

fn tls(certificates: Option<&str>) -> Result<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(certificates) = certificates {
        let unreadable =
            |why: String| Error::invalid(format!("a certificate for the search server cannot be read: {why}"));
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(certificates.as_bytes()) {
            let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
            roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
        }
        if roots.len() == before {
            return Err(unreadable("there is no certificate in PEM format".to_owned()));
        }
    }
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::unavailable("TLS cannot be set up").with_source(error))?;
    Ok(tls.with_root_certificates(roots).with_no_client_auth())
}
