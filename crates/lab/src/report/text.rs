//! Untrusted text in reports and terminals: labels, messages of targets, and the content of result files.

/// Returns the text as one line without control characters, escape sequences and bidirectional formatting characters,
/// so that it is safe in a terminal.
pub fn plain(text: &str) -> String {
    let replace = |c: char| match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(replace).collect()
}

/// Returns plain text, escaped so that Markdown shows it literally, even in a table cell.
pub fn markdown(text: &str) -> String {
    let text = plain(text);
    let mut escaped = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let begins_tag = |next: &char| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?');
        // A comparison such as "p95 < 500ms" is left readable: `<` is escaped only if it could begin a tag.
        if matches!(c, '\\' | '`' | '|' | '*' | '[' | ']') || c == '<' && characters.peek().is_some_and(begins_tag) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Escapes JSON for a script element of a page. The escaped characters occur only inside strings, and nothing in the
/// result can end the script or begin a comment.
pub fn in_script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
            escaped += &format!("\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_a_terminal_is_left() {
        assert_eq!(
            plain("a\u{1b}[2J\u{9b}1mb\nc\td\u{7}\u{202e}e\0"),
            "a\u{fffd}[2J\u{fffd}1mb c d\u{fffd}\u{fffd}e\u{fffd}"
        );
        assert_eq!(plain("ein Wort, 10 µs, 文"), "ein Wort, 10 µs, 文");
    }

    #[test]
    fn markdown_shows_what_was_written() {
        assert_eq!(markdown("a|b\nc"), "a\\|b c");
        assert_eq!(markdown("<script> </b> <!--"), "\\<script> \\</b> \\<!--");
        assert_eq!(markdown("![x](y) `z` *w* \\|"), "!\\[x\\](y) \\`z\\` \\*w\\* \\\\\\|");
        assert_eq!(markdown("p95 < 500ms, read_1 > 2"), "p95 < 500ms, read_1 > 2");
    }

    #[test]
    fn a_script_does_not_end_within_its_data() {
        let value = serde_json::json!({ "<!--<script>": "</script> & \u{2028}" });
        let escaped = in_script(&value.to_string());
        assert!(!escaped.contains(['<', '>', '&', '\u{2028}']), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
