//! A proxy between a store and its S3 server that injects faults: errors, truncated, slow and altered responses, lost
//! replies, stale listings.
//!
//! It reads each request to its end before it forwards it, one per connection, so that each fault applies to a complete
//! exchange.

#![expect(clippy::panic, reason = "test support: a proxy that cannot listen is a failed test")]

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// Limit on the bytes of a message that are read.
const MAX_MESSAGE: usize = 64 << 20;

/// A fault that is injected into an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server never receives the request; the client gets this status and this S3 error code.
    Status(u16, &'static str),
    /// The response, and the connection, end after this many bytes of the body.
    Cut(usize),
    /// The response stalls for ever after this many bytes of the body.
    Stall(usize),
    /// The server never receives the request, and no response is ever sent.
    Silence,
    /// The lowest bit of this byte of the response body is flipped (of the last byte when the body is shorter).
    Flip(usize),
    /// Like `Flip`, but in the request's body, before the server receives it.
    FlipRequest(usize),
    /// The body is replaced by other bytes of the same length.
    OtherBytes,
    /// The server executes the request, but the client never gets the response.
    LoseReply,
    /// The response has status 200 and contains an error with this code.
    ErrorInside(&'static str),
    /// The server receives the request only after [`FaultProxy::release`].
    Hold,
    /// A listing gets the response that it got the first time.
    StaleList,
    /// The response body is not XML.
    Garbage,
}

/// A rule: the exchanges it matches, and the fault injected into them.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The method, such as `PUT`.
    pub method: &'static str,
    /// A substring of the request's target.
    pub target: &'static str,
    /// Number of matching exchanges that first pass unaltered.
    pub skip: usize,
    /// Number of exchanges into which the fault is then injected.
    pub times: usize,
    /// The fault.
    pub trouble: Fault,
}

impl Rule {
    /// Injects the fault into every matching exchange.
    pub fn always(method: &'static str, target: &'static str, trouble: Fault) -> Self {
        Self { method, target, skip: 0, times: usize::MAX, trouble }
    }

    /// Injects the fault into the next matching exchange.
    pub fn once(method: &'static str, target: &'static str, trouble: Fault) -> Self {
        Self { times: 1, ..Self::always(method, target, trouble) }
    }
}

/// A running proxy. Dropping it stops the proxy.
pub struct FaultProxy {
    address: String,
    shared: Arc<Shared>,
    listening: AbortHandle,
}

struct Shared {
    server: String,
    state: Mutex<State>,
    /// Has a permit for each held request that was released.
    released: Semaphore,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    spoilt: usize,
    seen: usize,
    listings: HashMap<String, Vec<u8>>,
}

impl FaultProxy {
    /// Listens on a free loopback port and forwards everything to `server`.
    pub async fn start(server: String) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let address = listener.local_addr().map_or_else(|e| panic!("no address: {e}"), |address| address.to_string());
        let shared = Arc::new(Shared { server, state: Mutex::default(), released: Semaphore::new(0) });
        let serving = shared.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let shared = serving.clone();
                // A client that disconnects is not the proxy's problem.
                tokio::spawn(async move { shared.exchange(client).await });
            }
        });
        Self { address, shared, listening: task.abort_handle() }
    }

    /// Address on which it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Replaces the rules and resets the counters.
    pub fn set(&self, rules: impl IntoIterator<Item = Rule>) {
        let mut state = self.shared.state();
        state.rules = rules.into_iter().collect();
        (state.spoilt, state.seen) = (0, 0);
    }

    /// Lets the server receive a request that is held, or the next one that will be.
    pub fn release(&self) {
        self.shared.released.add_permits(1);
    }

    /// Number of exchanges with an injected fault since the rules were set.
    pub fn spoilt(&self) -> usize {
        self.shared.state().spoilt
    }

    /// Number of all exchanges since the rules were set.
    pub fn seen(&self) -> usize {
        self.shared.state().seen
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// A request or a response.
struct Message {
    head: String,
    body: Vec<u8>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&self, request: &Message) -> Option<Fault> {
        let mut words = request.head.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut state = self.state();
        state.seen += 1;
        let rule = state.rules.iter_mut().find(|rule| rule.method == method && target.contains(rule.target))?;
        if rule.skip > 0 {
            rule.skip -= 1;
            return None;
        }
        rule.times = rule.times.checked_sub(1)?;
        let trouble = rule.trouble.clone();
        state.spoilt += 1;
        Some(trouble)
    }

    async fn exchange(&self, mut client: TcpStream) -> io::Result<()> {
        let Some(mut request) = read_message(&mut client, None).await? else { return Ok(()) };
        let trouble = self.trouble(&request);
        if let Some(Fault::Status(status, code)) = trouble {
            return reply(&mut client, status, error_xml(code).as_bytes()).await;
        }
        if trouble == Some(Fault::Silence) {
            never().await;
        }
        if trouble == Some(Fault::Hold) {
            // The semaphore is never closed.
            self.released.acquire().await.map_err(io::Error::other)?.forget();
        }
        if let Some(Fault::FlipRequest(at)) = trouble {
            flip(&mut request.body, at);
        }
        let mut server = TcpStream::connect(&self.server).await?;
        let head = request.head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
        server.write_all(head.as_bytes()).await?;
        server.write_all(&request.body).await?;
        let Some(mut answer) = read_message(&mut server, Some(&request.head)).await? else { return Ok(()) };
        let target = request.head.split(' ').nth(1).unwrap_or_default().to_owned();
        if target.contains("list-type=2") {
            let first = self.state().listings.entry(target).or_insert_with(|| answer.body.clone()).clone();
            if trouble == Some(Fault::StaleList) {
                return reply(&mut client, 200, &first).await;
            }
        }
        let mut sent = answer.body.len();
        match trouble {
            Some(Fault::LoseReply) => return Ok(()),
            Some(Fault::ErrorInside(code)) => return reply(&mut client, 200, error_xml(code).as_bytes()).await,
            Some(Fault::Garbage) => return reply(&mut client, 200, b"<html><p>Welcome to the hotel's network").await,
            Some(Fault::Cut(at) | Fault::Stall(at)) => sent = sent.min(at),
            Some(Fault::Flip(at)) => flip(&mut answer.body, at),
            Some(Fault::OtherBytes) => answer.body.iter_mut().enumerate().for_each(|(at, byte)| *byte = at as u8),
            _ => {}
        }
        client.write_all(answer.head.as_bytes()).await?;
        client.write_all(&answer.body[..sent]).await?;
        client.flush().await?;
        if let Some(Fault::Stall(_)) = trouble {
            never().await;
        }
        client.shutdown().await
    }
}

/// Waits longer than any client; the test's end cancels it.
async fn never() {
    tokio::time::sleep(Duration::from_secs(300)).await;
}

fn flip(body: &mut [u8], at: usize) {
    let at = at.min(body.len().saturating_sub(1));
    body.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
}

fn error_xml(code: &str) -> String {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>injected</Message></Error>")
}

async fn reply(client: &mut TcpStream, status: u16, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} Injected\r\nContent-Type: application/xml\r\nContent-Length: {}\r\nConnection: \
        close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes()).await?;
    client.write_all(body).await?;
    client.shutdown().await
}

/// Reads a request, or the response to the request in `answers`. `None` when the peer closes the connection first.
async fn read_message(stream: &mut TcpStream, answers: Option<&str>) -> io::Result<Option<Message>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if bytes.len() > MAX_MESSAGE || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let value = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
    };
    let length: Option<usize> = value("content-length").and_then(|length| length.parse().ok());
    let no_body = answers.map_or(length.is_none(), |request| request.starts_with("HEAD") || head.contains(" 204 "));
    if !no_body {
        // A response without a length ends with its connection.
        while length.is_none_or(|length| body.len() < length) {
            if body.len() > MAX_MESSAGE || stream.read_buf(&mut body).await? == 0 {
                break;
            }
        }
    }
    if answers.is_some() {
        // The client must not send another request on this connection.
        return Ok(Some(Message { head: head.replacen("\r\n", "\r\nConnection: close\r\n", 1), body }));
    }
    Ok(Some(Message { head, body }))
}
