//! Fuzzes the sets of a backup and its other small files.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(4 << 20, 400, input, maintenance::fuzzing::set));
