//! Fuzzes the file of an incomplete upload.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(4 << 20, 100, input, repository::fuzzing::upload_state));
