//! Fuzzes previews of stored texts as lines, tables and markup.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(16 << 20, 600, input, http_edge::fuzzing::preview));
