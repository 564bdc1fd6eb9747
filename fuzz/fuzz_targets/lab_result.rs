//! Fuzzes results of the load lab.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(16 << 20, 1000, input, lab::fuzzing::result));
