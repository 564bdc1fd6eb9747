//! Fuzzes multipart forms with files.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(8 << 20, 400, input, http_edge::fuzzing::multipart));
