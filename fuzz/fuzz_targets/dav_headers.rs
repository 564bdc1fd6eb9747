//! Fuzzes `Depth`, `Destination`, `Timeout` and other WebDAV header fields.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    fuzz::with_memory_limit(4 << 20, 100, input, http_edge::fuzzing::dav_headers)
});
