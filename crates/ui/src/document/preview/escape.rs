//! Text as markup that shows it.

use std::fmt::Write as _;

/// Adds text to markup.
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
