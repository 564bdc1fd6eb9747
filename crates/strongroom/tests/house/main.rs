//! The house rules as tests: which room may know which, what may be built in, and how tidy the text is.
//!
//! They read the source tree only and start nothing, so that they answer within seconds.

mod arrows;
mod circles;
mod references;
mod supply;
mod tidy;

use std::path::PathBuf;
use std::process::Command;

/// The top of the repository.
fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the crate lies in crates/strongroom").to_path_buf()
}

/// What `cargo metadata` says, with the given further arguments.
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
