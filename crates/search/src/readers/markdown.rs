//! Markdown: the title of its front matter, and the text without front matter and the parts of pages, which only say
//! where something else is to be found.

use super::document_text::TextBuilder;

/// Limit on the bytes of front matter.
const MAX_FRONT_MATTER: usize = 16 << 10;
/// Beginning of the language of a code block that is a part of a page.
const PART: &str = "part-";

/// Appends a text.
pub fn read(text: &str, found: &mut TextBuilder) {
    let body = match split(text) {
        Some((front_matter, body)) => {
            front_matter.lines().filter_map(title_in).take(1).for_each(|title| found.set_title(title));
            body
        }
        None => text,
    };
    // The fence that ends the part in which the line is.
    let mut inside: Option<&str> = None;
    for line in body.split_inclusive('\n') {
        let trimmed = line.trim();
        match inside {
            Some(fence) => {
                let ends = trimmed.starts_with(fence) && trimmed.trim_start_matches(['`', '~']).is_empty();
                inside = inside.filter(|_| !ends);
            }
            None => {
                inside = part_fence(trimmed);
                if inside.is_none() {
                    found.add(line);
                }
            }
        }
        if found.is_full() {
            break;
        }
    }
}

/// Splits front matter, between lines of `+++` or `---`, from the text behind it.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let fence =
        ["+++", "---"].into_iter().find(|fence| text.lines().next().is_some_and(|line| line.trim_end() == *fence))?;
    let begin = text.find('\n')? + 1;
    let mut end = begin;
    for line in text[begin..].split_inclusive('\n') {
        if line.trim_end() == fence {
            return Some((&text[begin..end], &text[end + line.len()..]));
        }
        end += line.len();
        if end > MAX_FRONT_MATTER {
            break;
        }
    }
    None
}

/// Returns the title that a line of front matter gives, in TOML or YAML.
fn title_in(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(['=', ':'])?;
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    (key.trim() == "title").then_some(quoted.unwrap_or(value)).filter(|title| !title.is_empty())
}

/// Returns the fence of a line that begins a part of a page.
fn part_fence(line: &str) -> Option<&str> {
    let length = line.len() - line.trim_start_matches(['`', '~']).len();
    let (fence, language) = line.split_at(length);
    (length >= 3 && language.trim_start().starts_with(PART)).then_some(fence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (String, String) {
        let mut found = TextBuilder::default();
        read(text, &mut found);
        let done = found.finish();
        (done.title, done.text)
    }

    #[test]
    fn what_a_reader_sees_is_found() {
        let page = "+++\ntitle = \"Moving\"\n+++\n# When\n\n```part-list\nfrom = \"Tasks\"\n```\nOn *Friday*.\n\n```rust\nlet party = 1;\n```\n";
        let (title, text) = of(page);
        assert_eq!(title, "Moving");
        for word in ["When", "On *Friday*", "let party"] {
            assert!(text.contains(word), "{text}");
        }
        for word in ["title", "part-list", "Tasks", "+++"] {
            assert!(!text.contains(word), "{text}");
        }
        assert_eq!(of("---\ntitle: 'A day'\ntags: x\n---\nText").0, "A day");
        for plain in ["", "+++", "+++\nno end", "---", "text\n+++\n", "~~~\ncode\n~~~", "```\npart-\n```"] {
            assert_eq!(of(plain), (String::new(), plain.to_owned()), "{plain:?}");
        }
        // A part without an end goes to the end.
        assert_eq!(of("a\n~~~~part-x\n~~~\nb\n").1, "a\n");
    }
}
