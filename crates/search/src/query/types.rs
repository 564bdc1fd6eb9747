//! Kinds of documents that a query can name, each with the extensions of its names.

/// Kinds by their names in English and German, folded.
const KINDS: [(&[&str], &[&str]); 11] = [
    (&["word", "text", "document", "dokument"], &["docx", "docm", "dotx", "doc", "odt", "rtf"]),
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
];

/// Returns the extensions that a kind stands for. A name that is no kind is an extension itself.
pub(super) fn extensions(folded: &str) -> Vec<String> {
    match KINDS.iter().find(|(names, _)| names.contains(&folded)) {
        Some((_, extensions)) => extensions.iter().map(|extension| (*extension).to_owned()).collect(),
        None => vec![folded.to_owned()],
    }
}
