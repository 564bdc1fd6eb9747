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
