//! Fuzzes stored bytes of a backup.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(64 << 20, 100, input, maintenance::fuzzing::codec));
