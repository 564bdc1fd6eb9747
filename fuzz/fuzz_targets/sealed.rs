//! What the farm's keys seal: places in listings, credentials of stores.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(4 << 20, 100, input, repository::fuzzing::sealed));
