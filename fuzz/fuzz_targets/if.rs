//! Fuzzes the WebDAV header field `If`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(4 << 20, 400, input, http_edge::fuzzing::if_field));
