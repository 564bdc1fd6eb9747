//! Plain text: detection and decoding.

/// File extensions that are treated as text whatever the media type.
const EXTENSIONS: [&str; 46] = [
    "adoc", "bash", "bat", "c", "cfg", "conf", "cpp", "cs", "css", "csv", "diff", "eml", "go", "h", "hpp", "ini",
    "java", "js", "json", "kt", "log", "lua", "markdown", "md", "patch", "php", "pl", "ps1", "py", "r", "rb", "rs",
    "rst", "sh", "sql", "srt", "tex", "toml", "ts", "tsv", "txt", "vbs", "xml", "yaml", "yml", "zig",
];

/// Returns whether a document is plain text. The extension must be in lower case and without a dot.
pub fn is_text(media_type: &str, extension: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let is_markup = media_type == "text/html" || matches!(extension, "html" | "htm" | "xhtml");
    !is_markup
        && (media_type.starts_with("text/")
            || matches!(media_type, "application/json" | "application/xml" | "application/javascript")
            || EXTENSIONS.binary_search(&extension).is_ok())
}

/// Returns the characters of a text: UTF-8, UTF-16 with a byte-order mark, or else Windows-1252. A text that is cut in
/// the middle of a character loses that character.
pub fn decode(bytes: &[u8]) -> String {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        bytes => utf8(bytes),
    }
}

fn utf8(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // Cut within its last character.
        Err(error) if error.error_len().is_none() => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
        }
        Err(_) => bytes.iter().map(|byte| windows_1252(*byte)).collect(),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// The part of Windows-1252 that differs from Latin-1 (WHATWG Encoding Standard, index windows-1252).
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}', '\u{2030}',
    '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}',
    '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}',
    '\u{17e}', '\u{178}',
];

fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_detected_by_media_type_or_extension() {
        assert!(EXTENSIONS.is_sorted());
        for (media_type, extension) in [("text/plain", ""), ("text/markdown; charset=utf-8", "x"), ("", "md")] {
            assert!(is_text(media_type, extension), "{media_type} {extension}");
        }
        for (media_type, extension) in [("application/pdf", "pdf"), ("text/html", "html"), ("", ""), ("image/png", "x")]
        {
            assert!(!is_text(media_type, extension), "{media_type} {extension}");
        }
    }

    #[test]
    fn encodings_are_recognised() {
        assert_eq!(decode("Größe €".as_bytes()), "Größe €");
        assert_eq!(decode(b"\xef\xbb\xbfa"), "a");
        assert_eq!(decode(b"Gr\xf6\xdfe \x80 \x93x\x94"), "Größe € “x”");
        assert_eq!(decode(&"Größe".as_bytes()[..3]), "Gr");
        assert_eq!(decode(b"\xff\xfeG\x00\xf6\x00"), "Gö");
        assert_eq!(decode(b"\xfe\xff\x00G\x00\xf6\x00"), "Gö");
        assert_eq!(decode(b""), "");
    }
}
