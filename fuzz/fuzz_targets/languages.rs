//! Fuzzes `Accept-Language` and the flash-message cookie.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    fuzz::with_memory_limit(16 << 20, 100, input, http_edge::fuzzing::languages)
});
