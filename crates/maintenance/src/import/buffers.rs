//! Reusable memory for the files of a batch. The kernel must clear fresh memory before a process can use it, which
//! takes as long as reading a file into it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Pool of unused buffers.
#[derive(Clone, Default)]
pub(super) struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// A filled buffer that returns to the pool when its last reader drops it.
struct PooledBuffer {
    bytes: Vec<u8>,
    home: Buffers,
}

impl Buffers {
    /// Returns an empty buffer, with capacity if it was used before.
    pub(super) fn take(&self) -> Vec<u8> {
        self.idle().pop().unwrap_or_default()
    }

    /// Shares the content of a buffer with readers, which may slice it.
    pub(super) fn share(&self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(PooledBuffer { bytes, home: self.clone() })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for PooledBuffer {
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
        assert!(again.is_empty());
        assert!(again.as_ptr() == place);
    }
}
