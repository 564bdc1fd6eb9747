//! Finding a BLOB: one request if it exists; a second one confirms its absence.

use std::sync::Arc;

use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result};

use super::store::{INLINE, Store};
use crate::blocking::blocking;
use crate::coding::{Envelope, is_enveloped, longest_object};

/// Length from which on digests are computed on the blocking pool.
const HASH_BLOCKING_FROM: u64 = 256 << 10;

/// An existing BLOB.
pub enum Opened {
    /// The whole content, verified.
    Whole(Bytes),
    /// The verified envelope; the bytes are in the data object.
    Large(Arc<Envelope>),
}

impl Store {
    /// Reads and verifies the object under a BLOB's key.
    pub async fn open(self: &Arc<Self>, digest: Digest, size: u64) -> Result<Opened> {
        match self.open_once(digest, size).await {
            // The bytes may have been damaged in transit.
            Err(error) if error.kind() == ErrorKind::Corrupt => self.open_once(digest, size).await,
            opened => opened,
        }
    }

    async fn open_once(self: &Arc<Self>, digest: Digest, size: u64) -> Result<Opened> {
        let key = self.names.blob(&digest, size);
        let limit = longest_object(size, INLINE);
        let mut found = self.bucket.get(&key, limit).await?;
        if found.is_none() {
            self.confirm_absence(&digest, size, &key).await?;
            // The listing contains the BLOB: it was stored after the first request.
            found = self.bucket.get(&key, limit).await?;
        }
        let Some(bytes) = found else {
            let text = format!("{} lists {key} but does not return it: try again", self.bucket.label());
            return Err(Error::unavailable(text));
        };
        if size < HASH_BLOCKING_FROM && bytes.len() as u64 <= HASH_BLOCKING_FROM {
            return self.check(digest, size, bytes);
        }
        let store = self.clone();
        blocking(move || store.check(digest, size, bytes)).await
    }

    fn check(&self, digest: Digest, size: u64, bytes: Bytes) -> Result<Opened> {
        let mut content = bytes;
        if is_enveloped(&content) {
            let (envelope, stored) = Envelope::decode(&content, &digest, size, &self.keys)?;
            if envelope.data.is_some() {
                return Ok(Opened::Large(Arc::new(envelope)));
            }
            content = envelope.decode_frames(&(0..envelope.frames()), &stored)?;
        }
        if content.len() as u64 != size || crate::digest_of(&content) != digest {
            let text = format!("BLOB {digest} in {} is damaged: restore it from a backup", self.bucket.label());
            return Err(Error::corrupt(text));
        }
        Ok(Opened::Whole(content))
    }

    /// Checks the absence of a BLOB with a listing. Fails with `NotFound` when the listing confirms it, and with
    /// `Corrupt` when the BLOB exists with another size. Succeeds when the listing contains the BLOB: a "not found" may
    /// also come from a gateway that is misrouted.
    async fn confirm_absence(&self, digest: &Digest, size: u64, key: &str) -> Result<()> {
        let listed = self.bucket.list(&self.names.of_digest(digest), None, 2, None).await?.objects;
        if listed.iter().any(|object| object.key == key) {
            return Ok(());
        }
        match listed.iter().find_map(|object| self.names.parse_blob(&object.key)) {
            Some((_, found)) => {
                let text = format!("BLOB {digest} has {found} bytes in its store, but should have {size}");
                Err(Error::corrupt(text))
            }
            None => Err(Error::not_found(format!("BLOB {digest} is not in {}", self.bucket.label()))),
        }
    }
}
