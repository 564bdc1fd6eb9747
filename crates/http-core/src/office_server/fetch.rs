//! Fetches the discovery document of an office server.

use std::time::Duration;

use axum::http::Uri;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use model::{Error, Result};

/// Time limit for the whole request.
const TIME: Duration = Duration::from_secs(10);
/// Limit on the bytes of the document.
const MAX_BYTES: usize = 1 << 20;

/// Fetches one document.
pub(super) struct Fetcher {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    address: String,
    uri: Uri,
}

impl Fetcher {
    /// Prepares requests for the document at `address`. Trusts the certificate authorities of the system.
    ///
    /// # Errors
    /// `Invalid` for text that is no address; `Unavailable` if TLS cannot be set up.
    pub(super) fn new(address: String) -> Result<Self> {
        let uri = address.parse().map_err(|error| {
            Error::invalid(format!("\"{}\" is no address", address.escape_debug())).with_source(error)
        })?;
        let provider = rustls::crypto::ring::default_provider();
        let tls = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(provider)
            .map_err(|error| Error::unavailable("TLS to the office server cannot be set up").with_source(error))?;
        let client = Client::builder(TokioExecutor::new()).build(tls.https_or_http().enable_http1().build());
        Ok(Self { client, address, uri })
    }

    /// Fetches the document.
    ///
    /// # Errors
    /// `Unavailable` if there is no answer in time, or no document.
    pub(super) async fn fetch(&self) -> Result<Bytes> {
        tokio::time::timeout(TIME, self.request())
            .await
            .unwrap_or_else(|_| Err(self.unavailable("the office server did not answer in time")))
    }

    async fn request(&self) -> Result<Bytes> {
        let answer = self
            .client
            .get(self.uri.clone())
            .await
            .map_err(|error| self.unavailable("the office server cannot be reached").with_source(error))?;
        let status = answer.status();
        if !status.is_success() {
            return Err(self.unavailable(&format!("the office server answered with status {}", status.as_u16())));
        }
        let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await;
        let body = body.map_err(|error| self.unavailable("the answer is too long or broke off").with_source(error))?;
        Ok(body.to_bytes())
    }

    fn unavailable(&self, why: &str) -> Error {
        Error::unavailable(format!("cannot fetch {}: {why}", self.address))
    }
}
