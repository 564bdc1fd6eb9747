//! The stored form of BLOBs that are compressed or encrypted, the same in all kinds of stores: chunks that become frames, an envelope that
//! tells how to read them, and the keys.
//!
//! `docs/formats/object-store.md` says it byte by byte. Knows nothing of where the bytes lie.

mod envelope;
mod frames;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod keys;

pub use envelope::{CHUNK, DataId, Envelope, HEAD, chunk_for, encode, is_enveloped, longest_object, peek};
pub use frames::{Encoded, Encoder};
pub use keys::{StoreKey, fill_random, hex};
