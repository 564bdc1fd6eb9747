//! Benchmark of a directory store, compared with one file per BLOB and with plain reads without verification.
//!
//! `cargo run --release -p blobs --example store_bench -- DIRECTORY [MEGABYTES] [key=value ...]`
//!
//! Each measurement writes `MEGABYTES` (default 512) of fresh content after a warm-up of the same volume. Keys:
//! `writers`, `zero_fill` (0 or 1), `segment_limit`, `batch_bytes`, `segment_bytes`, `sizes` (comma-separated),
//! `putters`, `only` (`put`, `get` or `base`). Nothing is deleted between measurements: deleting would distort the next
//! one.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measuring tool: a failure is a panic")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use blobs::{BlobStore, DirectoryOptions, Owner, Stored};
use bytes::Bytes;
use model::Digest;

struct Settings {
    root: PathBuf,
    volume: usize,
    sizes: Vec<usize>,
    putters: Vec<usize>,
    only: Option<String>,
    options: DirectoryOptions,
}

fn settings() -> Settings {
    let mut args = std::env::args().skip(1);
    let root = PathBuf::from(args.next().unwrap_or_else(|| "store-bench".into()));
    let mut settings = Settings {
        root,
        volume: 512 << 20,
        sizes: vec![10_000, 100_000, 1_000_000, 10_000_000],
        putters: vec![16, 64],
        only: None,
        options: DirectoryOptions::default(),
    };
    for arg in args {
        let (key, value) = arg.split_once('=').unwrap_or(("volume", &arg));
        let list = || value.split(',').map(|v| v.parse().unwrap()).collect::<Vec<usize>>();
        match key {
            "volume" => settings.volume = list()[0] << 20,
            "sizes" => settings.sizes = list(),
            "putters" => settings.putters = list(),
            "only" => settings.only = Some(value.to_owned()),
            "writers" => settings.options.writers = list()[0],
            "zero_fill" => settings.options.zero_fill = value == "1",
            "segment_limit" => settings.options.segment_limit = list()[0] as u64,
            "segment_bytes" => settings.options.segment_bytes = list()[0] as u64,
            "batch_bytes" => settings.options.batch_bytes = list()[0] as u64,
            other => println!("unknown key {other}"),
        }
    }
    settings
}

#[tokio::main]
async fn main() {
    let settings = settings();
    let wanted = |what: &str| settings.only.as_deref().is_none_or(|only| only == what);
    std::fs::create_dir_all(&settings.root).unwrap();
    println!("{:?}", settings.options);
    println!("{:<34}{:>10}{:>9}{:>9}{:>9}{:>9}", "", "per second", "MB/s", "p50 ms", "p99 ms", "max ms");
    let owner = Owner::new("bench").unwrap();
    let store =
        BlobStore::open_directory(&settings.root.join("store"), &owner, settings.options.clone()).await.unwrap();
    let mut seed = Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id()) << 32;
    for &size in &settings.sizes {
        let count = (settings.volume / size).clamp(20, 60_000);
        for &putters in &settings.putters {
            for warm in [true, false] {
                seed += count as u64;
                if wanted("put") {
                    report(warm, "put", size, putters, puts(&store, size, count, putters, seed).await);
                }
            }
            if wanted("base") {
                let directory = settings.root.join(format!("files-{size}-{putters}-{}", std::process::id()));
                std::fs::create_dir_all(&directory).unwrap();
                report(false, "file per BLOB", size, putters, files(&directory, size, count, putters).await);
            }
        }
        if wanted("get") {
            gets(&store, &settings, size, count.min(3000), seed + 1_000_000_007).await;
        }
    }
    store.close().await;
}

/// Content that is unique per call and cheap to make, so that the store never deduplicates it.
fn content(template: &Bytes, number: u64) -> (Digest, Bytes) {
    let mut bytes = template.to_vec();
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    let mut digest = [0; 32];
    blake3::Hasher::new().update(&number.to_le_bytes()).finalize_xof().fill(&mut digest);
    (Digest::new(digest), Bytes::from(bytes))
}

type Measured = (Duration, Vec<Duration>);

fn report(warm: bool, what: &str, size: usize, at_once: usize, (total, mut times): Measured) {
    if warm {
        return;
    }
    times.sort_unstable();
    let rate = times.len() as f64 / total.as_secs_f64();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!(
        "{:<34}{rate:>10.0}{:>9.0}{:>9.2}{:>9.2}{:>9.2}",
        format!("{what}, {size} bytes, {at_once} at once"),
        rate * size as f64 / 1e6,
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

async fn puts(store: &BlobStore, size: usize, count: usize, putters: usize, seed: u64) -> Measured {
    let template = blobs::testing::random_bytes(seed, size);
    let next = Arc::new(AtomicUsize::new(0));
    let started = Instant::now();
    let tasks: Vec<_> = (0..putters)
        .map(|_| {
            let (store, template, next) = (store.clone(), template.clone(), next.clone());
            tokio::spawn(async move {
                let mut times = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return times;
                    }
                    let (digest, bytes) = content(&template, seed + number as u64);
                    let began = Instant::now();
                    store.put(digest, bytes).await.unwrap();
                    times.push(began.elapsed());
                }
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    (started.elapsed(), times)
}

/// Baseline, a server without segments: write, fdatasync, rename, fsync of the directory.
async fn files(directory: &Path, size: usize, count: usize, putters: usize) -> Measured {
    let template = blobs::testing::random_bytes(size as u64, size);
    let next = Arc::new(AtomicUsize::new(0));
    let started = Instant::now();
    let tasks: Vec<_> = (0..putters)
        .map(|_| {
            let (directory, template, next) = (directory.to_path_buf(), template.clone(), next.clone());
            tokio::task::spawn_blocking(move || {
                let mut times = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return times;
                    }
                    let (digest, bytes) = content(&template, number as u64);
                    let began = Instant::now();
                    let temporary = directory.join(format!("{digest}.part"));
                    let file = File::create(&temporary).unwrap();
                    file.write_all_at(&bytes, 0).unwrap();
                    file.sync_data().unwrap();
                    std::fs::rename(&temporary, directory.join(digest.to_string())).unwrap();
                    File::open(&directory).unwrap().sync_all().unwrap();
                    times.push(began.elapsed());
                }
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    (started.elapsed(), times)
}

/// Measures reads from the page cache; each delivered byte is copied once, as a socket would.
async fn gets(store: &BlobStore, settings: &Settings, size: usize, count: usize, seed: u64) {
    let template = blobs::testing::random_bytes(seed, size);
    let mut all = Vec::new();
    for number in 0..count as u64 {
        let (digest, bytes) = content(&template, seed + number);
        all.push(store.put(digest, bytes).await.unwrap());
    }
    let all = Arc::new(all);
    let plain = settings.root.join(format!("plain-{size}"));
    std::fs::write(&plain, vec![1u8; size * count]).unwrap();
    let rounds = (4 * settings.volume / size).clamp(count, 200_000);
    for at_once in [1, 16] {
        for warm in [true, false] {
            report(warm, "get, verified", size, at_once, read(store, &all, rounds, at_once).await);
            report(warm, "plain pread", size, at_once, preads(&plain, size, count, rounds, at_once).await);
        }
    }
}

async fn read(store: &BlobStore, all: &Arc<Vec<Stored>>, rounds: usize, at_once: usize) -> Measured {
    let started = Instant::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|task| {
            let (store, all) = (store.clone(), all.clone());
            tokio::spawn(async move {
                let mut times = Vec::new();
                let mut socket = vec![0; 64 * 1024];
                for round in 0..rounds / at_once {
                    let stored = &all[(task * 7919 + round * 31) % all.len()];
                    let began = Instant::now();
                    let mut reader = store.open(stored.digest, stored.size, Some(&stored.locator)).await.unwrap();
                    match reader.try_whole() {
                        Some(whole) => send(&whole.unwrap(), &mut socket),
                        None => {
                            while let Some(chunk) = reader.next_chunk().await.unwrap() {
                                send(&chunk, &mut socket);
                            }
                        }
                    }
                    times.push(began.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    (started.elapsed(), times)
}

async fn preads(path: &Path, size: usize, count: usize, rounds: usize, at_once: usize) -> Measured {
    let file = Arc::new(File::open(path).unwrap());
    let started = Instant::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|task| {
            let file = file.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                let (mut socket, mut buffer) = (vec![0; 64 * 1024], vec![0; 256 * 1024]);
                for round in 0..rounds / at_once {
                    let began = Instant::now();
                    let start = ((task * 7919 + round * 31) % count) * size;
                    for at in (0..size).step_by(buffer.len()) {
                        let want = (size - at).min(buffer.len());
                        file.read_exact_at(&mut buffer[..want], (start + at) as u64).unwrap();
                        send(&buffer[..want], &mut socket);
                    }
                    times.push(began.elapsed());
                    tokio::task::yield_now().await;
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    (started.elapsed(), times)
}

fn send(bytes: &[u8], socket: &mut [u8]) {
    for part in bytes.chunks(socket.len()) {
        socket[..part.len()].copy_from_slice(part);
        std::hint::black_box(&socket);
    }
}
