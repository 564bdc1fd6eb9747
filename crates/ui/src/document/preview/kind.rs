//! Kind of preview for a document, chosen by its media type and file extension.

use repository::TextFormat;

use super::language;
use http_core::protocol::content_type;

/// Kind of preview.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PreviewKind {
    /// None.
    Other,
    /// Neither the type nor the name is known. Shown as lines if the content is text.
    Unknown,
    /// Image.
    Image,
    /// Image that browsers do not display, shown as a picture that is made of it.
    Converted,
    /// Audio player.
    Audio,
    /// Video player.
    Video,
    /// PDF pages.
    Pdf,
    /// Rendered Markdown.
    Markdown,
    /// Table.
    Table,
    /// Lines of text, with the language in which they are coloured.
    Text(Option<&'static str>),
    /// Text or list that a child process extracts from an office document, an archive or a mail message.
    Extracted(TextFormat),
}

/// Image types that browsers display. None of them, including SVG, runs scripts when used as an image.
const IMAGES: [&str; 8] =
    ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/svg+xml", "image/x-icon"];
const AUDIO: [&str; 9] = [
    "audio/mpeg",
    "audio/mp4",
    "audio/m4a",
    "audio/x-m4a",
    "audio/ogg",
    "audio/wav",
    "audio/x-wav",
    "audio/webm",
    "audio/flac",
];
const VIDEO: [&str; 3] = ["video/mp4", "video/webm", "video/ogg"];
/// Text types that do not begin with `text/`.
const TEXTS: [&str; 12] = [
    "application/json",
    "application/xml",
    "application/xhtml+xml",
    "application/javascript",
    "application/x-javascript",
    "application/sql",
    "application/x-sh",
    "application/x-yaml",
    "application/yaml",
    "application/toml",
    "application/x-httpd-php",
    "application/x-perl",
];
/// Image types of which pictures are made, for tiles and where browsers do not display them.
const DECODED: [&str; 6] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", TIFF];
const TIFF: &str = "image/tiff";
/// Prefixes of the types of office documents. The file name decides about the exact format.
const OFFICE: [&str; 3] =
    ["application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.", "application/vnd.ms-"];
/// Uninformative types. The file name decides instead.
const UNKNOWN: [&str; 3] = ["", "application/octet-stream", "binary/octet-stream"];

/// Returns the kind of preview for a document.
pub fn of(media_type: &str, name: &str) -> PreviewKind {
    let stored = content_type::essence(media_type);
    let extension = name.rsplit_once('.').map_or(String::new(), |(_, end)| end.to_lowercase());
    let guessed = if UNKNOWN.contains(&stored.as_str()) { content_type::guess(name) } else { &stored };
    if IMAGES.contains(&guessed) {
        // The bytes are served with the stored type, not with a guessed one. Browsers sniff other image formats, but
        // not SVG, so that is shown as text.
        return if guessed == "image/svg+xml" && guessed != stored {
            PreviewKind::Text(language::of("svg"))
        } else {
            PreviewKind::Image
        };
    }
    if guessed == TIFF {
        return PreviewKind::Converted;
    }
    if guessed == "application/pdf" {
        return PreviewKind::Pdf;
    }
    if AUDIO.contains(&guessed) {
        return PreviewKind::Audio;
    }
    if VIDEO.contains(&guessed) {
        return PreviewKind::Video;
    }
    let office = OFFICE.iter().any(|beginning| guessed.starts_with(beginning));
    if let Some(format) = TextFormat::of(&extension).filter(|_| office) {
        return PreviewKind::Extracted(format);
    }
    if let Some(format) = container(name, &extension) {
        return PreviewKind::Extracted(format);
    }
    let language = language::of(&extension);
    match extension.as_str() {
        "md" | "markdown" => PreviewKind::Markdown,
        "csv" | "tsv" => PreviewKind::Table,
        _ if guessed == "text/markdown" => PreviewKind::Markdown,
        _ if guessed == "text/csv" || guessed == "text/tab-separated-values" => PreviewKind::Table,
        _ if guessed.starts_with("text/") || TEXTS.contains(&guessed) => PreviewKind::Text(language),
        other if language::is_source(other) => PreviewKind::Text(language),
        "txt" | "log" => PreviewKind::Text(None),
        _ if UNKNOWN.contains(&guessed) && !content_type::is_known(name) => PreviewKind::Unknown,
        _ => PreviewKind::Other,
    }
}

/// Returns whether small pictures can be made of a document.
pub fn is_picture(media_type: &str, name: &str) -> bool {
    let stored = content_type::essence(media_type);
    let guessed = if UNKNOWN.contains(&stored.as_str()) { content_type::guess(name) } else { &stored };
    DECODED.contains(&guessed)
}

/// Returns the format of an archive or a mail message, which its name decides.
fn container(name: &str, extension: &str) -> Option<TextFormat> {
    if name.to_lowercase().ends_with(".tar.gz") {
        return Some(TextFormat::TarGz);
    }
    TextFormat::of(extension).filter(|format| format.is_container())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_shown_by_type_and_name() {
        assert_eq!(of("image/PNG; x=y", "a"), PreviewKind::Image);
        assert_eq!(of("image/svg+xml", "a.svg"), PreviewKind::Image);
        assert_eq!(of("application/gzip", "a.tar.gz"), PreviewKind::Extracted(TextFormat::TarGz));
        assert_eq!(of("message/rfc822", "a.eml"), PreviewKind::Extracted(TextFormat::Email));
        assert_eq!(of("application/gzip", "a.gz"), PreviewKind::Other);
        assert_eq!(of("application/octet-stream", "a.pdf"), PreviewKind::Pdf);
        assert_eq!(of("text/html", "a.html"), PreviewKind::Text(Some("xml")));
        assert_eq!(of("text/plain", "notes.md"), PreviewKind::Markdown);
        assert_eq!(of("text/plain", "a.rs"), PreviewKind::Text(Some("rust")));
        assert_eq!(of("text/plain", "README"), PreviewKind::Text(None));
        assert_eq!(of("application/octet-stream", "a.zig"), PreviewKind::Text(None));
        assert_eq!(of("application/vnd.ms-excel", "a.csv"), PreviewKind::Table);
        assert_eq!(of("video/mp4", "a.mp4"), PreviewKind::Video);
        assert_eq!(of("application/octet-stream", "a.docx"), PreviewKind::Extracted(TextFormat::Docx));
        assert_eq!(
            of("application/vnd.oasis.opendocument.spreadsheet", "a.ODS"),
            PreviewKind::Extracted(TextFormat::Ods)
        );
        assert_eq!(
            of("application/vnd.ms-excel.sheet.macroenabled.12", "a.xlsm"),
            PreviewKind::Extracted(TextFormat::Xlsx)
        );
        assert_eq!(of("application/msword", "a.doc"), PreviewKind::Other);
        for other in [("application/vnd.rar", "a.rar"), ("video/x-msvideo", "a.avi"), ("image/heic", "a.heic")] {
            assert_eq!(of(other.0, other.1), PreviewKind::Other, "{other:?}");
        }
        for unknown in [("", "a"), ("application/octet-stream", "README"), ("", ".hidden"), ("", "a.qqq")] {
            assert_eq!(of(unknown.0, unknown.1), PreviewKind::Unknown, "{unknown:?}");
        }
        assert_eq!(of("application/octet-stream", "a.bin"), PreviewKind::Other);
        assert_eq!(of("image/tiff", "a.tif"), PreviewKind::Converted);
        assert_eq!(of("application/octet-stream", "a.TIFF"), PreviewKind::Converted);
        assert!(
            is_picture("image/jpeg", "a") && is_picture("", "a.tif") && is_picture("application/octet-stream", "a.png")
        );
        assert!(!is_picture("image/svg+xml", "a.svg") && !is_picture("application/pdf", "a.png"));
    }
}
