//! Texts that are longer than a cell of Excel holds. An export cuts them and says so, and an import recognises them, so
//! that no list loses the rest.

use std::borrow::Cow;

/// Limit of Excel on a text, in units of UTF-16.
const MAX_UNITS: usize = 32_767;
/// Length of a cut text with its mark, below the limit because other spreadsheets shorten texts near to it.
const CUT_UNITS: usize = 32_000;
/// The mark of a cut text, around the number of characters of the whole.
const BEFORE: &str = "\n[… cut: ";
const AFTER: &str = " characters are too many for Excel. Download the list as CSV to get all of them.]";

/// Cuts a text that does not fit into a cell.
pub fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_UNITS || text.encode_utf16().count() <= MAX_UNITS {
        return Cow::Borrowed(text);
    }
    let mark = format!("{BEFORE}{}{AFTER}", text.chars().count());
    let room = CUT_UNITS - mark.encode_utf16().count();
    let mut units = 0;
    let end = text.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > room
    });
    let end = end.map_or(text.len(), |(end, _)| end);
    Cow::Owned(format!("{}{mark}", &text[..end]))
}

/// Returns whether a text from a cell was cut, even if it has been changed since.
pub fn is_cut(text: &str) -> bool {
    parts(text).is_some()
}

/// Returns whether a text from a cell is what [`cut`] left of the whole text.
pub fn is_cut_from(text: &str, whole: &str) -> bool {
    parts(text)
        .is_some_and(|(kept, count, after)| after == AFTER && whole.starts_with(kept) && whole.chars().count() == count)
}

/// Returns what precedes the mark, the number in it, and the text from there on.
fn parts(text: &str) -> Option<(&str, usize, &str)> {
    let (kept, mark) = text.rsplit_once(BEFORE)?;
    let (count, after) = mark.split_at(mark.find(|c: char| !c.is_ascii_digit())?);
    let is_mark = after.starts_with(AFTER.split_once('.').map_or(AFTER, |(begin, _)| begin));
    Some((kept, count.parse().ok()?, after)).filter(|_| is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_known_again() {
        for short in ["", "text", &"x".repeat(MAX_UNITS), &"é".repeat(MAX_UNITS), &"\u{1f600}".repeat(MAX_UNITS / 2)] {
            assert_eq!(cut(short), short);
            assert!(!is_cut(short));
        }
        for long in [&"x".repeat(MAX_UNITS + 1), &"\u{1f600}".repeat(MAX_UNITS / 2 + 1), &"é\n".repeat(30_000)] {
            let sent = cut(long);
            assert!((CUT_UNITS - 1..=CUT_UNITS).contains(&sent.encode_utf16().count()));
            assert!(is_cut_from(&sent, long));
            for changed in [format!("y{sent}more"), sent.trim_end_matches(']').to_owned()] {
                assert!(is_cut(&changed));
                assert!(!is_cut_from(&changed, long));
            }
            assert!(!is_cut_from(&sent, &format!("{long}!")));
            assert!(!is_cut_from(&sent, &format!("y{}", &long[long.char_indices().nth(1).unwrap().0..])));
        }
    }
}
