//! A watchdog that ends the test run if a test hangs, and prints where its processes wait.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any test takes on a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(20 * 60);
const INTERVAL: Duration = Duration::from_secs(5);

/// Registration of a running test's farm, for as long as it exists.
pub struct Watched(u64);

type Tests = HashMap<u64, (String, Instant)>;

fn tests() -> MutexGuard<'static, Tests> {
    static TESTS: OnceLock<Mutex<Tests>> = OnceLock::new();
    let tests = TESTS.get_or_init(|| {
        thread::spawn(watch);
        Mutex::default()
    });
    tests.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    /// Registers the test that runs in this thread.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = thread::current().name().unwrap_or("a test").to_owned();
        tests().insert(id, (name, Instant::now()));
        Self(id)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        tests().remove(&self.0);
    }
}

fn watch() {
    loop {
        // sleep: the interval of the watchdog
        thread::sleep(INTERVAL);
        let hanging = tests().values().find(|(_, since)| since.elapsed() > TIMEOUT).map(|(name, _)| name.clone());
        if let Some(name) = hanging {
            let minutes = TIMEOUT.as_secs() / 60;
            let mut said = format!("\ntest {name} hangs: it has not ended within {minutes} minutes. Processes:\n");
            describe(std::process::id(), 0, &mut said);
            // The test harness would hold back the output of `eprintln!` until the test ends.
            let _ = std::io::stderr().write_all(said.as_bytes());
            std::process::exit(1);
        }
    }
}

/// Appends a process and its descendants, with the system calls in which their threads wait.
fn describe(process: u32, depth: usize, said: &mut String) {
    let directory = Path::new("/proc").join(process.to_string());
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default().replace('\0', " ");
    let indent = "  ".repeat(depth);
    said.push_str(&format!("{indent}{process} {}\n", read(&directory.join("cmdline"))));
    for task in std::fs::read_dir(directory.join("task")).into_iter().flatten().flatten() {
        let part = |name: &str| read(&task.path().join(name)).trim().to_owned();
        said.push_str(&format!("{indent}  {}: {} {}\n", part("comm"), part("wchan"), part("syscall")));
        for child in part("children").split_whitespace().filter_map(|child| child.parse().ok()) {
            describe(child, depth + 1, said);
        }
    }
}
