//! Cursors of paged listings: opaque text that identifies where the next page begins.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{Code, Error, Result};

/// Version prefix, so that a later format can be recognised.
const VERSION: &str = "1";
/// Separator of the parts; no name contains a control character.
const SEPARATOR: char = '\u{1f}';
/// Longest cursor that is decoded: a name of 255 characters with room to spare.
const MAX_CURSOR: usize = 4096;

/// Encodes the parts of a position as one opaque URL-safe token.
pub fn encode<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let text = parts.into_iter().fold(VERSION.to_owned(), |mut text, part| {
        text.push(SEPARATOR);
        text.push_str(part);
        text
    });
    URL_SAFE_NO_PAD.encode(text)
}

/// Decodes a cursor that [`encode`] made from `N` parts. Anything else is an error with the code `invalid_cursor`.
pub fn decode<const N: usize>(cursor: &str) -> Result<[String; N]> {
    let read = || {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok().filter(|_| cursor.len() <= MAX_CURSOR)?;
        let text = String::from_utf8(bytes).ok()?;
        let mut parts = text.split(SEPARATOR);
        let known = parts.next() == Some(VERSION);
        let parts: Vec<String> = parts.map(ToOwned::to_owned).collect();
        <[String; N]>::try_from(parts).ok().filter(|_| known)
    };
    read().ok_or_else(|| {
        Error::invalid("the cursor was not issued by this server; start again at the first page")
            .with_code(Code::InvalidCursor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back_and_others_are_refused() {
        let cursor = encode(["folder", "größe.txt", "42"]);
        assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
        assert_eq!(decode::<3>(&cursor).unwrap(), ["folder", "größe.txt", "42"]);
        assert!(decode::<2>(&cursor).is_err());
        let other = URL_SAFE_NO_PAD.encode("2\u{1f}a");
        for bad in ["", "!!!", "AAAA", &other, &"A".repeat(5000)] {
            assert_eq!(decode::<1>(bad).unwrap_err().code(), "invalid_cursor", "{bad}");
        }
    }
}
