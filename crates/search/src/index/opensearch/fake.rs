//! A search server for tests that answers as a test says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::server::SearchServer;

/// A request that has arrived.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Method and path with its parameters.
    pub(super) line: String,
    pub(super) body: String,
}

/// What a test makes of a request: a status and a body.
pub(super) type Answering = dyn Fn(&Request) -> (u16, String) + Send + Sync;

/// A server on this machine.
pub(super) struct Fake {
    /// The server as this crate asks it.
    pub(super) server: SearchServer,
    requests: Arc<Mutex<Vec<Request>>>,
    sent: Arc<AtomicUsize>,
}

impl Fake {
    pub(super) fn new(answer: impl Fn(&Request) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (requests, sent, answer) = (Arc::default(), Arc::default(), Arc::new(answer));
        let (kept, counted): (Arc<Mutex<Vec<Request>>>, Arc<AtomicUsize>) = (Arc::clone(&requests), Arc::clone(&sent));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, counted, answer) = (kept.clone(), counted.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, &kept, &counted, &*answer));
            }
        });
        Self { server: SearchServer::new(&url, "fake", None, None).unwrap(), requests, sent }
    }

    /// All requests so far.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Bytes of the bodies that this process has taken, with what waits in buffers of the system.
    pub(super) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }
}

fn serve(mut stream: TcpStream, requests: &Mutex<Vec<Request>>, sent: &AtomicUsize, answer: &Answering) {
    while let Some(request) = read(&mut stream) {
        requests.lock().unwrap().push(request.clone());
        let (status, body) = answer(&request);
        let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n\r\n", body.len());
        if stream.write_all(head.as_bytes()).is_err() {
            return;
        }
        for piece in body.as_bytes().chunks(64 << 10) {
            if stream.write_all(piece).is_err() {
                return;
            }
            sent.fetch_add(piece.len(), Ordering::Relaxed);
        }
    }
}

/// Reads a request; nothing at the end of the connection.
fn read(stream: &mut TcpStream) -> Option<Request> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
    Some(Request { line, body: String::from_utf8_lossy(&body).into_owned() })
}
