//! Fuzzes ZIP archives with names from clients, which an independent implementation then reads.

#![no_main]

use std::io::{Cursor, Read};

use http_edge::fuzzing::archive;
use zip::ZipArchive;

fn check(input: &[u8]) {
    let (bytes, given) = archive(input);
    let mut archive = ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    assert_eq!(archive.len(), given.len(), "no name is given twice");
    for (number, name) in given.iter().enumerate() {
        let mut entry = archive.by_index(number).expect("an entry");
        assert_eq!(entry.name().expect("a name"), *name);
        assert!(entry.enclosed_name().is_some(), "{name:?} leads out of the archive");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("its checksum fits");
        assert_eq!(content.is_empty(), name.ends_with('/'));
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::with_memory_limit(128 << 20, 10_000, input, check));
