//! Fuzzes the docx extractor.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(64 << 20, 400, input, |input| fuzz::extract::read(
    "docx", input
)));
