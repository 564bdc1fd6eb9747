//! A search server behind TLS that asks for a user and a password.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use database::Engine as DatabaseEngine;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::opensearch::shared;
use crate::shared::put;
use crate::support::Farm;
use crate::words::{names, search, wait_for_results};

const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../blobs/tests/tls");

/// Reads a message of HTTP with its body; nothing at the end of the stream.
fn message(stream: &mut impl Read) -> Vec<u8> {
    let (mut message, mut byte) = (Vec::new(), [0]);
    while !message.ends_with(b"\r\n\r\n") {
        if !stream.read(&mut byte).is_ok_and(|length| length == 1) {
            return Vec::new();
        }
        message.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&message).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    if stream.read_exact(&mut body).is_err() {
        return Vec::new();
    }
    message.append(&mut body);
    message
}

/// Passes requests with this user and password on to the search server of all tests.
fn guarded(user: &'static str) -> String {
    let place = Path::new(CERTIFICATES);
    let certificate = CertificateDer::from_pem_file(place.join("certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(place.join("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("localhost:{}", listener.local_addr().unwrap().port());
    let behind = shared().trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, behind) = (config.clone(), behind.clone());
            std::thread::spawn(move || {
                let mut client = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
                let mut server = TcpStream::connect(behind).unwrap();
                let wanted = format!("authorization: basic {}", STANDARD.encode(user).to_lowercase());
                loop {
                    let request = message(&mut client);
                    if request.is_empty() {
                        return;
                    }
                    let answer = if String::from_utf8_lossy(&request).to_lowercase().contains(&wanted) {
                        server.write_all(&request).unwrap();
                        message(&mut server)
                    } else {
                        b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\n{}".to_vec()
                    };
                    if client.write_all(&answer).is_err() || client.flush().is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_behind_tls_is_trusted_and_a_password_comes_from_a_file() {
    let (address, place) = (guarded("strongroom:pass: word"), tempfile::tempdir().unwrap());
    let (right, wrong) = (place.path().join("right"), place.path().join("wrong"));
    std::fs::write(&right, "pass: word\n").unwrap();
    std::fs::write(&wrong, "another password").unwrap();
    let url = format!("https://strongroom@{address}");
    let certificates = format!("{CERTIFICATES}/certificate.pem");
    for (password, certificates, is_found) in
        [(&right, Some(&certificates), true), (&wrong, Some(&certificates), false), (&right, None, false)]
    {
        let mut farm = Farm::on(DatabaseEngine::Sqlite).await;
        let mut settings = vec![
            "env".to_owned(),
            format!("STRONGROOM_SEARCH_SERVER={url}"),
            format!("STRONGROOM_SEARCH_SERVER_PASSWORD_FILE={}", password.display()),
        ];
        settings.extend(certificates.map(|path| format!("STRONGROOM_SEARCH_SERVER_CERTIFICATES={path}")));
        farm.command_prefix = settings;
        let server = farm.start();
        let client = server.client(&farm.token());
        put(&client, "plan.txt", "a heron in the reeds").await;
        if is_found {
            wait_for_results(&client, "heron", &["plan.txt"]).await;
        } else {
            assert_eq!(names(&client, "plan").await, ["plan.txt"], "names are found");
            assert_eq!(search(&client, "heron").await["texts"], "unavailable");
        }
        let log = server.output();
        assert!(!log.contains("pass: word") && !log.contains("another password"), "{log}");
    }
}
