//! Forms, queries of listings, and what is typed into them.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(16 << 20, 400, input, http_edge::fuzzing::fields));
