//! Tests of the HTML that Markdown becomes.

use super::*;

const BASE: LinkBase<'static> = LinkBase { folder: "team/Pages", origin: "" };

#[test]
fn usual_markdown_is_drawn() {
    let drawn = excerpt(
        "# Title\n\nSome *soft* `code`.\n\n- [x] done\n\n| a | b |\n|:-:|---|\n| 1 | 2 |\n\n```rust\nx < y\n```\n",
    );
    for part in ["<h3>Title</h3>", "<em>soft</em>", "<code>code</code>", "☑ done", "<td>1</td>", "<pre><code>x &lt; y"]
    {
        assert!(drawn.contains(part), "{part} is missing in {drawn}");
    }
    assert!(!drawn.contains("style="), "{drawn}");
    assert!(!drawn.contains("<input"), "{drawn}");
    let link = excerpt("[there](https://example.org/?a=1&b=\"2)");
    assert!(link.contains("href=\"https://example.org/?a=1&#38;b=&#34;2\">there</a>"), "{link}");
    // What belongs to a page is text in a preview.
    let inside = excerpt("[x](Other.md) ![p](p.png)\n\n```part-list\nfrom = \"Tasks\"\n```");
    assert_eq!(inside, "<p>x p</p>\n<pre><code>from = \"Tasks\"\n</code></pre>\n");
}

#[test]
fn parts_pictures_and_headings_of_a_page_are_found() {
    let text = "# One\n\nSee [two](Two.md#a-b).\n\n| ![P](p.png) | x |\n|---|---|\n| y | z |\n\n```part-list\nfrom = \
                \"Tasks\"\n```\n\n## A `b`\n\n## A b\n";
    let drawn = page(text, &BASE);
    let image = Inset::Image { path: "team/Pages/p.png".to_owned(), description: "P".to_owned() };
    let part = Inset::Part { kind: "list".to_owned(), text: "from = \"Tasks\"\n".to_owned() };
    assert_eq!(drawn.insets, [image, part]);
    let ids: Vec<_> = drawn.headings.iter().map(|heading| (heading.level, heading.id.as_str())).collect();
    assert_eq!(ids, [(2, "h-one"), (3, "h-a-b"), (3, "h-a-b--3")]);
    let html = drawn.with_insets(&["<img>".to_owned(), "<aside></aside>".to_owned()]);
    for part in [
        "<h2 id=\"h-one\">One</h2>",
        "href=\"/browse/team/Pages/Two.md#h-a-b\"",
        "<th><img></th>",
        "<td>z</td>",
        "<aside></aside>",
    ] {
        assert!(html.contains(part), "{part} is missing in {html}");
    }
}

#[test]
fn the_highest_headings_come_below_the_title() {
    for (text, expected) in [
        ("## A\n\n### B\n\n## C", [2, 3, 2]),
        ("# A\n\n## B\n\n###### C", [2, 3, 6]),
        ("#### A\n\n#### B\n\nC\n=\n", [5, 5, 2]),
    ] {
        let levels: Vec<u8> = page(text, &BASE).headings.iter().map(|heading| heading.level).collect();
        assert_eq!(levels, expected, "{text}");
    }
}

#[test]
fn a_page_has_a_limited_number_of_parts_and_pictures() {
    let drawn = page(&"```part-contents\n```\n![](x.png)\n\n".repeat(100), &BASE);
    let parts = drawn.insets.iter().filter(|inset| matches!(inset, Inset::Part { .. })).count();
    assert_eq!((parts, drawn.insets.len()), (MAX_PARTS, MAX_PARTS + 1 + MAX_IMAGES));
    assert_eq!(drawn.insets.iter().filter(|inset| **inset == Inset::TooManyParts).count(), 1);
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
        "![x\" onerror=\"alert(1)](x.png)",
        "[a](https://x \"onclick=alert(1)\")",
        "```\"><script>alert(1)</script>\nx\n```",
        "# x {onclick=alert(1)}",
        "# \"><script>alert(1)</script>",
        "<a href=\"javascript:alert(1)\">x</a>",
        "[x]: javascript:alert(1)\n\n[x]",
        "[x](\"><script>.md)",
        "[x](//evil.example)",
        "<div\nonmouseover=alert(1)>",
        "<!-- --><svg onload=alert(1)>",
        "a\u{0}0\u{0}b ![p](p.png)",
    ];
    for attack in attacks {
        let drawn = page(attack, &BASE);
        let insets: Vec<String> = drawn.insets.iter().map(|_| String::new()).collect();
        for html in [excerpt(attack), drawn.with_insets(&insets)] {
            assert!(!html.contains(MARK), "{html:?}");
            for tag in html.split('<').skip(1) {
                let name = tag.split(|c: char| !c.is_ascii_alphanumeric() && c != '/').next().unwrap();
                let ours = ["p", "/p", "a", "/a", "h2", "/h2", "h3", "/h3", "pre", "code", "/code", "/pre"];
                assert!(ours.contains(&name), "{attack} became {html}");
                let inside = tag.split('>').next().unwrap();
                let is_safe = inside.starts_with("a rel=\"noopener noreferrer nofollow\" href=\"http")
                    || inside.starts_with("a href=\"/browse/team/Pages/");
                assert!(name != "a" || is_safe, "{html}");
            }
        }
    }
    assert_eq!(
        image("/x?a&\"b", "<i>\""),
        "<img loading=\"lazy\" decoding=\"async\" src=\"/x?a&#38;&#34;b\" alt=\"&#60;i&#62;&#34;\">"
    );
}

#[test]
fn long_folders_and_many_headings_make_no_huge_page() {
    let folder = "\u{1f5c4}".repeat(255);
    let links = page(&"[](a)".repeat(100_000), &LinkBase { folder: &folder, origin: "" });
    assert!(links.with_insets(&[]).len() < 4 << 20, "{}", links.with_insets(&[]).len());
    let headings = page(&"#\n".repeat(200_000), &BASE);
    assert_eq!(headings.headings.len(), MAX_HEADINGS);
    let long = page(&format!("# {}", "x".repeat(100_000)), &BASE);
    assert_eq!(long.headings[0].text.len(), MAX_HEADING);
}

#[test]
fn hostile_nesting_ends_soon() {
    let begun = std::time::Instant::now();
    for hostile in [
        "[".repeat(500_000),
        "> ".repeat(250_000),
        "*a ".repeat(170_000),
        "![[](".repeat(100_000),
        "# a\n".repeat(130_000),
        "|a".repeat(250_000) + "\n" + &"|-".repeat(250_000),
    ] {
        page(&hostile, &BASE);
    }
    // A quadratic algorithm would take many minutes.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
