//! Limit on open files, and the number of connections that it allows. Independent of the use of the files and
//! connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors reserved for databases, stores, child processes and other files, independent of the number of
/// connections.
const RESERVED: u64 = 512;
/// Descriptors per connection: the socket, and the content being sent.
const PER_CONNECTION: u64 = 2;
/// Minimum number of connections, even if the limit is lower.
const MIN_CONNECTIONS: u64 = 16;

/// Raises the limit on open files for `wanted` connections; 0 means as many as the system allows. Returns the number of
/// connections that fit, and logs a warning if it is less than `wanted`.
pub fn raise_open_file_limit(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let (soft, hard) = (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX));
    let needed = if wanted == 0 { hard } else { RESERVED.saturating_add(PER_CONNECTION.saturating_mul(wanted as u64)) };
    // The limit is raised no further than needed: child processes may iterate over all possible descriptors.
    let open = soft.max(needed.min(hard));
    let raised = Rlimit { current: Some(open).filter(|open| *open != u64::MAX), maximum: limit.maximum };
    let open = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => open,
        Err(error) => {
            tracing::warn!(error = %error, "the limit on open files cannot be changed");
            soft
        }
    };
    let room =
        usize::try_from((open.saturating_sub(RESERVED) / PER_CONNECTION).max(MIN_CONNECTIONS)).unwrap_or(usize::MAX);
    if wanted == 0 || room >= wanted {
        return if wanted == 0 { room } else { wanted };
    }
    tracing::warn!(
        open_files = open,
        connections = room,
        "the limit on open files allows fewer connections than the setting connections, {wanted}: let the service open \
         {needed} files (LimitNOFILE of systemd, ulimit -n)"
    );
    room
}
