//! The scenario of bench/lab-scenario for goose: eight of ten get one of the documents, two put one. The paths are in
//! the file that LAB_PATHS names, new documents go below LAB_NEW, and each has LAB_SIZE bytes. With LAB_COMPARE each
//! document is compared with what it must be.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use goose::prelude::*;

static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let file = std::env::var("LAB_PATHS").expect("LAB_PATHS names a file");
    std::fs::read_to_string(file).expect("the file of paths").lines().map(str::to_owned).collect()
});
/// What the documents must be; nothing when they are not compared.
static CONTENTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    if std::env::var_os("LAB_COMPARE").is_none() {
        return Vec::new();
    }
    let files = std::env::var("LAB_FILES").expect("LAB_FILES names a directory");
    let read = |path: &String| std::fs::read(files.clone() + &path.replace("%20", " ")).expect("the document is there");
    PATHS.iter().map(read).collect()
});
static NEW: LazyLock<String> = LazyLock::new(|| std::env::var("LAB_NEW").expect("LAB_NEW names a place"));
static BODY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let size = std::env::var("LAB_SIZE").ok().and_then(|size| size.parse().ok()).expect("LAB_SIZE is a number");
    vec![b'x'; size]
});
static DONE: AtomicU64 = AtomicU64::new(0);
static FAILED: AtomicU64 = AtomicU64::new(0);

fn count(good: bool) {
    if good { &DONE } else { &FAILED }.fetch_add(1, Ordering::Relaxed);
}

async fn get(user: &mut GooseUser) -> TransactionResult {
    let number = (DONE.load(Ordering::Relaxed) as usize).wrapping_mul(7919) % PATHS.len();
    let answer = user.get_named(&PATHS[number], "get").await?;
    let good = match answer.response {
        Ok(response) => response.bytes().await.is_ok_and(|bytes| match CONTENTS.get(number) {
            Some(content) => bytes == content[..],
            None => bytes.len() == BODY.len(),
        }),
        Err(_) => false,
    };
    count(good);
    Ok(())
}

async fn put(user: &mut GooseUser) -> TransactionResult {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let path = format!("{}goose-{}", *NEW, NEXT.fetch_add(1, Ordering::Relaxed));
    let request = user.get_request_builder(&GooseMethod::Put, &path)?.body(BODY.clone());
    let request = GooseRequest::builder().name("put").set_request_builder(request).build();
    let answer = user.request(request).await?;
    count(answer.response.is_ok_and(|response| response.status().is_success()));
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), GooseError> {
    let scenario = scenario!("documents")
        .register_transaction(transaction!(get).set_weight(8)?)
        .register_transaction(transaction!(put).set_weight(2)?);
    GooseAttack::initialize()?.register_scenario(scenario).execute().await?;
    println!("lab-count {} {}", DONE.load(Ordering::Relaxed), FAILED.load(Ordering::Relaxed));
    Ok(())
}
