//! Character encodings of texts.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

/// Number of bytes by which an encoding is guessed.
const GUESSED_BY: usize = 64 << 10;

/// Decodes a text. The encoding is that of a byte-order mark; else UTF-8 if the text is valid; else the declared one;
/// else a guess. A text that is cut in the middle of a character loses that character.
pub fn decode(bytes: &[u8], declared: Option<&'static Encoding>) -> String {
    if Encoding::for_bom(bytes).is_none() {
        match std::str::from_utf8(bytes) {
            Ok(text) => return text.to_owned(),
            // Cut within its last character.
            Err(error) if error.error_len().is_none() => {
                return String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            }
            Err(_) => {}
        }
    }
    // `decode` looks for a byte-order mark first.
    declared.unwrap_or_else(|| guess(bytes)).decode(bytes).0.into_owned()
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let begin = &bytes[..bytes.len().min(GUESSED_BY)];
    // If the beginning is ASCII, what is not must come later.
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
    detector.feed(begin, false);
    if first >= begin.len() {
        detector.feed(&bytes[first..bytes.len().min(first + GUESSED_BY)], false);
    }
    let guessed = detector.guess(None, Utf8Detection::Deny);
    if guessed == UTF_8 { encoding_rs::WINDOWS_1252 } else { guessed }
}

/// Returns the encoding that an HTML or XML text declares in its beginning.
pub fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(1_024)]).to_ascii_lowercase();
    ["charset=", "encoding="].into_iter().find_map(|attribute| {
        let value = begin[begin.find(attribute)? + attribute.len()..].trim_start_matches(['"', '\'', ' ']);
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(value.len());
        Encoding::for_label(&value.as_bytes()[..end])
    })
}

/// The encoding of a Windows code page.
pub fn code_page(number: i32) -> Option<&'static Encoding> {
    match number {
        932 => Some(encoding_rs::SHIFT_JIS),
        936 => Some(encoding_rs::GBK),
        949 => Some(encoding_rs::EUC_KR),
        950 => Some(encoding_rs::BIG5),
        10_000 => Some(encoding_rs::MACINTOSH),
        65_001 => Some(encoding_rs::UTF_8),
        _ => Encoding::for_label(format!("windows-{number}").as_bytes()),
    }
}

/// The encoding of a character set of fonts.
pub fn character_set(number: i32) -> Option<&'static Encoding> {
    code_page(match number {
        0 | 1 => 1_252,
        77 => 10_000,
        128 => 932,
        129 | 130 => 949,
        134 => 936,
        136 => 950,
        161 => 1_253,
        162 => 1_254,
        163 => 1_258,
        177 => 1_255,
        178 => 1_256,
        186 => 1_257,
        204 => 1_251,
        222 => 874,
        238 => 1_250,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_recognised() {
        assert_eq!(decode("Größe €".as_bytes(), None), "Größe €");
        assert_eq!(decode(b"\xef\xbb\xbfa", None), "a");
        assert_eq!(decode(b"Gr\xf6\xdfe der T\xfcr \x80 \x93x\x94", None), "Größe der Tür € “x”");
        assert_eq!(decode(&"Größe".as_bytes()[..3], None), "Gr");
        assert_eq!(decode(b"\xff\xfeG\x00\xf6\x00", None), "Gö");
        assert_eq!(decode(b"\xfe\xff\x00G\x00\xf6", None), "Gö");
        assert_eq!(decode(b"", None), "");
        let (russian, ..) = encoding_rs::WINDOWS_1251.encode("Протокол заседания совета");
        assert_eq!(decode(&russian, None), "Протокол заседания совета");
        let (japanese, ..) = encoding_rs::SHIFT_JIS.encode("議事録をお送りします。");
        assert_eq!(decode(&japanese, None), "議事録をお送りします。");
        let late = [&b"a ".repeat(GUESSED_BY)[..], b"Gr\xf6\xdfe"].concat();
        assert!(decode(&late, None).ends_with("Größe"));
    }

    #[test]
    fn declarations_are_found() {
        for (text, name) in [
            ("<meta charset='iso-8859-2'>", Some("ISO-8859-2")),
            ("<meta http-equiv=x content=\"text/html; charset=KOI8-R\">", Some("KOI8-R")),
            ("<?xml version=\"1.0\" encoding=\"windows-1250\"?>", Some("windows-1250")),
            ("<meta charset=nonsense>", None),
            ("charset=", None),
        ] {
            assert_eq!(declared(text.as_bytes()).map(Encoding::name), name, "{text}");
        }
    }
}
