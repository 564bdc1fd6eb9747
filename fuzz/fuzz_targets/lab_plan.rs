//! Fuzzes plans of the load lab.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(8 << 20, 1000, input, lab::fuzzing::plan));
