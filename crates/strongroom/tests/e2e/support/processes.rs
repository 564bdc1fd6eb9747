//! Information about processes from `/proc`.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Returns whether a process exists. A zombie does not count.
pub fn exists(id: u32) -> bool {
    stat(id).is_some_and(|(state, _)| state != "Z")
}

/// State and parent of a process.
fn stat(id: u32) -> Option<(String, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

/// Child processes of a server that read a document for a person.
pub fn readers(server: u32) -> Vec<u32> {
    children(server, "read")
}

/// Child processes of a server that read documents for the search index.
pub fn text_readers(server: u32) -> Vec<u32> {
    children(server, "read-texts")
}

fn children(server: u32, task: &str) -> Vec<u32> {
    let command = format!("sandbox\0{task}\0");
    let ids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_reader = |id: &u32| {
        let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        // Scripts of tests take the place of the program, in the same process.
        let program = std::fs::read_link(format!("/proc/{id}/exe")).unwrap_or_default();
        let is_program = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("strongroom"));
        is_program
            && stat(*id).is_some_and(|(state, parent)| parent == server && state != "Z")
            && words.windows(command.len()).any(|part| part == command.as_bytes())
    };
    ids.filter(is_reader).collect()
}

/// A memory figure of a process in KiB, such as `VmHWM` for the peak, or 0 if the process is gone.
pub fn memory(id: u32, figure: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// A field of `/proc/PID/status`, such as `Seccomp`, or `None` if the process is gone.
pub fn status(id: u32, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// Returns whether a process is gone or has no handler for a signal.
pub fn has_no_handler(id: u32, signal: Signal) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (signal.as_raw() - 1)) == 0
}

/// Sends a signal to a process that may be gone.
pub fn send(id: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(id.cast_signed()).unwrap(), signal);
}

/// Waits until `find` returns a value.
pub async fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        // sleep: polled, since processes change without a notification
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
