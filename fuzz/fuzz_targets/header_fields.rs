//! Fuzzes header fields: credentials, cookies, digests, download names, paths.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    fuzz::with_memory_limit(8 << 20, 200, input, http_edge::fuzzing::header_fields)
});
