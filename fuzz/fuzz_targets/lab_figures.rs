//! Fuzzes responses of a monitored endpoint.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(4 << 20, 200, input, lab::fuzzing::figures));
