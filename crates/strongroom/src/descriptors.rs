//! How many files and connections the system lets this process have open. Knows nothing of what they are for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Kept for databases, stores, children and what else is open whoever asks.
const OWN: u64 = 512;
/// What a connection has open: itself, and the content that is sent on it.
const EACH: u64 = 2;
/// Connections that are let in however little there is.
const FEWEST: u64 = 16;

/// Makes room for `wanted` connections, 0 for as many as the system allows. Returns how many there is room for, and
/// says in the log when they are fewer.
pub fn make_room(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let (soft, hard) = (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX));
    let needed = if wanted == 0 { hard } else { OWN.saturating_add(EACH.saturating_mul(wanted as u64)) };
    // No more than is needed: programs that are started from here may look through all that could be open.
    let open = soft.max(needed.min(hard));
    let raised = Rlimit { current: Some(open).filter(|open| *open != u64::MAX), maximum: limit.maximum };
    let open = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => open,
        Err(error) => {
            tracing::warn!(error = %error, "the limit on open files stays as it is");
            soft
        }
    };
    let room = usize::try_from((open.saturating_sub(OWN) / EACH).max(FEWEST)).unwrap_or(usize::MAX);
    if wanted == 0 || room >= wanted {
        return if wanted == 0 { room } else { wanted };
    }
    tracing::warn!(
        open_files = open,
        connections = room,
        "there is room for fewer connections than the setting connections says, {wanted}: let the service open \
         {needed} files (LimitNOFILE of systemd, ulimit -n)"
    );
    room
}
