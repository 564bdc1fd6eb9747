//! WebDAV's reader of XML: what it takes, it writes so that it is taken again.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::within(4 << 20, 400, input, http_edge::fuzzing::xml));
