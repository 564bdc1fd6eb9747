//! HTML escaping of text.

use std::fmt::Write as _;

/// Appends escaped text to HTML.
pub fn escape(text: &str, markup: &mut String) {
    for character in text.chars() {
        match character {
            '&' | '<' | '>' | '"' | '\'' => {
                let _ = write!(markup, "&#{};", u32::from(character));
            }
            _ => markup.push(character),
        }
    }
}

/// Returns the lines of a text as HTML.
pub fn lines(text: &str) -> Vec<String> {
    let escaped = |line: &str| {
        let mut markup = String::with_capacity(line.len());
        escape(line, &mut markup);
        markup
    };
    text.split('\n').map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_there_once_and_escaped() {
        let text = "<b>\"'`/*\n#--ä\\\u{202e}<!-- 1x_ é\"\"\" '''\\ &#60;\n";
        let mut plain = lines(text).join("\n");
        assert!(!plain.contains(['<', '>', '"', '\'']), "{plain}");
        for (code, character) in [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")] {
            plain = plain.replace(code, character);
        }
        assert_eq!(plain, text);
    }

    #[test]
    fn each_line_of_a_text_is_a_line() {
        assert_eq!(lines("let x; // <y>\n\nz"), ["let x; // &#60;y&#62;", "", "z"]);
        assert_eq!(lines(""), [""]);
    }

    #[test]
    fn hostile_text_costs_no_more_than_other_text() {
        let begun = std::time::Instant::now();
        for hostile in ["\"\\", "`'\"\n", "<!--", "/*", "\n"] {
            lines(&hostile.repeat((256 << 10) / hostile.len()));
        }
        // A quadratic algorithm would take many minutes, a linear one takes less than a second.
        assert!(begun.elapsed().as_secs() < 100, "{:?}", begun.elapsed());
    }
}
