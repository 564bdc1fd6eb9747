//! Rules of names and texts in templates.

use std::collections::HashSet;

use model::{Name, Result, fold};

use super::reason::invalid;
use super::text::Text;

/// Returns whether a text can be the name of a template: small letters, digits and hyphens between them, at most 63.
pub(in crate::templates) fn is_template_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('-') && !text.ends_with('-')
}

/// Shortens a text from the file for a message.
pub(super) fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

pub(super) fn at_most(what: &str, count: usize, most: usize) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    Err(invalid(format!("it has {count} {what}, and at most {most} are allowed")))
}

/// Checks a text of one line.
pub(super) fn check_line(what: &str, text: &Text, most: usize, must: bool) -> Result<()> {
    for one in text.all() {
        if one.chars().any(char::is_control) || one.chars().count() > most || (must && one.trim().is_empty()) {
            let least = usize::from(must);
            return Err(invalid(format!("{what} has not {least} to {most} characters in one line")));
        }
    }
    Ok(())
}

/// Checks that a text can be a name in each language.
pub(super) fn check_name(what: &str, text: &Text) -> Result<()> {
    let bad = text.all().into_iter().find_map(|one| Name::new(one).err());
    bad.map_or(Ok(()), |error| Err(invalid(format!("{what}: {error}"))))
}

/// Checks that no two names are the same, by which the template refers to them or in any language.
pub(super) fn distinct<'a>(what: &str, names: impl Iterator<Item = &'a Text> + Clone) -> Result<()> {
    let mut tags: Vec<&str> = names.clone().flat_map(Text::tags).collect();
    tags.push("en");
    tags.sort_unstable();
    tags.dedup();
    for tag in tags {
        let mut seen = HashSet::new();
        for name in names.clone() {
            let text = name.in_language(tag);
            if !seen.insert(fold(text)) {
                return Err(invalid(format!("there are two of {what} {:?}", short(text))));
            }
        }
    }
    Ok(())
}
