//! Characters that XML cannot hold: a workbook has `_x0001_` in their place, and `_x005F_` in place of an underscore
//! that would begin such an escape (ECMA-376 part 1, 22.9.2.19).

use std::borrow::Cow;

/// Returns the four hexadecimal digits of an escape at the beginning of a text, without its last underscore.
fn digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("_x")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(digits)
}

/// Returns whether a character must be escaped. A carriage return would be read as a line feed.
fn is_special(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Escapes a text.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_special) && !text.contains("_x") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        if is_special(c) {
            out.push_str(&format!("_x{:04X}_", u32::from(c)));
        } else if c == '_' && digits(&text[at..]).is_some() {
            // The escape of the next character begins with an underscore, too, so what follows does not matter.
            out.push_str("_x005F_");
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Reads an escaped text. An escape that stands for no character stays as it is.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains("_x") {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("_x") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (c, length) = escape(rest).unwrap_or(('_', 1));
        out.push(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Reads the escape at the beginning of a text, or two of them that are one character of UTF-16. Returns the character
/// and the length of its escapes.
fn escape(text: &str) -> Option<(char, usize)> {
    const LENGTH: usize = 7;
    let unit = |text: &str| {
        let digits = digits(text).filter(|_| text[6..].starts_with('_'))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(text)?;
    if let Some(c) = char::from_u32(u32::from(first)) {
        return Some((c, LENGTH));
    }
    let second = unit(&text[LENGTH..])?;
    let c = char::decode_utf16([first, second]).next()?.ok()?;
    Some((c, 2 * LENGTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back() {
        let pieces = ["_", "x", "_x0041_", "_x0041", "0041_", "\u{1}", "\r", "_x005F_", "é", "\u{ffff}", "_x00e"];
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    for d in pieces {
                        let text = [a, b, c, d].concat();
                        let sent = escaped(&text);
                        assert!(!sent.contains(is_special), "{sent:?}");
                        assert_eq!(unescaped(&sent), text, "{sent:?}");
                    }
                }
            }
        }
        assert!(matches!(escaped("a_b\n\tc"), Cow::Borrowed(_)));
        assert_eq!(escaped("_x0041_\r"), "_x005F_x0041__x000D_");
    }

    #[test]
    fn escapes_of_other_programs_are_read() {
        assert_eq!(unescaped("a_x000d_b_x0020_"), "a\rb ");
        assert_eq!(unescaped("_xD83D__xDE00_!"), "\u{1f600}!");
        for plain in ["_xD83D_", "_xDE00__xD83D_", "_X0041_", "_x004_", "_x00é1_", "_x0041", "_xD83D__xDE0"] {
            assert_eq!(unescaped(plain), plain);
        }
    }
}
