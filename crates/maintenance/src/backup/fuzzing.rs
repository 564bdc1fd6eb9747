//! Entry points of the fuzz targets for backups. Each function takes one input and asserts properties that must hold
//! for any input.
//!
//! Compiled only with `--cfg fuzzing`; `fuzz/run` explains how to run the targets.

use bytes::{Bytes, BytesMut};
use model::Result;

use crate::backup::format::codec::{self, Codec, Decoder};
use crate::backup::format::index::{Entry, read_part, write_part};
use crate::backup::format::json::pretty;
use crate::backup::format::key::Key;
use crate::backup::format::manifest::Manifest;
use crate::backup::place::destination::parse_marker;

/// Limit on decoded bytes per input.
const LIMIT: usize = 8 << 20;

/// Fuzzes sets and other small files. The first byte selects the kind.
pub fn set(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    match choice & 3 {
        0 | 1 => {
            let Ok(manifest) = Manifest::read(text) else { return };
            let written = manifest.write().expect("what was read can be written");
            assert_eq!(Manifest::read(&written).ok().as_ref(), Some(&manifest));
            let entries = manifest.lists().flatten().count();
            assert!(entries <= text.len());
        }
        2 => {
            let Ok(marker) = parse_marker(text) else { return };
            let written = pretty(&marker).expect("what was read can be written");
            assert_eq!(parse_marker(&written).ok(), Some(marker));
        }
        _ => {
            let Ok(entries) = serde_json::from_slice::<Vec<Entry>>(text) else { return };
            let written = pretty(&entries).expect("what was read can be written");
            assert_eq!(serde_json::from_slice::<Vec<Entry>>(&written).ok(), Some(entries));
        }
    }
}

/// Fuzzes parts of entry lists.
pub fn parts(input: &[u8]) {
    let Ok(entries) = read_part(input) else { return };
    let mut canonical = input.to_vec();
    canonical[12..16].fill(0);
    assert_eq!(&write_part(&entries)[..], canonical);
}

fn in_pieces(codec: Codec, stored: &Bytes, key: &Key, piece: usize) -> Result<Option<Bytes>> {
    let mut decoder = Decoder::new(codec, Some(key), b"context")?;
    let mut out = BytesMut::new();
    for at in (0..stored.len()).step_by(piece) {
        decoder.feed(stored.slice(at..stored.len().min(at + piece)));
        while let Some(plain) = decoder.next()? {
            out.extend_from_slice(&plain);
            if out.len() > LIMIT {
                return Ok(None);
            }
        }
    }
    Ok(decoder.is_complete().then(|| out.freeze()))
}

/// Fuzzes stored bytes. The first byte selects the codec, or that the rest is plain bytes to be encoded first. The
/// second byte sets the length of the pieces that are fed.
pub fn codec(input: &[u8]) {
    let Some(([choice, piece], rest)) = input.split_first_chunk::<2>() else { return };
    let (key, rest, piece) = (Key::known(), Bytes::copy_from_slice(rest), usize::from(*piece) + 1);
    if choice & 4 != 0 {
        let own = (choice & 1 != 0).then_some(&key);
        let (codec, stored) = codec::encode(&rest, own, b"context").expect("bytes in memory");
        let read = codec::decode(codec, stored.clone(), own, b"context", LIMIT);
        assert_eq!(read.ok().as_ref(), Some(&rest));
        assert_eq!(in_pieces(codec, &stored, &key, piece).ok().flatten(), Some(rest));
        return;
    }
    let Some(codec) = Codec::from_number(choice & 3) else { return };
    let whole = codec::decode(codec, rest.clone(), Some(&key), b"context", LIMIT);
    let cut = in_pieces(codec, &rest, &key, piece);
    assert_eq!(whole.ok(), cut.ok().flatten(), "however it comes, it is the same");
}
