//! Entry points of the fuzz targets for encoded BLOBs.

use bytes::Bytes;
use model::Digest;

use super::envelope::authenticate;
use super::frames::EncryptionParameters;
use super::{Encoder, Envelope, HEADER_LENGTH, encode};
use crate::directory::{u32_at, u64_at};
use crate::fuzzing::fixtures::{key, pieces};
use crate::hasher::digest_of;

const FRAMED: u32 = 1;
const ENCRYPTED: u32 = 2;

/// Corrects the checksums and lengths of an envelope for the given table and frames; with `frames`, also the checksums
/// of the frames.
pub fn mend(head: &mut [u8], table: &mut [u8], stored: &[u8], frames: bool) {
    head[..8].copy_from_slice(b"SRobject");
    head[8..12].copy_from_slice(&1_u32.to_le_bytes());
    let flags = u32_at(head, 16);
    let (mask, mut at, mut total) = (u32_at(head, 40), 0, 0_u64);
    if flags & FRAMED != 0 {
        for entry in table.chunks_exact_mut(8) {
            let length = (u32_at(entry, 4) & !(1 << 31)) as usize;
            if frames && let Some(frame) = stored.get(at..at + length) {
                entry[..4].copy_from_slice(&(crc32fast::hash(frame) ^ mask).to_le_bytes());
            }
            (at, total) = (at + length, total + length as u64);
        }
    } else {
        total = u64_at(head, 24);
        for (entry, frame) in table.chunks_exact_mut(4).zip(stored.chunks(u32_at(head, 12).max(1) as usize)) {
            if frames {
                entry.copy_from_slice(&(crc32fast::hash(frame) ^ mask).to_le_bytes());
            }
        }
    }
    head[20..24].copy_from_slice(&crc32fast::hash(table).to_le_bytes());
    head[120..128].copy_from_slice(&total.to_le_bytes());
    if flags & ENCRYPTED != 0 {
        let mut sealing = EncryptionParameters { key: key().id(), salt: [0; 32] };
        sealing.salt.copy_from_slice(&head[88..120]);
        head[128..136].copy_from_slice(&sealing.key);
        let tag = authenticate(&key(), &sealing, &[&*head, &*table].concat());
        head[136..168].copy_from_slice(&tag);
    }
    let sum = crc32fast::hash(&head[..HEADER_LENGTH - 4]);
    head[HEADER_LENGTH - 4..].copy_from_slice(&sum.to_le_bytes());
}

/// Returns the length in bytes of the table that a header calls for; `None` on overflow.
pub fn table_length(head: &[u8]) -> Option<usize> {
    let entry = if u32_at(head, 16) & FRAMED != 0 { 8 } else { 4 };
    let chunk = u64::from(u32_at(head, 12)).max(1);
    u64_at(head, 24).div_ceil(chunk).checked_mul(entry)?.try_into().ok()
}

/// Decodes the input as a BLOB's object. If the highest bit of the first byte is set, encodes the input as a BLOB and
/// decodes the result instead.
pub fn envelope(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    if choice & 0x80 != 0 {
        return there_and_back(*choice, bytes);
    }
    let mut bytes = bytes.to_vec();
    if choice & 1 != 0 && bytes.len() >= HEADER_LENGTH {
        let (head, rest) = bytes.split_at_mut(HEADER_LENGTH);
        if let Some((table, stored)) = table_length(head).and_then(|length| rest.split_at_mut_checked(length)) {
            mend(head, table, stored, choice & 2 != 0);
        }
    }
    let bytes = Bytes::from(bytes);
    let Some((digest, size, _)) = super::peek(&bytes) else { return };
    let Ok((envelope, frames)) = Envelope::decode(&bytes, &digest, size, &[key()]) else { return };
    assert_eq!((envelope.digest, envelope.content), (digest, size));
    assert!(Envelope::decode(&bytes, &digest, size ^ 1, &[key()]).is_err(), "another size");
    assert!(Envelope::decode(&bytes, &Digest::new([1; 32]), size, &[key()]).is_err() || digest.as_bytes() == &[1; 32]);
    assert_eq!(envelope.span(&(0..envelope.frames())), 0..envelope.stored_length);
    for piece in pieces(&envelope) {
        let around = envelope.frames_around(&piece);
        let span = envelope.span(&around);
        let Some(stored) = frames.get(span.start as usize..span.end as usize) else { break };
        let Ok(plain) = envelope.decode_frames(&around, &frames.slice_ref(stored)) else { continue };
        let whole = (around.end * envelope.chunk_length).min(envelope.content) - around.start * envelope.chunk_length;
        assert_eq!(plain.len() as u64, whole);
    }
}

fn there_and_back(choice: u8, plain: &[u8]) {
    let (digest, size) = (digest_of(plain), plain.len() as u64);
    let level = (choice & 1 != 0).then_some(1);
    let own = [key()];
    let keys = if choice & 2 != 0 { &own[..] } else { &[] };
    let content = Bytes::copy_from_slice(plain);
    let mut encoder = Encoder::new(1 << 16, level, keys.first()).expect("a level and a key");
    let (mut out, cut) = (Vec::new(), content.len() * usize::from(choice >> 2 & 15) / 16);
    encoder.push(&content.slice(..cut), &mut out).expect("bytes in memory");
    encoder.push(&content.slice(cut..), &mut out).expect("bytes in memory");
    let encoded = encoder.finish(&mut out).expect("bytes in memory");
    let head = encode(&encoded, &digest, size, None, keys).expect("its key is known");
    let whole = Bytes::from([&head[..], &out.concat()].concat());
    let (envelope, frames) = Envelope::decode(&whole, &digest, size, keys).expect("what was encoded");
    let read = envelope.decode_frames(&(0..envelope.frames()), &frames).expect("what was encoded");
    assert_eq!(read, content);
}
