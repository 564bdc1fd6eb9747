//! The stored form of compressed or encrypted BLOBs, common to all kinds of stores: frames made from chunks, an
//! envelope that describes them, and the keys.
//!
//! `docs/formats/object-store.md` specifies every byte. This module does not know where the bytes are stored.

mod envelope;
mod frames;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod keys;

pub use envelope::{CHUNK, DataId, Envelope, HEADER_LENGTH, chunk_for, encode, is_enveloped, longest_object, peek};
pub use frames::{Encoded, Encoder};
pub use keys::{StoreKey, fill_random, hex};
