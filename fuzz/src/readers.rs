//! Fuzzes the readers of texts. The first byte of an input chooses the format.

use search::readers::{MAX_TEXT_BYTES, ReadableFormat, read as read_text};

/// Reads a document. PDF is left out: its library panics on purpose where a file is not as it expects, and a panic
/// ends the fuzzer even if it is caught.
pub fn read(input: &[u8]) {
    let Some((number, document)) = input.split_first() else { return };
    let Some(format) = ReadableFormat::from_number(*number).filter(|format| *format != ReadableFormat::Pdf) else {
        return;
    };
    let Ok(found) = read_text(format, document) else { return };
    assert!(found.text.len() <= MAX_TEXT_BYTES && found.title.len() < 1_000 && found.author.len() < 1_000);
}
