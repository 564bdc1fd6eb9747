//! The certificate: read from its files, and read again when they change or SIGHUP comes, so that a new one needs no
//! restart.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum_server::tls_rustls::RustlsConfig;
use model::{Error, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::signal::unix::{SignalKind, signal};

use crate::server::TlsFiles;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(10);

/// Reads the certificate and its key, which must belong together.
pub fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|e| bad_pem("certificate", &files.certificate, e))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|e| bad_pem("private key", &files.key, e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|e| bad_pem("certificate", &files.certificate, e))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn bad_pem(what: &str, file: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::invalid(format!("the {what} in {} cannot be used: {error}", file.display())).with_source(error)
}

/// Reads the files again whenever they change, and at SIGHUP, until it is dropped. While what they hold cannot be used,
/// such as when only one of the two was replaced so far, connections go on with what was read before.
pub async fn keep_fresh(files: TlsFiles, config: RustlsConfig) {
    let mut told = match signal(SignalKind::hangup()) {
        Ok(told) => told,
        Err(error) => return tracing::warn!("SIGHUP cannot be received, certificates stay as they are: {error}"),
    };
    let mut tick = tokio::time::interval(LOOK);
    let mut seen = state(&files);
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
                tracing::info!(certificate = %files.certificate.display(), "the certificate was read again");
            }
            Err(error) => tracing::warn!("the certificate stays the one that was read before: {}", error.report()),
        }
    }
}

/// What tells that a file is another one than before; none for one that cannot be looked at.
type State = [Option<(SystemTime, u64)>; 2];

fn state(files: &TlsFiles) -> State {
    [&files.certificate, &files.key].map(|file| {
        let found = std::fs::metadata(file).ok()?;
        Some((found.modified().ok()?, found.len()))
    })
}
