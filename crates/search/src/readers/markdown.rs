//! Markdown: the title of its front matter, and the text without front matter and the parts of pages, which only say
//! where something else is to be found.

use super::document_text::TextBuilder;

/// Limit on the bytes of front matter.
const MAX_FRONT_MATTER: usize = 16 << 10;
/// Beginning of the language of a code block that is a part of a page.
const PART: &str = "part-";

/// A code block in which a line is.
struct Block<'t> {
    fence: &'t str,
    is_part: bool,
}

/// Appends a text.
pub fn read(text: &str, found: &mut TextBuilder) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut body = text;
    if let Some((fence, front_matter, rest)) = split(text) {
        front_matter.lines().filter_map(title_in).take(1).for_each(|title| found.set_title(title));
        // Pages know the first form only. What stands between two rules is text like any other.
        if fence == "+++" {
            body = rest;
        }
    }
    let mut inside: Option<Block<'_>> = None;
    for line in body.split_inclusive('\n') {
        let trimmed = line.trim();
        let is_hidden = match &inside {
            Some(block) => {
                let is_part = block.is_part;
                let ends = trimmed.starts_with(block.fence) && trimmed.trim_start_matches(['`', '~']).is_empty();
                inside = inside.filter(|_| !ends);
                is_part
            }
            None => {
                inside = block_of(trimmed);
                inside.as_ref().is_some_and(|block| block.is_part)
            }
        };
        if !is_hidden {
            found.add(line);
        }
        if found.is_full() {
            break;
        }
    }
}

/// Splits front matter, between lines of `+++` or `---`, from the text behind it.
fn split(text: &str) -> Option<(&'static str, &str, &str)> {
    let first = text.lines().next()?.trim_end();
    let fence = ["+++", "---"].into_iter().find(|fence| first == *fence)?;
    let begin = text.find('\n')? + 1;
    let mut end = begin;
    for line in text[begin..].split_inclusive('\n') {
        if line.trim_end() == fence {
            return Some((fence, &text[begin..end], &text[end + line.len()..]));
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

/// Returns the code block that a line begins.
fn block_of(line: &str) -> Option<Block<'_>> {
    let first = line.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(first).len();
    let (fence, language) = line.split_at(length);
    (length >= 3).then(|| Block { fence, is_part: language.trim_start().starts_with(PART) })
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
        let page = "+++\ntitle = \"Moving\"\n+++\n# When\n\n```part-list\nfrom = \"Tasks\"\n```\nOn *Friday*.\n\n\
            ```rust\nlet party = 1;\n```\n";
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
            assert_eq!(of(plain), (String::new(), plain.trim_end().to_owned()), "{plain:?}");
        }
        assert_eq!(of("---\nbetween rules\n---\nb").1, "---\nbetween rules\n---\nb");
        // An example of a part within another block is text.
        let guide = "~~~~\n```part-list\nfrom = \"A\"\n~~~~\nbehind\n";
        assert_eq!(of(guide).1, guide.trim_end());
        // A part without an end goes to the end.
        assert_eq!(of("a\n~~~~part-x\n~~~\nb\n").1, "a");
    }
}
