//! The house rules as tests: permitted dependencies between crates, stores that protocols do not
//! see, licences of libraries, and tidiness of the source.
//!
//! They only read the source tree and start nothing but `cargo metadata`, so they finish within seconds.

mod arrows;
mod boxed;
mod circles;
mod references;
mod stores;
mod supply;
mod tidy;
mod unchecked;

use std::path::PathBuf;
use std::process::Command;

/// The root directory of the repository.
fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the crate lies in crates/strongroom").to_path_buf()
}

/// The output of `cargo metadata` with additional arguments.
fn metadata(arguments: &[&str]) -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}
