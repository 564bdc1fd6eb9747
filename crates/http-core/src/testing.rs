//! Help for tests of this crate and of those above it.

#![expect(clippy::unwrap_used, reason = "a test helper: a failed expectation is a panic")]

use std::process::Command;

/// Set in the process that runs one test alone.
const ALONE: &str = "STRONGROOM_TEST_ALONE";

/// Runs the named test of a module again, alone in a child process. Returns true in that process.
pub fn is_alone(module: &str, test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = format!("{}::{test}", module.split_once("::").unwrap().1);
    // Freed memory is returned to the system, so that memory in use can be told from memory used earlier.
    command.args(["--exact", &name, "--nocapture"]).env(ALONE, "1");
    let output = command.env("MALLOC_TRIM_THRESHOLD_", "131072").env("MALLOC_ARENA_MAX", "2").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    println!("{said}");
    false
}
