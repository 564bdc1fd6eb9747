//! Memory for the files of a batch, used again by the next one: memory that is new to the process has to be cleared by the
//! kernel first, which takes as long as reading a file into it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Buffers that nobody uses at the moment.
#[derive(Clone, Default)]
pub(super) struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// Filled memory that goes back when its last reader is gone.
struct Lent {
    bytes: Vec<u8>,
    home: Buffers,
}

impl Buffers {
    /// An empty buffer, with room if one was used before.
    pub(super) fn take(&self) -> Vec<u8> {
        self.idle().pop().unwrap_or_default()
    }

    /// The content of a buffer for readers, who cut it into parts.
    pub(super) fn share(&self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Lent { bytes, home: self.clone() })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        self.home.idle().push(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_last_part_is_gone() {
        let buffers = Buffers::default();
        let mut bytes = buffers.take();
        bytes.extend_from_slice(b"one two");
        let (place, shared) = (bytes.as_ptr(), buffers.share(bytes));
        let part = shared.slice(4..);
        drop(shared);
        assert_eq!(part, "two");
        assert_eq!(buffers.take().capacity(), 0);
        drop(part);
        let again = buffers.take();
        assert!(again.is_empty() && again.as_ptr() == place);
    }
}
