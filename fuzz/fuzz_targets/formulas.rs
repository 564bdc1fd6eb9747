//! Fuzzes the formulas of calculated columns, checks and filters.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(64 << 20, 2_000, input, fuzz::formulas::read));
