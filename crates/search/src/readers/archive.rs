//! Archives: the names of their members.

use std::io::Read;

use model::Result;

use crate::extract::package::Package;
use crate::extract::unreadable;

use super::document_text::TextBuilder;

/// Limits on the members of an archive, and on the bytes that are unpacked to find them.
const MAX_MEMBERS: usize = 20_000;
const MAX_UNPACKED: u64 = 64 << 20;

/// Appends the names in a ZIP archive.
pub fn zip_names(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    let package = Package::open(bytes)?;
    for name in package.names() {
        put(&name, text);
    }
    Ok(())
}

/// Appends the names in a TAR archive.
pub fn tar_names(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    names(tar::Archive::new(bytes), text)
}

/// Appends the names in a compressed TAR archive.
pub fn tar_gz_names(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    names(tar::Archive::new(flate2::read::MultiGzDecoder::new(bytes).take(MAX_UNPACKED)), text)
}

fn names<R: Read>(mut archive: tar::Archive<R>, text: &mut TextBuilder) -> Result<()> {
    for (at, entry) in archive.entries().map_err(unreadable)?.enumerate() {
        match entry {
            Ok(entry) if at < MAX_MEMBERS && !text.is_full() => {
                put(&String::from_utf8_lossy(&entry.path_bytes()), text);
            }
            Err(error) if at == 0 => return Err(unreadable(error)),
            // Too many, or cut or damaged from here on.
            Ok(_) | Err(_) => {
                text.note_cut();
                break;
            }
        }
    }
    Ok(())
}

fn put(name: &str, text: &mut TextBuilder) {
    // Words are found in each part of a path.
    text.add_words(name.trim_end_matches('/'));
    text.end_line();
}
