//! Fuzzes the WebDAV XML reader. XML that it accepts must be accepted again after it is written back.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(4 << 20, 400, input, http_edge::fuzzing::xml));
