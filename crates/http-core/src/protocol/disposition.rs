//! `Content-Disposition` (RFC 6266 with RFC 8187): a file name that every client understands and none can misread.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but `attr-char` of RFC 8187.
const NOT_ATTR: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// The field value for a download under `name`.
pub fn attachment(name: &str) -> String {
    with_name("attachment", name)
}

/// The field value for display in the browser. A saved copy is called `name`.
pub fn inline(name: &str) -> String {
    with_name("inline", name)
}

fn with_name(kind: &str, name: &str) -> String {
    let fallback: String = name.chars().map(plain).collect();
    if fallback == name {
        return format!("{kind}; filename=\"{fallback}\"");
    }
    format!("{kind}; filename=\"{fallback}\"; filename*=UTF-8''{}", utf8_percent_encode(name, NOT_ATTR))
}

/// Replaces a character in the plain form, which old clients read. `%` is replaced too, since some clients decode it
/// there.
fn plain(c: char) -> char {
    match c {
        ' '..='~' if !"\"\\%/".contains(c) => c,
        _ => '_',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    #[test]
    fn names_are_written_for_old_and_new_clients() {
        let cases = [
            ("plan.pdf", "attachment; filename=\"plan.pdf\""),
            ("a b.txt", "attachment; filename=\"a b.txt\""),
            ("Größe.txt", "attachment; filename=\"Gr__e.txt\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.txt"),
            ("a\"b\\c.txt", "attachment; filename=\"a_b_c.txt\"; filename*=UTF-8''a%22b%5Cc.txt"),
            ("100%.txt", "attachment; filename=\"100_.txt\"; filename*=UTF-8''100%25.txt"),
            (
                "a\r\nSet-Cookie: x",
                "attachment; filename=\"a__Set-Cookie: x\"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x",
            ),
            ("x\u{202e}fdp.exe", "attachment; filename=\"x_fdp.exe\"; filename*=UTF-8''x%E2%80%AEfdp.exe"),
        ];
        for (name, expected) in cases {
            assert_eq!(attachment(name), expected);
        }
        assert_eq!(inline("a.png"), "inline; filename=\"a.png\"");
    }

    proptest! {
        #[test]
        fn any_name_is_a_header_value_and_reads_back(name in ".{0,40}") {
            let value = attachment(&name);
            prop_assert!(HeaderValue::from_str(&value).is_ok() && value.is_ascii());
            let read = match value.split_once("filename*=UTF-8''") {
                Some((_, coded)) => percent_encoding::percent_decode_str(coded).decode_utf8().unwrap().into_owned(),
                None => value["attachment; filename=\"".len()..value.len() - 1].to_owned(),
            };
            prop_assert_eq!(read, name);
        }
    }
}
