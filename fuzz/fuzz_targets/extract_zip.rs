//! Fuzzes the ZIP reader.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(64 << 20, 400, input, |input| fuzz::extract::read(
    "zip", input
)));
