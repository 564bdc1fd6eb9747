//! Fuzzes an encoded BLOB: compressed, encrypted, or both.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(64 << 20, 100, input, blobs::fuzzing::envelope));
