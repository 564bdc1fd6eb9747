//! Fuzzes the deletion records beside a segment.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(8 << 20, 100, input, blobs::fuzzing::deletions));
