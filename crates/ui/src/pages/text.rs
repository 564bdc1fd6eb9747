//! The text of a page: front matter in TOML between lines of three plus signs, then Markdown.
//!
//! ```text
//! +++
//! title = "Welcome"
//! +++
//! Everything about *moving house*.
//! ```

/// Limit on the bytes of front matter.
const MAX_FRONT_MATTER: usize = 16 << 10;
/// Limit on the characters of a title.
const MAX_TITLE: usize = 255;
/// The line before and after front matter.
const FENCE: &str = "+++";

/// A page, split into its title and its Markdown.
#[derive(Debug, PartialEq, Eq)]
pub struct PageText<'a> {
    /// Title: that of the front matter, or else the first line if it is a heading; empty for neither.
    pub title: String,
    /// Markdown without the title.
    pub body: &'a str,
    /// The reason why the front matter cannot be read; empty if it can.
    pub fault: String,
}

impl<'a> PageText<'a> {
    /// Splits the text of a page, which has Unix line ends.
    pub fn parse(text: &'a str) -> Self {
        let (front_matter, body) = split(text);
        let (title, fault) = match front_matter.map(title_in) {
            None => (String::new(), String::new()),
            Some(Ok(title)) => (title, String::new()),
            Some(Err(fault)) => (String::new(), fault),
        };
        if !title.is_empty() {
            return Self { title, body, fault };
        }
        match first_heading(body) {
            Some((title, body)) => Self { title: shortened(title), body, fault },
            None => Self { title, body, fault },
        }
    }
}

/// Splits front matter from the Markdown after it.
fn split(text: &str) -> (Option<&str>, &str) {
    let Some(rest) = text.strip_prefix(FENCE).and_then(|rest| rest.trim_start_matches([' ', '\t']).strip_prefix('\n'))
    else {
        return (None, text);
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return (Some(&rest[..end]), &rest[end + line.len()..]);
        }
        end += line.len();
        if end > MAX_FRONT_MATTER {
            break;
        }
    }
    (None, text)
}

/// Reads the title from front matter. Other keys may belong to other programs.
fn title_in(front_matter: &str) -> Result<String, String> {
    let table: toml::Table = front_matter.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    match table.get("title") {
        None => Ok(String::new()),
        Some(toml::Value::String(title)) => Ok(shortened(title)),
        Some(_) => Err("title must be a text".to_owned()),
    }
}

/// Takes a title from the first line of Markdown, if that is a heading of the first level.
fn first_heading(body: &str) -> Option<(&str, &str)> {
    let body = body.trim_start_matches('\n');
    let (line, rest) = body.split_once('\n').unwrap_or((body, ""));
    let title = line.strip_prefix("# ")?.trim().trim_end_matches('#').trim_end();
    // A title is plain text; a heading with other signs is left to Markdown.
    (!title.is_empty() && !title.contains(['*', '_', '`', '[', '<', '\\', '&', '!'])).then_some((title, rest))
}

fn shortened(title: &str) -> String {
    title.trim().chars().filter(|character| !character.is_control()).take(MAX_TITLE).collect()
}

/// Returns the text of a new page.
pub fn with_title(title: &str) -> String {
    let table: toml::Table = [("title".to_owned(), toml::Value::String(shortened(title)))].into_iter().collect();
    format!("{FENCE}\n{table}{FENCE}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, &str, bool) {
        let PageText { title, body, fault } = PageText::parse(text);
        (title, body, fault.is_empty())
    }

    #[test]
    fn the_title_is_in_the_front_matter_or_the_first_heading() {
        assert_eq!(parts("+++\ntitle = \"Hello\"\nweight = 3\n+++\nText\n"), ("Hello".into(), "Text\n", true));
        assert_eq!(parts("+++ \ntitle = 'A'\n+++"), ("A".into(), "", true));
        assert_eq!(parts("\n# Plan ##\n\nText"), ("Plan".into(), "\nText", true));
        assert_eq!(parts("# *Plan*\nText"), (String::new(), "# *Plan*\nText", true));
        assert_eq!(parts("Text"), (String::new(), "Text", true));
        assert_eq!(parts("+++\n+++\n# A\nb"), ("A".into(), "b", true));
        assert_eq!(parts("## A\nb"), (String::new(), "## A\nb", true));
    }

    #[test]
    fn front_matter_that_cannot_be_read_is_reported_and_one_without_end_is_text() {
        assert_eq!(parts("+++\ntitle = \n+++\nText"), (String::new(), "Text", false));
        assert_eq!(parts("+++\ntitle = 7\n+++\nText"), (String::new(), "Text", false));
        assert_eq!(parts("+++\ntitle = \"x\"\n"), (String::new(), "+++\ntitle = \"x\"\n", true));
        let long = format!("+++\n{}+++\n", "# comment\n".repeat(2_000));
        assert_eq!(PageText::parse(&long).body.len(), long.len());
    }

    #[test]
    fn a_new_page_has_the_title_that_it_was_given() {
        for title in ["Plan", "\"quoted\" \\ +++", "Öffnung\u{7}szeiten"] {
            let text = with_title(title);
            assert_eq!(PageText::parse(&text).title, shortened(title), "{text}");
        }
    }
}
