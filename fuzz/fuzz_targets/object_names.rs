//! Fuzzes object keys in a bucket.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(4 << 20, 100, input, blobs::fuzzing::object_names));
