//! Percent-encoded paths: decoded exactly once, encoded exactly once.

use model::{Code, Error, Result};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Characters that cannot appear unencoded in a path segment, or are safer encoded.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'\'')
    .add(b'/')
    .add(b';')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Decodes the names in a raw path, which must not have been decoded before. Empty segments are skipped.
///
/// # Errors
/// Invalid with code `invalid_path` for text that is not UTF-8, an encoded slash, a stray percent sign or a NUL.
pub fn decode(path: &str) -> Result<Vec<String>> {
    path.split('/').filter(|segment| !segment.is_empty()).map(decode_one).collect()
}

fn decode_one(segment: &str) -> Result<String> {
    let bad =
        |why: &str| Err(Error::invalid(format!("the address cannot be read: {why}")).with_code(Code::InvalidPath));
    let mut rest = segment;
    while let Some((_, tail)) = rest.split_once('%') {
        if !tail.as_bytes().get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
            return bad("a percent sign must be followed by two hexadecimal digits");
        }
        rest = &tail[2..];
    }
    match percent_decode_str(segment).decode_utf8() {
        Err(_) => bad("a name in it is not UTF-8"),
        Ok(name) if name.contains('/') => bad("a name in it has an encoded slash"),
        Ok(name) if name.contains('\0') => bad("a name in it has a NUL"),
        Ok(name) => Ok(name.into_owned()),
    }
}

/// Encodes one name as a path segment.
pub fn encode(name: &str) -> String {
    match name {
        // Browsers and proxies resolve these as path steps even when the dots are encoded; no item has such a name.
        "." | ".." => String::new(),
        _ => utf8_percent_encode(name, SEGMENT).to_string(),
    }
}

/// Encodes names as a path that begins with a slash. The empty path is `/`.
pub fn encode_path<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let path = names.into_iter().fold(String::new(), |path, name| path + "/" + &encode(name));
    if path.is_empty() { "/".to_owned() } else { path }
}

/// Encodes a value for a query string.
pub fn encode_query(value: &str) -> String {
    const QUERY: &AsciiSet = &SEGMENT.add(b'+').add(b'=');
    utf8_percent_encode(value, QUERY).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_decoded_once() {
        let read = |path: &str| decode(path).map(|names| names.join("|"));
        assert_eq!(read("/Documents/a%20b/100%25.txt").unwrap(), "Documents|a b|100%.txt");
        assert_eq!(read("/%2541").unwrap(), "%41");
        assert_eq!(read("//a///b/").unwrap(), "a|b");
        assert_eq!(read("/%C3%BC/a+b").unwrap(), "ü|a+b");
        for bad in ["/%2F", "/a%2fb", "/%FF", "/%C3", "/%", "/%2", "/%zz", "/a%00b", "/%C0%AF"] {
            assert_eq!(read(bad).unwrap_err().code(), "invalid_path", "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back(names in proptest::collection::vec("[^/\0]{1,20}", 1..5)) {
            prop_assume!(names.iter().all(|name| name != "." && name != ".."));
            let path = encode_path(names.iter().map(String::as_str));
            prop_assert!(path.is_ascii() && !path.contains([' ', '"', '<', '\\', '?', '#']));
            prop_assert_eq!(decode(&path).unwrap(), names);
        }
    }
}
