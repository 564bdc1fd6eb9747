//! Markers of stores, and what databases keep of where a BLOB is.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(4 << 20, 100, input, blobs::fuzzing::store_mark));
