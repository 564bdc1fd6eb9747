//! Helpers that turn the input of fuzz targets into values, for all protocols.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Parses header fields from lines of `name: value`, as hyper would accept them. Other lines are skipped.
pub fn headers(input: &[u8]) -> HeaderMap {
    let lines = input.split(|byte| *byte == b'\n').take(64);
    let mut headers = HeaderMap::new();
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    headers
}

/// Runs a future that never waits for anything external.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime =
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    }
    RUNTIME.with(|runtime| runtime.block_on(work))
}
