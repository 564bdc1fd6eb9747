//! Markdown to HTML. Raw HTML is shown as text, images are replaced by their descriptions, and only links to external
//! addresses become links.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::escape::escape;

/// Renders a text as HTML. Every tag in the result is ours.
pub fn draw(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut links = Vec::new();
    let events = Parser::new_ext(text, options).filter_map(|event| safe(event, &mut links));
    let mut markup = String::with_capacity(text.len() * 2);
    html::push_html(&mut markup, events);
    markup
}

/// Returns a safe version of the event. `links` is a stack of the open links, each with a flag whether its tag was
/// written.
fn safe<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Option<Event<'a>> {
    Some(match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => return None,
        // Column alignment would be written as a style attribute, which our content security policy forbids.
        Event::Start(Tag::Table(columns)) => {
            Event::Start(Tag::Table(vec![pulldown_cmark::Alignment::None; columns.len()]))
        }
        // The page's own headings are above these, so the levels are shifted.
        Event::Start(Tag::Heading { level, .. }) => {
            Event::Start(Tag::Heading { level: below(level), id: None, classes: Vec::new(), attrs: Vec::new() })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
        Event::Start(Tag::CodeBlock(_)) => Event::InlineHtml(CowStr::Borrowed("<pre><code>")),
        Event::End(TagEnd::CodeBlock) => Event::InlineHtml(CowStr::Borrowed("</code></pre>\n")),
        Event::TaskListMarker(done) => Event::Text(CowStr::Borrowed(if done { "☑ " } else { "☐ " })),
        Event::Start(Tag::Link { dest_url, .. }) => {
            let leads = leads_elsewhere(&dest_url);
            links.push(leads);
            if !leads {
                return None;
            }
            let mut tag = "<a rel=\"noopener noreferrer nofollow\" href=\"".to_owned();
            escape(&dest_url, &mut tag);
            Event::InlineHtml(CowStr::from(tag + "\">"))
        }
        Event::End(TagEnd::Link) => {
            if links.pop() != Some(true) {
                return None;
            }
            Event::InlineHtml(CowStr::Borrowed("</a>"))
        }
        other => other,
    })
}

fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

fn leads_elsewhere(address: &str) -> bool {
    let beginning: String = address.chars().take(8).collect::<String>().to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|good| beginning.starts_with(good))
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn usual_markdown_is_drawn() {
        let drawn = draw(
            "# Title\n\nSome *soft* `code`.\n\n- [x] done\n\n| a | b |\n|:-:|---|\n| 1 | 2 |\n\n```rust\nx < y\n```\n",
        );
        for part in
            ["<h3>Title</h3>", "<em>soft</em>", "<code>code</code>", "☑ done", "<td>1</td>", "<pre><code>x &lt; y"]
        {
            assert!(drawn.contains(part), "{part} is missing in {drawn}");
        }
        assert!(!drawn.contains("style="), "{drawn}");
        assert!(!drawn.contains("<input"), "{drawn}");
        let link = draw("[there](https://example.org/?a=1&b=\"2)");
        assert!(link.contains("href=\"https://example.org/?a=1&#38;b=&#34;2\">there</a>"), "{link}");
    }

    #[test]
    fn nothing_of_the_text_becomes_markup() {
        let attacks = [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[x](javascript:alert(1))",
            "[x](JaVaScript:alert(1))",
            "[x](data:text/html,<script>alert(1)</script>)",
            "<javascript:alert(1)>",
            "![x](https://evil.example/track.png)",
            "![<script>](x)",
            "[a](https://x \"onclick=alert(1)\")",
            "```\"><script>alert(1)</script>\nx\n```",
            "# x {onclick=alert(1)}",
            "<a href=\"javascript:alert(1)\">x</a>",
            "[x]: javascript:alert(1)\n\n[x]",
            "<div\nonmouseover=alert(1)>",
            "<!-- --><svg onload=alert(1)>",
        ];
        for attack in attacks {
            let drawn = draw(attack);
            for tag in drawn.split('<').skip(1) {
                let name = tag.split(|c: char| !c.is_ascii_alphanumeric() && c != '/').next().unwrap();
                let ours = ["p", "/p", "a", "/a", "h3", "/h3", "pre", "code", "/code", "/pre"];
                assert!(ours.contains(&name), "{attack} became {drawn}");
                let inside = tag.split('>').next().unwrap();
                assert!(
                    name != "a" || inside.starts_with("a rel=\"noopener noreferrer nofollow\" href=\"http"),
                    "{drawn}"
                );
            }
        }
    }

    #[test]
    fn hostile_nesting_ends_soon() {
        let begun = std::time::Instant::now();
        for hostile in ["[".repeat(100_000), "> ".repeat(50_000), "*a ".repeat(60_000), "![[](".repeat(40_000)] {
            draw(&hostile);
        }
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
