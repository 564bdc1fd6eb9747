//! Decoding of stored bytes to text when the encoding is not declared.

/// Decodes a text. Returns `None` when the bytes are not a text. When they are only a prefix (`cut`), an incomplete
/// last character is dropped.
pub fn decode(bytes: &[u8], cut: bool) -> Option<String> {
    let text = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest, cut),
        [0xff, 0xfe, rest @ ..] => utf16(rest, cut, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, cut, u16::from_be_bytes),
        _ => utf8(bytes, cut),
    };
    (!text.contains('\0')).then(|| text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Returns whether bytes of unknown kind are text: UTF-8 whose only control characters are tabs, line ends and form
/// feeds.
pub fn is_plain(bytes: &[u8], cut: bool) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if cut && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    text.chars().all(|character| !character.is_control() || "\t\r\n\u{c}".contains(character))
}

fn utf8(bytes: &[u8], cut: bool) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) if cut && error.error_len().is_none() => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
        }
        // Text that is not UTF-8 is most likely Latin-1.
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

fn utf16(bytes: &[u8], cut: bool, number: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    let mut units: Vec<u16> = pairs.iter().map(|pair| number(*pair)).collect();
    // A high surrogate without its second half.
    if cut && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
        units.pop();
    }
    char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::{decode, is_plain};

    #[test]
    fn what_is_a_text_is_seen_by_its_bytes() {
        for text in ["", "a\tb\r\n\u{c}c", "straße\n"] {
            assert!(is_plain(text.as_bytes(), false), "{text:?}");
        }
        for other in [b"\x7fELF".as_slice(), b"a\0b", b"stra\xdfe", b"a\x1b[0m", b"a\xc3"] {
            assert!(!is_plain(other, false), "{other:?}");
        }
        assert!(is_plain(b"a\xc3", true));
        assert!(!is_plain(b"a\xff\xffb", true));
    }

    #[test]
    fn a_character_that_was_cut_is_left_out() {
        let coded = |text: &str| -> Vec<u8> {
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
        };
        for (bytes, at) in [("a\u{e9}".as_bytes().to_vec(), 1), (coded("a\u{1f5c4}"), 4)] {
            for end in at..bytes.len() {
                assert_eq!(decode(&bytes[..end], true).unwrap(), "a", "{bytes:?} up to {end}");
            }
        }
    }

    #[test]
    fn usual_encodings_are_told_apart() {
        assert_eq!(decode("ä\r\nb\rc".as_bytes(), false).unwrap(), "ä\nb\nc");
        assert_eq!(decode(b"\xef\xbb\xbfa", false).unwrap(), "a");
        assert_eq!(decode(b"\xff\xfea\0\xe4\0", false).unwrap(), "aä");
        assert_eq!(decode(b"\xfe\xff\0a\0\xe4", false).unwrap(), "aä");
        assert_eq!(decode(b"stra\xdfe", false).unwrap(), "straße");
        assert_eq!(decode(b"a\xc3", true).unwrap(), "a");
        assert!(decode(b"PK\0\0", false).is_none());
    }
}
