//! The scenario of bench/lab-scenario without a generator: for each request one write and at least one read, each
//! connection after the other, and nothing else: no event loop, no times, no comparison. What it needs for a request is
//! what the system takes. Built with rustc alone.

use std::env::var;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Larger than any head of an answer with its document.
const BUFFER: usize = 1 << 20;

fn number(name: &str) -> usize {
    var(name).ok().and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is a number"))
}

/// Whether an answer is there as a whole, and good.
fn whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = std::str::from_utf8(&answer[..end]).expect("a head is text");
    assert!(head.starts_with("HTTP/1.1 20"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    answer.len() >= end + 4 + length.map_or(0, |length| length.parse().expect("a length is a number"))
}

fn main() {
    let paths = std::fs::read_to_string(var("LAB_PATHS").expect("LAB_PATHS names a file")).expect("the file of paths");
    let paths: Vec<&str> = paths.lines().collect();
    let (host, new) = (var("LAB_URL").expect("LAB_URL"), var("LAB_NEW").expect("LAB_NEW"));
    let host = host.trim_start_matches("http://");
    let body = vec![b'x'; number("LAB_SIZE")];
    let mut connections: Vec<TcpStream> =
        (0..number("LAB_USERS")).map(|_| TcpStream::connect(host).expect("a connection")).collect();
    for connection in &connections {
        connection.set_nodelay(true).expect("no delay");
    }
    let (mut request, mut answer) = (Vec::new(), vec![0; BUFFER]);
    let (mut sent, mut done) = (0, 0);
    let (start, end) = (Instant::now(), Duration::from_secs(number("LAB_SECONDS") as u64));
    while start.elapsed() < end {
        for connection in &mut connections {
            sent += 1;
            request.clear();
            if sent % 10 < 8 {
                let path = paths[sent * 7919 % paths.len()];
                write!(request, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("memory");
            } else {
                write!(request, "PUT {new}bare-{}-{sent} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n\r\n",
                    std::process::id(), body.len())
                    .expect("memory");
                request.extend_from_slice(&body);
            }
            connection.write_all(&request).expect("the request is sent");
        }
        for connection in &mut connections {
            let mut have = 0;
            while !whole(&answer[..have]) {
                let more = connection.read(&mut answer[have..]).expect("an answer");
                assert!(more > 0, "the server closed a connection");
                have += more;
            }
            done += 1;
        }
    }
    println!("lab-count {done} 0");
}
