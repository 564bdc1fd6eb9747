//! Fuzzes forms, query strings of listings, and their input fields.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(16 << 20, 400, input, http_edge::fuzzing::fields));
