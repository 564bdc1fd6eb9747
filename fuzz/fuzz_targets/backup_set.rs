//! Fuzzes the sets of a backup and its other small files.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(4 << 20, 400, input, maintenance::fuzzing::set));
