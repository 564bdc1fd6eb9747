//! Benchmark that copies a directory of files into an object store or back, and prints the elapsed seconds.
//!
//! `object_bench up|down ENDPOINT BUCKET PREFIX DIRECTORY TRANSFERS [KEY=VALUE ...]`, with the credential in
//! `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`. `up` writes the list of stored BLOBs to `DIRECTORY.list`, from
//! which `down` reads it; `down` writes into `DIRECTORY.out`. Keys: `compression` (a level), `encryption` (1).
//! `bench/s3` runs it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measuring tool: a failure is a panic")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use blobs::{BlobStore, ObjectOptions, ObjectSecrets, Owner, StoreKey};
use bytes::Bytes;
use model::Digest;

const PIECE_SIZE: usize = 256 << 10;

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [way, endpoint, bucket, prefix, directory, transfers] = &args[..6] else { panic!("six arguments") };
    let mut options = ObjectOptions {
        endpoint: Some(endpoint.clone()),
        bucket: bucket.clone(),
        prefix: prefix.clone(),
        allow_http: true,
        ..Default::default()
    };
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mut secrets = ObjectSecrets {
        key_id: variable("AWS_ACCESS_KEY_ID"),
        secret: variable("AWS_SECRET_ACCESS_KEY"),
        ..Default::default()
    };
    for pair in &args[6..] {
        match pair.split_once('=').unwrap() {
            ("compression", level) => options.compression = Some(level.parse().unwrap()),
            ("encryption", _) => secrets.encryption_keys = vec![StoreKey::from_bytes([7; 32])],
            (key, _) => panic!("unknown key {key}"),
        }
    }
    let start = Instant::now();
    let store = BlobStore::open_object(&options, &secrets, &Owner::new("bench").unwrap()).await.unwrap();
    let (directory, transfers) = (PathBuf::from(directory), transfers.parse().unwrap());
    match way.as_str() {
        "up" => up(store, &directory, transfers).await,
        _ => down(store, &directory, transfers).await,
    }
    println!("{:.3}", start.elapsed().as_secs_f64());
}

fn list_of(directory: &Path) -> PathBuf {
    directory.with_extension("list")
}

/// Runs `work` on all items, up to `transfers` of them concurrently.
async fn all<T, R, F>(items: Vec<T>, transfers: usize, work: impl Fn(T) -> F + Clone + Send + Sync + 'static) -> Vec<R>
where
    T: Clone + Send + Sync + 'static,
    R: Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    let (items, next) = (Arc::new(items), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<_> = (0..transfers)
        .map(|_| {
            let (items, next, work) = (items.clone(), next.clone(), work.clone());
            tokio::spawn(async move {
                let mut done = Vec::new();
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    done.push(work(item.clone()).await);
                }
                done
            })
        })
        .collect();
    let mut done = Vec::new();
    for task in tasks {
        done.extend(task.await.unwrap());
    }
    done
}

async fn up(store: BlobStore, directory: &Path, transfers: usize) {
    let files: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    let stored = all(files, transfers, move |path| {
        let store = store.clone();
        async move {
            let mut file = std::fs::File::open(&path).unwrap();
            let mut writer = store.writer(Some(file.metadata().unwrap().len())).await.unwrap();
            loop {
                let mut piece = vec![0; PIECE_SIZE];
                let read = file.read(&mut piece).unwrap();
                if read == 0 {
                    break writer.finish().await.unwrap();
                }
                piece.truncate(read);
                writer.write(Bytes::from(piece)).await.unwrap();
            }
        }
    })
    .await;
    let lines: String = stored.iter().map(|stored| format!("{} {}\n", stored.digest, stored.size)).collect();
    std::fs::write(list_of(directory), lines).unwrap();
}

async fn down(store: BlobStore, directory: &Path, transfers: usize) {
    let target = directory.with_extension("out");
    std::fs::create_dir_all(&target).unwrap();
    let list = std::fs::read_to_string(list_of(directory)).unwrap();
    let blobs: Vec<(Digest, u64)> = list
        .lines()
        .map(|line| {
            let (digest, size) = line.split_once(' ').unwrap();
            (digest.parse().unwrap(), size.parse().unwrap())
        })
        .collect();
    all(blobs, transfers, move |(digest, size)| {
        let (store, path) = (store.clone(), target.join(digest.to_string()));
        async move {
            let mut reader = store.open(digest, size, None).await.unwrap();
            let mut file = std::fs::File::create(path).unwrap();
            while let Some(chunk) = reader.next_chunk().await.unwrap() {
                file.write_all(&chunk).unwrap();
            }
        }
    })
    .await;
}
