//! The formats that can be read, and how a document's format is recognised.

use super::document_text::MAX_TEXT_BYTES;

/// Maximum size in bytes of a document that is read.
pub const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// A format from which text can be read for the search index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadableFormat {
    /// Text, source code, CSV, in any character encoding.
    Plain,
    /// HTML and XHTML.
    Html,
    /// Word since 2007.
    Docx,
    /// PowerPoint since 2007.
    Pptx,
    /// Excel since 2007.
    Xlsx,
    /// OpenDocument: texts, spreadsheets, presentations.
    OpenDocument,
    /// PDF.
    Pdf,
    /// Rich Text Format.
    Rtf,
    /// Messages as they are sent (RFC 5322).
    Email,
    /// Messages of Outlook.
    Outlook,
    /// Books.
    Epub,
    /// ZIP archives: the names of their members.
    Zip,
    /// TAR archives: the names of their members.
    Tar,
    /// Compressed TAR archives: the names of their members.
    TarGz,
    /// Pictures with metadata in their beginning.
    Picture,
    /// Pictures whose metadata may lie at their end.
    Tiff,
    /// Word until 2003. Another program converts it.
    Doc,
    /// Excel until 2003. Another program converts it.
    Xls,
    /// PowerPoint until 2003. Another program converts it.
    Ppt,
    /// Markdown, which pages are.
    Markdown,
}

/// File extensions by format, for all but [`ReadableFormat::Plain`].
const EXTENSIONS: [(ReadableFormat, &[&str]); 19] = [
    (ReadableFormat::Markdown, &["md", "markdown"]),
    (ReadableFormat::Html, &["html", "htm", "xhtml"]),
    (ReadableFormat::Docx, &["docx", "docm", "dotx", "dotm"]),
    (ReadableFormat::Pptx, &["pptx", "pptm", "ppsx", "potx"]),
    (ReadableFormat::Xlsx, &["xlsx", "xlsm", "xltx"]),
    (ReadableFormat::OpenDocument, &["odt", "ott", "ods", "ots", "odp", "otp", "odg"]),
    (ReadableFormat::Pdf, &["pdf"]),
    (ReadableFormat::Rtf, &["rtf"]),
    (ReadableFormat::Email, &["eml"]),
    (ReadableFormat::Outlook, &["msg"]),
    (ReadableFormat::Epub, &["epub"]),
    (ReadableFormat::Zip, &["zip", "jar"]),
    (ReadableFormat::Tar, &["tar"]),
    (ReadableFormat::TarGz, &["tgz", "tar.gz"]),
    (ReadableFormat::Picture, &["jpg", "jpeg", "png", "heic", "heif", "avif"]),
    (ReadableFormat::Tiff, &["tif", "tiff", "webp"]),
    (ReadableFormat::Doc, &["doc", "dot"]),
    (ReadableFormat::Xls, &["xls", "xlt"]),
    (ReadableFormat::Ppt, &["ppt", "pps", "pot"]),
];

/// File extensions that are read as plain text whatever the media type; sorted.
const PLAIN: [&str; 43] = [
    "adoc", "bash", "bat", "c", "cfg", "conf", "cpp", "cs", "css", "csv", "diff", "go", "h", "hpp", "ini", "java",
    "js", "json", "kt", "log", "lua", "patch", "php", "pl", "ps1", "py", "r", "rb", "rs", "rst", "sh", "sql", "srt",
    "tex", "toml", "ts", "tsv", "txt", "vbs", "xml", "yaml", "yml", "zig",
];

impl ReadableFormat {
    /// Returns the format of a document with this name and media type; `None` if it cannot be read.
    pub fn of(media_type: &str, name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let named = |extensions: &[&str]| {
            extensions
                .iter()
                .any(|extension| name.strip_suffix(extension).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')))
        };
        if let Some((format, _)) = EXTENSIONS.iter().find(|(_, extensions)| named(extensions)) {
            return Some(*format);
        }
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        match media_type {
            "text/html" | "application/xhtml+xml" => return Some(Self::Html),
            "text/markdown" => return Some(Self::Markdown),
            "text/rtf" | "application/rtf" => return Some(Self::Rtf),
            "application/pdf" => return Some(Self::Pdf),
            "application/msword" => return Some(Self::Doc),
            "application/vnd.ms-excel" => return Some(Self::Xls),
            "application/vnd.ms-powerpoint" => return Some(Self::Ppt),
            "message/rfc822" => return Some(Self::Email),
            "application/epub+zip" => return Some(Self::Epub),
            _ => {}
        }
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_plain = media_type.starts_with("text/")
            || matches!(media_type, "application/json" | "application/xml" | "application/javascript")
            || PLAIN.binary_search(&extension).is_ok();
        is_plain.then_some(Self::Plain)
    }

    /// Returns the limit in bytes, and whether the beginning of a longer document is of use.
    pub const fn limit(self) -> (u64, bool) {
        match self {
            Self::Plain | Self::Markdown => (MAX_TEXT_BYTES as u64, true),
            Self::Html => (16 << 20, true),
            Self::Picture => (4 << 20, true),
            Self::Rtf | Self::Email | Self::Tar | Self::TarGz | Self::Tiff => (MAX_DOCUMENT_BYTES, true),
            _ => (MAX_DOCUMENT_BYTES, false),
        }
    }

    /// Returns whether only another program can read the format.
    pub const fn needs_program(self) -> bool {
        matches!(self, Self::Doc | Self::Xls | Self::Ppt)
    }

    /// Returns the number that stands for the format in messages to a child.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the format with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        let all = EXTENSIONS.iter().map(|(format, _)| *format).chain([Self::Plain]);
        all.into_iter().find(|format| format.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_extension_or_media_type() {
        assert!(PLAIN.is_sorted());
        for (media_type, name, format) in [
            ("application/octet-stream", "Minutes.DOCX", Some(ReadableFormat::Docx)),
            ("application/gzip", "all.tar.gz", Some(ReadableFormat::TarGz)),
            ("application/gzip", "all.gz", None),
            ("text/plain", "README", Some(ReadableFormat::Plain)),
            ("text/markdown; charset=utf-8", "a.x", Some(ReadableFormat::Markdown)),
            ("", "a.md", Some(ReadableFormat::Markdown)),
            ("text/html", "page", Some(ReadableFormat::Html)),
            ("message/rfc822", "forwarded", Some(ReadableFormat::Email)),
            ("image/jpeg", "photo.jpeg", Some(ReadableFormat::Picture)),
            ("image/svg+xml", "a.svg", None),
            ("application/msword", "Protokoll.DOC", Some(ReadableFormat::Doc)),
            ("application/vnd.ms-excel", "sums", Some(ReadableFormat::Xls)),
            ("", "pdf", None),
            ("", ".pdf", None),
            ("", "", None),
        ] {
            assert_eq!(ReadableFormat::of(media_type, name), format, "{media_type} {name}");
        }
    }

    #[test]
    fn every_number_is_that_of_one_format() {
        let mut formats: Vec<_> = (0..=u8::MAX).filter_map(ReadableFormat::from_number).collect();
        formats.dedup();
        assert_eq!(formats.len(), EXTENSIONS.len() + 1);
    }
}
