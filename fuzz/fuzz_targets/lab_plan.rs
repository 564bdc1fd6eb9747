//! Fuzzes plans of the load lab.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(8 << 20, 1000, input, lab::fuzzing::plan));
