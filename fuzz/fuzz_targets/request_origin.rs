//! Fuzzes `Forwarded`, `X-Forwarded-For` and the PROXY protocol.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(
    4 << 20,
    200,
    input,
    http_edge::fuzzing::request_origin
));
