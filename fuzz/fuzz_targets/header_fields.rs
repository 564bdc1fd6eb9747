//! Fuzzes header fields: credentials, cookies, digests, download names, paths.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(8 << 20, 200, input, http_edge::fuzzing::header_fields));
