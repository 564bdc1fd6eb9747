//! Fuzzes the reader of templates and the reader of logos.

#![no_main]

use repository::fuzzing::template;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(64 << 20, 2_000, input, template));
