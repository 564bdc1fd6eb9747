//! The TLS certificate: read from its files, and read again when they change or on SIGHUP, so that a new certificate
//! needs no restart.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_recursion::async_recursion as boxed;
use axum_server::tls_rustls::RustlsConfig;
use model::{Error, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::signal::unix::{SignalKind, signal};

use crate::server::TlsFiles;

/// Interval at which the files are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Names for the contents of the two files, used in messages.
const CERTIFICATE: &str = "certificate";
const KEY: &str = "private key";

impl TlsFiles {
    /// Checks that a server can use the files, before anything relies on them.
    ///
    /// # Errors
    /// Invalid, naming the file and the fault.
    pub fn check(&self) -> Result<()> {
        read(self).map(drop)
    }
}

/// Reads the certificate and its private key, which must match.
fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_slice_iter(&bytes(CERTIFICATE, &files.certificate)?)
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|error| bad_pem(CERTIFICATE, &files.certificate, error))?;
    if chain.is_empty() {
        return Err(bad_pem(CERTIFICATE, &files.certificate, pem::Error::NoItemsFound));
    }
    let key = bytes(KEY, &files.key)?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| match error {
        _ if is_encrypted(&key) => Error::invalid(format!(
            "the private key in {} is encrypted: write it without its passphrase, as `openssl pkey` does, and let only \
             the user that runs the server read it",
            files.key.display()
        )),
        error => bad_pem(KEY, &files.key, error),
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| unusable(files, error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn bytes(what: &str, file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).map_err(|error| {
        let text = format!("the {what} {} cannot be read: {error}", file.display());
        Error::invalid(text).with_source(error)
    })
}

/// Returns whether a key needs a passphrase, in PKCS #8 or in the older form of OpenSSL.
fn is_encrypted(key: &[u8]) -> bool {
    let has = |mark: &[u8]| key.windows(mark.len()).any(|part| part == mark);
    has(b"BEGIN ENCRYPTED PRIVATE KEY") || has(b"Proc-Type: 4,ENCRYPTED")
}

fn bad_pem(what: &str, file: &Path, error: pem::Error) -> Error {
    let file = file.display();
    let text = match &error {
        pem::Error::NoItemsFound => format!("no {what} in PEM form in {file}: name the file that holds it"),
        _ => format!("the {what} in {file} is damaged: {error}; get the PEM file from its source again"),
    };
    Error::invalid(text).with_source(error)
}

fn unusable(files: &TlsFiles, error: rustls::Error) -> Error {
    let (certificate, key) = (files.certificate.display(), files.key.display());
    let text = match &error {
        rustls::Error::InconsistentKeys(_) => format!(
            "the private key in {key} does not belong to the certificate in {certificate}: name the key that the \
             certificate was issued for; the server's own certificate must come first in its file"
        ),
        rustls::Error::InvalidCertificate(_) => format!("the certificate in {certificate} cannot be used: {error}"),
        _ => format!("the private key in {key} cannot be used with the certificate in {certificate}: {error}"),
    };
    Error::invalid(text).with_source(error)
}

/// The certificate that connections use.
pub struct ServedCertificate {
    files: TlsFiles,
    config: RustlsConfig,
    /// State of the files before they were read.
    seen: State,
}

impl ServedCertificate {
    /// Reads the certificate and its private key.
    pub fn read(files: TlsFiles) -> Result<Self> {
        // The state comes first: a file that is replaced while it is read has another state afterwards.
        let seen = state(&files);
        let config = RustlsConfig::from_config(read(&files)?);
        Ok(Self { files, config, seen })
    }

    /// Returns the settings for connections. They follow the certificate.
    pub fn config(&self) -> RustlsConfig {
        self.config.clone()
    }

    /// Reads the files again whenever they change, and on SIGHUP, until the future is dropped. While their contents
    /// cannot be used, for example because only one of the two was replaced so far, connections keep using what was
    /// read before.
    #[boxed]
    pub async fn keep_fresh(self) {
        let Self { files, config, mut seen } = self;
        let mut told = match signal(SignalKind::hangup()) {
            Ok(told) => told,
            Err(error) => {
                return tracing::warn!("SIGHUP cannot be received, so the certificate is not reloaded: {error}");
            }
        };
        let mut tick = tokio::time::interval(CHECK_INTERVAL);
        loop {
            let asked = tokio::select! {
                _ = tick.tick() => false,
                _ = told.recv() => true,
            };
            let now = state(&files);
            if !asked && now == seen {
                continue;
            }
            seen = now;
            match read(&files) {
                Ok(fresh) => {
                    config.reload_from_config(fresh);
                    tracing::info!(certificate = %files.certificate.display(), "the certificate was reloaded");
                }
                Err(error) => tracing::warn!("the certificate was not reloaded, the old one stays: {}", error.report()),
            }
        }
    }
}

/// Fingerprint that changes when a file is replaced; `None` for a file that cannot be inspected.
type State = [Option<(SystemTime, u64)>; 2];

fn state(files: &TlsFiles) -> State {
    [&files.certificate, &files.key].map(|file| {
        let found = std::fs::metadata(file).ok()?;
        Some((found.modified().ok()?, found.len()))
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn issue(folder: &Path) {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"])
            .args(["-subj", "/CN=localhost", "-keyout", "tls.key", "-out", "tls.crt"])
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    #[tokio::test]
    async fn a_certificate_that_was_replaced_before_the_files_are_watched_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        issue(folder.path());
        let of = |name: &str| folder.path().join(name);
        let served = ServedCertificate::read(TlsFiles { certificate: of("tls.crt"), key: of("tls.key") }).unwrap();
        let config = served.config();
        let first = config.get_inner();
        issue(folder.path());
        let watch = tokio::spawn(served.keep_fresh());
        let renewed = async {
            while Arc::ptr_eq(&first, &config.get_inner()) {
                // sleep: nothing reports a reload, so it is polled
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(CHECK_INTERVAL, renewed).await.expect("the second certificate is in use");
        watch.abort();
    }
}
