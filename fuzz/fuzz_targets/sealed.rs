//! Fuzzes values encrypted with the farm's keys: paging cursors and store credentials.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(4 << 20, 100, input, repository::fuzzing::sealed));
