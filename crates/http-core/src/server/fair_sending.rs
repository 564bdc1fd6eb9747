//! Fair sending of large responses. While other clients request something small, a long body is sent in short turns, so
//! that a page need not wait until megabytes are copied. A lone download is not slowed down.
//!
//! A worker of the runtime serves its connections in turn and looks for new requests only after some turns. A body
//! whose bytes are in memory would use each turn to fill its socket, for milliseconds at a time.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use bytes::Bytes;

/// Period after a small response in which large ones expect another.
const EXPECTED: Duration = Duration::from_millis(200);
/// Maximum number of bytes per turn while others request something.
const TURN: usize = 64 * 1024;

/// Time of the last small response. One for the process, since its processors are the shared resource.
static SMALL: LazyLock<SmallResponseClock> =
    LazyLock::new(|| SmallResponseClock { start: Instant::now(), last: AtomicU64::new(u64::MAX) });

struct SmallResponseClock {
    start: Instant,
    /// Milliseconds since `start`; the maximum before the first small response.
    last: AtomicU64,
}

impl SmallResponseClock {
    fn millis(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    fn is_due(&self) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        last != u64::MAX && self.millis().saturating_sub(last) <= EXPECTED.as_millis() as u64
    }

    async fn in_turns(&self, mut bytes: Bytes, rest: &mut Option<Bytes>) -> Bytes {
        if self.is_due() {
            if bytes.len() > TURN {
                *rest = Some(bytes.split_off(TURN));
            }
            tokio::task::yield_now().await;
        }
        bytes
    }
}

/// Records that a small response was sent.
pub fn answered_small() {
    SMALL.last.store(SMALL.millis(), Ordering::Relaxed);
}

/// Yields to other tasks if small requests are expected, and returns the bytes to send now. The rest stays in `rest`.
#[boxed]
pub async fn in_turns(bytes: Bytes, rest: &mut Option<Bytes>) -> Bytes {
    SMALL.in_turns(bytes, rest).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_body_is_cut_only_while_others_ask() {
        let mut alone = SmallResponseClock { start: Instant::now(), last: AtomicU64::new(u64::MAX) };
        let mut rest = None;
        assert_eq!(alone.in_turns(Bytes::from(vec![7; TURN * 2]), &mut rest).await.len(), TURN * 2);
        assert!(rest.is_none());
        // A response in the future is never too old, however busy the machine is.
        alone.last = AtomicU64::new(3_600_000);
        assert_eq!(alone.in_turns(Bytes::from(vec![7; TURN * 2]), &mut rest).await.len(), TURN);
        assert_eq!(rest.take().map(|bytes| bytes.len()), Some(TURN));
        assert_eq!(alone.in_turns(Bytes::from(vec![7; TURN]), &mut rest).await.len(), TURN);
        assert!(rest.is_none());
    }

    #[test]
    fn what_was_asked_long_ago_holds_nothing_up() {
        let start = Instant::now().checked_sub(EXPECTED * 2).unwrap();
        assert!(!SmallResponseClock { start, last: AtomicU64::new(0) }.is_due());
    }
}
