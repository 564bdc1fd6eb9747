//! A load generator for uploads and downloads of whole files over HTTP/1.1: a thread and a connection each.
//!
//! It exists beside `wrk` because bodies of megabytes starve connections there, and because every upload must have
//! bytes of its own at no cost: all uploads are windows into one random buffer, behind a number of their own. It knows
//! no server. Built by `bench/lib.sh` with rustc alone, without any library.
//!
//!     load put HOST:PORT PREFIX RUN BYTES CONNECTIONS SECONDS AUTHORIZATION|- load get HOST:PORT PREFIX FILES BYTES
//!     CONNECTIONS SECONDS AUTHORIZATION|- load page HOST:PORT PATH 1 0 CONNECTIONS SECONDS AUTHORIZATION|- load paths
//!     HOST:PORT LIST 1 PAUSE CONNECTIONS SECONDS AUTHORIZATION|- load fill HOST:PORT PREFIX FILES BYTES CONNECTIONS 0
//!     AUTHORIZATION|-
//!
//! `put` uploads PREFIX/RUN/DD/N.bin for the given time, `fill` uploads PREFIX/0.bin to PREFIX/(FILES-1).bin, `get`
//! reads these in random order and checks their length, `page` asks for the same path again and again, `paths` for
//! those in the lines of the file LIST, one after the other, with pauses between requests of PAUSE milliseconds on
//! average. Prints: RESULT requests microseconds refused broken p50 p99, the last two in microseconds; a refused
//! request was answered with an error, a broken one not at all.

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const WINDOW: usize = 1 << 20;

#[derive(Clone)]
struct Plan {
    mode: String,
    host: String,
    prefix: String,
    run: String,
    bytes: usize,
    connections: u64,
    seconds: u64,
    authorization: String,
    /// Paths to ask for in turn.
    paths: Vec<String>,
}

#[derive(Default)]
struct Tally {
    done: u64,
    refused: u64,
    broken: u64,
    micros: Vec<u32>,
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// One connection and the bytes of it that were read but not used.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

impl Connection {
    fn open(host: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        Ok(Self { stream, buffer: vec![0; 1 << 18], filled: 0 })
    }

    fn send(&mut self, parts: [&[u8]; 3]) -> io::Result<()> {
        let mut slices = parts.map(IoSlice::new);
        let mut rest: &mut [IoSlice<'_>] = &mut slices;
        while !rest.is_empty() {
            let sent = self.stream.write_vectored(rest)?;
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            IoSlice::advance_slices(&mut rest, sent);
        }
        Ok(())
    }

    fn more(&mut self) -> io::Result<()> {
        let got = self.stream.read(&mut self.buffer[self.filled..])?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.filled += got;
        Ok(())
    }

    fn drop_first(&mut self, count: usize) {
        self.buffer.copy_within(count..self.filled, 0);
        self.filled -= count;
    }

    fn head(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.buffer[..self.filled].windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
                self.drop_first(end + 4);
                return Ok(head);
            }
            self.more()?;
        }
    }

    fn skip(&mut self, mut count: u64) -> io::Result<()> {
        loop {
            let now = count.min(self.filled as u64);
            count -= now;
            if now as usize == self.filled {
                self.filled = 0;
            } else {
                self.drop_first(now as usize);
            }
            if count == 0 {
                return Ok(());
            }
            self.more()?;
        }
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.buffer[..self.filled].windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.drop_first(end + 2);
                return Ok(line);
            }
            self.more()?;
        }
    }

    /// Reads one answer: its status and the length of its body.
    fn answer(&mut self) -> io::Result<(u16, u64)> {
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let head = self.head()?;
        let status: u16 = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(bad)?;
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let mut length = 0;
        if let Some(announced) = field("content-length:") {
            length = announced.parse().map_err(|_| bad())?;
            self.skip(length)?;
        } else if field("transfer-encoding:").is_some() {
            loop {
                let size = self.line()?;
                let size = u64::from_str_radix(size.split(';').next().unwrap_or("").trim(), 16).map_err(|_| bad())?;
                self.skip(size + 2)?;
                length += size;
                if size == 0 {
                    break;
                }
            }
        } else if status != 204 && status != 201 {
            return Err(bad());
        }
        if field("connection:") == Some("close") {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok((status, length))
    }
}

fn worker(plan: &Plan, number: u64, next: &AtomicU64, random_bytes: &[u8], end: Instant) -> Tally {
    let mut tally = Tally::default();
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (number + 1) << 17);
    let field = match plan.authorization.as_str() {
        "-" => String::new(),
        value => format!("Authorization: {value}\r\n"),
    };
    let files: u64 = if plan.mode == "put" { 0 } else { plan.run.parse().unwrap_or(1) };
    let reads = ["get", "page", "paths"].contains(&plan.mode.as_str());
    let mut connection = Connection::open(&plan.host).ok();
    let pause = if plan.mode == "paths" { plan.bytes as u64 * 1_000 } else { 0 };
    for count in 0.. {
        if pause > 0 {
            thread::sleep(Duration::from_micros(random.next() % (2 * pause)));
        }
        let started = Instant::now();
        let in_turn = plan.mode == "fill" || plan.mode == "paths";
        let taken = if in_turn { next.fetch_add(1, Ordering::Relaxed) } else { count };
        if plan.mode == "fill" && taken >= files || plan.mode != "fill" && started >= end {
            break;
        }
        let path = match plan.mode.as_str() {
            "put" => format!("{}/{}/{:02}/{number}-{count}.bin", plan.prefix, plan.run, count % 64),
            "page" => plan.prefix.clone(),
            "paths" => plan.paths[taken as usize % plan.paths.len()].clone(),
            "fill" => format!("{}/{taken}.bin", plan.prefix),
            _ => format!("{}/{}.bin", plan.prefix, random.next() % files),
        };
        let outcome = connection.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into()).and_then(|connection| {
            if reads {
                let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{field}\r\n");
                connection.send([head.as_bytes(), &[], &[]])?;
            } else {
                let own = format!("{}|{}|{number}|{taken}|", plan.prefix, plan.run);
                let own = &own.as_bytes()[..own.len().min(plan.bytes)];
                let from = (random.next() % WINDOW as u64) as usize;
                let head = format!(
                    "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{field}Content-Type: application/octet-stream\r\n\
                     Content-Length: {}\r\n\r\n",
                    plan.bytes
                );
                connection.send([head.as_bytes(), own, &random_bytes[from..from + plan.bytes - own.len()]])?;
            }
            connection.answer()
        });
        if plan.mode != "fill" && Instant::now() > end {
            break;
        }
        match outcome {
            Ok((status, length)) if status < 300 && (plan.mode != "get" || length == plan.bytes as u64) => {
                tally.done += 1;
                tally.micros.push(started.elapsed().as_micros().min(u128::from(u32::MAX)) as u32);
            }
            Ok((status, length)) => {
                if tally.refused == 0 {
                    eprintln!("{path}: status {status}, {length} bytes");
                }
                tally.refused += 1;
            }
            Err(error) => {
                if tally.broken == 0 {
                    eprintln!("{path}: {error}");
                }
                tally.broken += 1;
                connection = Connection::open(&plan.host).ok();
                if connection.is_none() || tally.broken > 1000 {
                    break;
                }
            }
        }
    }
    tally
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [mode, host, prefix, run, bytes, connections, seconds, authorization] = words.as_slice() else {
        eprintln!("load put|get|page|paths|fill HOST:PORT PREFIX RUN|FILES BYTES CONNECTIONS SECONDS AUTHORIZATION|-");
        std::process::exit(2);
    };
    let number = |text: &String| text.parse::<u64>().unwrap_or_else(|_| panic!("{text} is not a number"));
    let plan = Plan {
        mode: mode.clone(),
        host: host.clone(),
        prefix: prefix.clone(),
        run: run.clone(),
        bytes: number(bytes) as usize,
        connections: number(connections),
        seconds: number(seconds),
        authorization: authorization.clone(),
        paths: match mode.as_str() {
            "paths" => {
                std::fs::read_to_string(prefix).expect("a list of paths").lines().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        },
    };
    assert!(mode != "paths" || !plan.paths.is_empty(), "the list has no paths");
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |time| time.as_nanos());
    let mut random = Random(clock as u64 | 1);
    let uploads = plan.mode == "put" || plan.mode == "fill";
    let words = if uploads { (plan.bytes + WINDOW) / 8 + 1 } else { 0 };
    let bytes: Arc<Vec<u8>> = Arc::new((0..words).flat_map(|_| random.next().to_le_bytes()).collect());
    let next = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    let end = started + Duration::from_secs(plan.seconds);
    let workers: Vec<_> = (0..plan.connections)
        .map(|number| {
            let (plan, next, bytes) = (plan.clone(), Arc::clone(&next), Arc::clone(&bytes));
            thread::spawn(move || worker(&plan, number, &next, &bytes, end))
        })
        .collect();
    let mut sum = Tally::default();
    for worker in workers {
        let tally = worker.join().unwrap_or_default();
        sum.done += tally.done;
        sum.refused += tally.refused;
        sum.broken += tally.broken;
        sum.micros.extend(tally.micros);
    }
    let micros = if plan.mode == "fill" { started.elapsed() } else { Duration::from_secs(plan.seconds) }.as_micros();
    sum.micros.sort_unstable();
    let at = |share: usize| sum.micros.get(sum.micros.len() * share / 100).copied().unwrap_or(0);
    println!("RESULT {} {micros} {} {} {} {}", sum.done, sum.refused, sum.broken, at(50), at(99));
}
