//! Fuzzes results of the load lab.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(16 << 20, 1000, input, lab::fuzzing::result));
