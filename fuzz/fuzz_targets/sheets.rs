//! Fuzzes the reader of workbooks for lists.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(96 << 20, 400, input, fuzz::sheets::read));
