//! Object storage of a backup: a BLOB store that holds every object encoded, under the digest of its encoded bytes.

use std::collections::HashSet;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use blobs::{BlobHasher, BlobReader, BlobStore, BlobWriter, digest_of};
use bytes::{Bytes, BytesMut};
use model::{Digest, Error, ErrorKind, Result};

use crate::backup::validity::LeaseValidity;

use super::codec::{self, Codec, Decoder, Encoder, FRAME};
use super::index::Entry;
use super::key::Key;

/// Objects up to this many bytes are encoded in memory as a whole.
pub(crate) const MAX_IN_MEMORY: u64 = 4 << 20;

/// The BLOB store that holds a backup's bytes, and the key that decrypts them.
#[derive(Clone)]
pub(crate) struct BackupObjects {
    pub store: BlobStore,
    pub key: Option<Key>,
    /// Stored objects that a verification found damaged. The next backup stores them again.
    pub damaged: Arc<HashSet<Digest>>,
    /// Validity of the lock on the location. After it lapsed, nothing is stored any more, and objects may be missing.
    pub validity: LeaseValidity,
}

/// Encryption context that binds encrypted bytes to the digest of their plain bytes.
fn context(digest: &Digest) -> Vec<u8> {
    [b"bytes ".as_slice(), digest.as_bytes()].concat()
}

impl BackupObjects {
    /// Returns whether an object stored by an earlier set can be relied on.
    pub fn is_intact(&self, entry: &Entry) -> bool {
        !self.damaged.contains(&entry.stored)
    }

    /// Stores bytes held in memory. Returns their entry and the number of bytes added to the store.
    #[boxed]
    pub async fn put(&self, digest: Digest, bytes: Bytes) -> Result<(Entry, u64)> {
        debug_assert_eq!(digest, digest_of(&bytes));
        let size = bytes.len() as u64;
        let (codec, encoded) = codec::encode(&bytes, self.key.as_ref(), &context(&digest))?;
        let stored = if codec == Codec::Plain { digest } else { digest_of(&encoded) };
        let stored_size = encoded.len() as u64;
        self.validity.check()?;
        let answer = self.store.put(stored, encoded).await?;
        Ok((Entry { digest, size, codec, stored, stored_size }, if answer.existed { 0 } else { stored_size }))
    }

    /// Stores the bytes that a reader delivers.
    ///
    /// # Errors
    /// `Corrupt` when the bytes do not match the digest.
    #[boxed]
    pub async fn put_reader(&self, digest: Digest, size: u64, mut reader: BlobReader) -> Result<(Entry, u64)> {
        if size <= MAX_IN_MEMORY {
            let bytes = gather(&mut reader, size).await?;
            if digest_of(&bytes) != digest {
                return Err(wrong_bytes(&digest));
            }
            return self.put(digest, bytes).await;
        }
        let mut frame = BytesMut::new();
        let (mut hasher, mut at) = (BlobHasher::new(), 0);
        let mut writing: Option<(Encoder, BlobWriter)> = None;
        loop {
            let piece = reader.next_chunk().await?;
            let ended = piece.is_none();
            if let Some(piece) = piece {
                hasher.update(&piece);
                at += piece.len() as u64;
                frame.extend_from_slice(&piece);
            }
            while frame.len() > FRAME || ended {
                let plain = frame.split_to(frame.len().min(FRAME)).freeze();
                let is_last = ended && frame.is_empty();
                let (mut encoder, mut writer) = match writing.take() {
                    Some(writing) => writing,
                    None => self.begin(&digest, size, &plain).await?,
                };
                writer.write(encoder.frame(plain, is_last)?).await?;
                writing = Some((encoder, writer));
                if is_last {
                    break;
                }
            }
            if ended {
                break;
            }
        }
        let Some((encoder, writer)) = writing.filter(|_| at == size && hasher.finish() == digest) else {
            return Err(wrong_bytes(&digest));
        };
        let answer = writer.finish().await?;
        let entry = Entry { digest, size, codec: encoder.codec(), stored: answer.digest, stored_size: answer.size };
        Ok((entry, if answer.existed { 0 } else { answer.size }))
    }

    async fn begin(&self, digest: &Digest, size: u64, sample: &[u8]) -> Result<(Encoder, BlobWriter)> {
        let encoder = Encoder::new(sample, self.key.as_ref(), &context(digest))?;
        self.validity.check()?;
        let announced = (encoder.codec() == Codec::Plain).then_some(size);
        Ok((encoder, self.store.writer(announced).await?))
    }

    /// Opens the object of an entry.
    ///
    /// # Errors
    /// `Corrupt` when the object is missing or damaged. `Unavailable` instead when the lock on the location lapsed
    /// before, since another process may have removed the object.
    #[boxed]
    pub async fn open(&self, entry: &Entry) -> Result<Opened> {
        let decoder = Decoder::new(entry.codec, self.key.as_ref(), &context(&entry.digest))?;
        let reader = match self.store.open(entry.stored, entry.stored_size, None).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let lost = Error::corrupt(format!("the backup has lost the bytes of {}", entry.digest));
                return Err(self.validity.explain(lost));
            }
            opened => opened?,
        };
        let validity = self.validity.clone();
        Ok(Opened { entry: *entry, reader, decoder, hasher: BlobHasher::new(), delivered: 0, validity })
    }

    /// Reads the whole object of an entry that is at most `limit` bytes long.
    #[boxed]
    pub async fn get_all(&self, entry: &Entry, limit: u64) -> Result<Bytes> {
        if entry.size > limit {
            return Err(Error::corrupt(format!("{} in the backup exceeds its maximum length", entry.digest)));
        }
        let mut opened = self.open(entry).await?;
        let mut first = None;
        let mut all = BytesMut::new();
        while let Some(piece) = opened.next().await? {
            match first.take() {
                None if all.is_empty() => first = Some(piece),
                Some(before) => {
                    all.extend_from_slice(&before);
                    all.extend_from_slice(&piece);
                }
                None => all.extend_from_slice(&piece),
            }
        }
        Ok(first.unwrap_or_else(|| all.freeze()))
    }
}

/// Reader of an object in a backup. The delivered bytes must not be used unless reading ends without an error, because
/// the digest is checked only at the end.
pub(crate) struct Opened {
    entry: Entry,
    reader: BlobReader,
    decoder: Decoder,
    hasher: BlobHasher,
    delivered: u64,
    validity: LeaseValidity,
}

impl Opened {
    /// Returns the next plain bytes, or none after the last. Reaching the end means that length and digest matched.
    #[boxed]
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        self.advance().await.map_err(|error| self.validity.explain(error))
    }

    async fn advance(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(piece) = self.decoder.next().map_err(|error| self.named(&error))? {
                self.hasher.update(&piece);
                self.delivered += piece.len() as u64;
                if self.delivered > self.entry.size {
                    return Err(wrong_bytes(&self.entry.digest));
                }
                return Ok(Some(piece));
            }
            match self.reader.next_chunk().await? {
                Some(stored) => self.decoder.feed(stored),
                None => break,
            }
        }
        let whole = self.delivered == self.entry.size && self.decoder.is_complete();
        if whole && self.hasher.finish() == self.entry.digest { Ok(None) } else { Err(wrong_bytes(&self.entry.digest)) }
    }

    fn named(&self, error: &Error) -> Error {
        Error::new(error.kind(), format!("{} in the backup: {}", self.entry.digest, error.message()))
    }
}

async fn gather(reader: &mut BlobReader, size: u64) -> Result<Bytes> {
    if let Some(whole) = reader.try_whole() {
        return whole;
    }
    let mut bytes = BytesMut::with_capacity(size as usize);
    while let Some(piece) = reader.next_chunk().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

fn wrong_bytes(digest: &Digest) -> Error {
    Error::corrupt(format!("the bytes of {digest} do not match their digest"))
}
