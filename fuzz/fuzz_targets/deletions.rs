//! Fuzzes the deletion records beside a segment.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(8 << 20, 100, input, blobs::fuzzing::deletions));
