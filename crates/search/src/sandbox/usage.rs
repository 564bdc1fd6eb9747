//! Measures what a group of processes uses: bytes on disk and in memory; and whether one of it is still there.

use std::fs::{self, DirEntry};
use std::path::Path;

/// Maximum depth of directories that are measured. No program needs more.
const MAX_DEPTH: usize = 16;

/// Returns the bytes of all files below a directory. Stops once they are more than `enough`.
pub fn bytes_below(place: &Path, enough: u64) -> u64 {
    let mut sum = 0;
    add_below(place, enough, MAX_DEPTH, &mut sum);
    sum
}

fn add_below(place: &Path, enough: u64, depth: usize, sum: &mut u64) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if *sum > enough {
            return;
        }
        // Links are not followed. What disappears meanwhile uses nothing. Directories and names use space too.
        let Ok(about) = entry.metadata() else { continue };
        *sum += about.len().max(ENTRY);
        if about.is_dir() && depth > 0 {
            add_below(&entry.path(), enough, depth - 1, sum);
        } else if about.is_dir() {
            *sum = u64::MAX;
        }
    }
}

/// Least size in bytes that counts for an entry of a directory.
const ENTRY: u64 = 1_024;

/// Returns the resident memory of all processes of a group, in bytes.
pub fn resident(group: u32) -> u64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pages: u64 = entries.filter_map(|entry| member(&entry, group)).map(|member| member.resident_pages).sum();
    pages * rustix::param::page_size() as u64
}

/// Returns whether a process of a group is alive. One that has ended belongs to the group until it is reaped, which the
/// process that adopted it may do late.
pub fn is_alive(group: u32) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| member(&entry, group)).any(|member| !["Z", "X"].contains(&member.state.as_str()))
}

/// A process of a group.
struct Member {
    state: String,
    resident_pages: u64,
}

/// Returns a process, if it belongs to the group.
fn member(process: &DirEntry, group: u32) -> Option<Member> {
    process.file_name().to_str()?.parse::<u32>().ok()?;
    let text = fs::read_to_string(process.path().join("stat")).ok()?;
    // As in proc_pid_stat(5): behind the name are state, parent and group (fields 3 to 5), and the resident pages are
    // field 24.
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.to_owned();
    let is_member = fields.nth(1)?.parse() == Ok(group);
    is_member.then(|| Some(Member { state, resident_pages: fields.nth(18)?.parse().ok()? })).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_memory_are_measured() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("a")).unwrap();
        fs::write(place.path().join("a/b"), vec![0; 100_000]).unwrap();
        std::os::unix::fs::symlink("/", place.path().join("link")).unwrap();
        let bytes = bytes_below(place.path(), u64::MAX);
        assert!((100_000..120_000).contains(&bytes), "{bytes}");
        let own = rustix::process::getpgrp().as_raw_pid().cast_unsigned();
        assert!(resident(own) > 1 << 20 && is_alive(own));
        assert_eq!((resident(u32::MAX), is_alive(u32::MAX)), (0, false));
    }
}
