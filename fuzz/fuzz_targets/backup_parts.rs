//! Lists of what is in a backup.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(8 << 20, 100, input, maintenance::fuzzing::parts));
