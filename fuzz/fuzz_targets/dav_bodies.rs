//! Fuzzes request bodies of PROPFIND, PROPPATCH, LOCK, REPORT and SEARCH.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    fuzz::with_memory_limit(4 << 20, 800, input, http_edge::fuzzing::dav_bodies)
});
