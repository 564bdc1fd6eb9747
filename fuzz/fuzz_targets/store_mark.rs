//! Fuzzes owner markers of stores, and the BLOB locators kept in databases.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(4 << 20, 100, input, blobs::fuzzing::store_mark));
