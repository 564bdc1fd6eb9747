//! Bidirectional control characters, as in `invoice\u{202e}fdp.exe`, which is displayed as `invoiceexe.pdf`. Pages make
//! these characters visible. Stored names keep them, and forms send them back unchanged.

/// Replacement for such a character on pages.
const SHOWN: char = '\u{fffd}';

/// Returns whether a character embeds, overrides or isolates a direction. The marks U+200E, U+200F and U+061C are
/// excluded: they do not reorder text, and Hebrew and Arabic names contain them.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Makes these characters visible in a rendered page. In attribute values and text areas, where the exact text counts,
/// they become character references.
pub fn make_bidi_visible(html: String) -> String {
    // All of these characters begin with this byte. Otherwise it only occurs in the dashes and quotes of a page.
    let mut firsts = memchr::memchr_iter(0xe2, html.as_bytes());
    if !firsts.any(|at| html[at..].starts_with(is_bidi_control)) {
        return html;
    }
    let mut shown = String::with_capacity(html.len() + 64);
    // Angle brackets in user content are escaped. The remaining ones belong to the page's own markup.
    let (mut in_tag, mut in_field) = (false, false);
    for (at, c) in html.char_indices() {
        match c {
            '<' => (in_tag, in_field) = (true, html[at..].starts_with("<textarea")),
            '>' => in_tag = false,
            _ => {}
        }
        if !is_bidi_control(c) {
            shown.push(c);
        } else if in_tag || in_field {
            shown.push_str(&format!("&#{};", u32::from(c)));
        } else {
            shown.push(SHOWN);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_what_turns_it_and_values_keep_it() {
        for (page, shown) in [
            ("<p>plain – “text”</p>", "<p>plain – “text”</p>"),
            ("<a href=\"/x\">invoice\u{202e}fdp.exe</a>", "<a href=\"/x\">invoice\u{fffd}fdp.exe</a>"),
            ("<b>\u{2066}a\u{2069}\u{200f}</b>", "<b>\u{fffd}a\u{fffd}\u{200f}</b>"),
            ("<input value=\"a\u{202e}b\">\u{202e}", "<input value=\"a&#8238;b\">\u{fffd}"),
            ("<textarea id=\"x\">a\u{202a}b</textarea>\u{202a}", "<textarea id=\"x\">a&#8234;b</textarea>\u{fffd}"),
        ] {
            assert_eq!(make_bidi_visible(page.to_owned()), shown);
        }
    }
}
