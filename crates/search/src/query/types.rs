//! Kinds of documents that a query can name, each with the extensions of its names, and rows of lists.

use crate::language::words::Words;
use crate::language::{ROW_EXTENSION, extension_of};

/// Kinds by their names in English and German, folded.
const KINDS: [(&[&str], &[&str]); 13] = [
    (&["text", "txt"], &["txt", "md", "log"]),
    (&["word", "document", "dokument"], &["docx", "docm", "dotx", "doc", "odt", "rtf"]),
    (&["excel", "spreadsheet", "sheet", "tabelle"], &["xlsx", "xlsm", "xls", "ods", "csv", "tsv"]),
    (&["powerpoint", "presentation", "slides", "prasentation", "folien"], &["pptx", "pptm", "ppt", "odp"]),
    (
        &["picture", "image", "photo", "bild", "foto"],
        &["jpg", "jpeg", "png", "gif", "webp", "tif", "tiff", "heic", "avif", "svg", "bmp"],
    ),
    (&["mail", "email", "e mail", "nachricht"], &["eml", "msg"]),
    (&["archive", "archiv"], &["zip", "tar", "tgz", "gz", "7z", "rar"]),
    (&["book", "ebook", "buch"], &["epub"]),
    (&["web", "html", "webseite"], &["html", "htm", "xhtml", "mhtml"]),
    (&["markdown"], &["md", "markdown"]),
    (&["audio", "sound", "ton", "music", "musik"], &["mp3", "wav", "ogg", "flac", "m4a", "opus"]),
    (&["video", "film"], &["mp4", "mov", "mkv", "webm", "avi"]),
    (&["row", "list item", "zeile", "listeneintrag"], &[ROW_EXTENSION]),
];

/// Returns the extensions of a kind of document, or the text itself as an extension; `None` if it can be neither.
pub(super) fn extensions(text: &str) -> Option<Vec<String>> {
    let folded = Words::of(text).map(|word| word.folded).collect::<Vec<_>>().join(" ");
    match KINDS.iter().find(|(names, _)| names.contains(&folded.as_str())) {
        Some((_, extensions)) => Some(extensions.iter().map(|extension| (*extension).to_owned()).collect()),
        None => extension(text).map(|extension| vec![extension]),
    }
}

/// Returns a text as the extension of a name, with or without the full stop before it.
pub(super) fn extension(text: &str) -> Option<String> {
    extension_of(&format!(".{}", text.trim().trim_start_matches('.')))
}
