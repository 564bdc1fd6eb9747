//! Rules for texts about people, and the terms by which people are found.

use model::{Code, Error, MAX_COMMENT, MAX_NAME_CHARS, Result, fold};

/// Maximum length of an e-mail address in bytes (RFC 5321, 4.5.3.1.3, without its brackets).
const MAX_EMAIL_BYTES: usize = 254;
/// Maximum number of words of a name at which a search term begins.
const MAX_TERMS: usize = 8;

/// Returns a display name, trimmed: 1 to 255 characters without control characters. `what` names the value in the error
/// message.
pub(crate) fn display_name(what: &str, text: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MAX_NAME_CHARS || text.contains(char::is_control) {
        return Err(Error::invalid(format!("{what} has 1 to {MAX_NAME_CHARS} characters and no control characters"))
            .with_code(Code::InvalidName));
    }
    Ok(text.to_owned())
}

/// Returns an e-mail address, trimmed, or the empty text. Only sending mail would show that the address works.
pub(super) fn email(text: &str) -> Result<String> {
    let text = text.trim();
    let plausible = match text.rsplit_once('@') {
        Some((local, domain)) => !local.is_empty() && !domain.is_empty(),
        None => text.is_empty(),
    };
    let bad = |c: char| c.is_control() || c.is_whitespace() || "<>,;\"".contains(c);
    if !plausible || text.len() > MAX_EMAIL_BYTES || text.contains(bad) {
        return Err(Error::invalid("an e-mail address looks like name@example.org, or is left empty")
            .with_code(Code::InvalidEmail));
    }
    Ok(text.to_owned())
}

/// Returns a description, trimmed: up to 4,000 characters, without control characters other than line ends and tabs.
pub(super) fn description(text: &str) -> Result<String> {
    let text = text.trim();
    let bad = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.chars().count() > MAX_COMMENT || text.contains(bad) {
        return Err(Error::invalid(format!(
            "a description has up to {MAX_COMMENT} characters and no control characters"
        )));
    }
    Ok(text.to_owned())
}

/// Returns text from a request that is only displayed, such as the name of a browser: truncated, with control
/// characters replaced by spaces.
pub(super) fn shown(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the folded texts that are matched by prefix to find a principal: the login, and the name from each of its
/// words on.
pub(super) fn terms(login: Option<&str>, name: &str) -> Vec<String> {
    let folded = fold(name);
    let mut terms: Vec<String> = login.map(fold).into_iter().collect();
    let mut inside_word = false;
    for (at, c) in folded.char_indices() {
        let begins = c.is_alphanumeric() && !inside_word;
        inside_word = c.is_alphanumeric();
        if (begins || at == 0) && terms.len() <= MAX_TERMS {
            terms.push(folded[at..].to_owned());
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_from_each_word_on() {
        assert_eq!(
            terms(Some("amu"), "Anna Maria Müller-Groß"),
            ["amu", "anna maria müller-gross", "maria müller-gross", "müller-gross", "gross"]
        );
        assert_eq!(terms(None, "(Sales)"), ["(sales)", "sales)"]);
        assert!(terms(None, &"a ".repeat(100)).len() <= MAX_TERMS + 1);
    }

    #[test]
    fn addresses_are_checked_for_what_cannot_be_one() {
        for good in ["", " a@b ", "a.b+c@example.org", "ü@ö.de"] {
            assert!(email(good).is_ok(), "{good}");
        }
        for bad in ["a", "@b", "a@", "a b@c", "a@b\nBcc: c@d", "<a@b>", &format!("{}@b", "a".repeat(254))] {
            assert_eq!(email(bad).unwrap_err().code(), "invalid_email", "{bad}");
        }
    }

    #[test]
    fn names_and_descriptions_are_trimmed_and_bounded() {
        assert_eq!(display_name("a name", "  Ann ").unwrap(), "Ann");
        for bad in ["", "  ", "a\u{7}b", &"x".repeat(256)] {
            assert!(display_name("a name", bad).is_err());
        }
        assert_eq!(description(" a\nb ").unwrap(), "a\nb");
        assert!(description("a\0b").is_err());
        assert!(description(&"x".repeat(4_001)).is_err());
        assert_eq!(shown("Mozilla\r\n5.0", 9), "Mozilla  ");
    }
}
