//! Entry points for the fuzz targets of previews: conversion of stored bytes to lines, tables and HTML.

use super::{decode, kind, table};
use crate::frame::escape;
use crate::pages::link::LinkBase;
use crate::pages::markdown;
use crate::pages::text::PageText;

/// Elements that rendered Markdown may contain.
const ELEMENTS: [&str; 33] = [
    "a",
    "blockquote",
    "br",
    "code",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "input",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Returns the text of HTML that contains only our own escapes.
fn text_of(markup: &str) -> String {
    let mut text = String::new();
    let mut rest = markup;
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        let inside = rest[at..].strip_prefix("&#").expect("an escape");
        let (number, after) = inside.split_once(';').expect("an escape that begins ends");
        text.push(char::from_u32(number.parse().expect("a number")).expect("a character"));
        rest = after;
    }
    text + rest
}

/// Previews a stored text. The first byte selects the kind of preview.
pub fn preview(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    let cut = choice & 1 != 0;
    let plain = decode::is_plain(bytes, cut);
    let text = decode::decode(bytes, cut);
    assert!(!plain || text.is_some(), "a text is one");
    let Some(text) = text else { return };
    assert!(!text.contains(['\r', '\0']));
    match choice >> 1 & 7 {
        4 => page(&text),
        0 => {
            let Some((sheet, _)) = table::read(&text) else { return };
            assert!(sheet.rows.len() <= 200);
            assert!(sheet.head.len() <= 50);
            assert!(sheet.rows.iter().all(|row| row.len() == sheet.head.len()));
            assert!(sheet.rows.iter().flatten().chain(&sheet.head).all(|cell| cell.chars().count() <= 301));
        }
        1 => drawn(&markdown::excerpt(&text)),
        2 => {
            let lines = escape::lines(&text);
            assert_eq!(text_of(&lines.join("\n")), text);
            assert_eq!(lines.len(), text.split('\n').count());
        }
        _ => {
            let (media_type, name) = text.split_once('\n').unwrap_or((&text, ""));
            let _ = kind::of(media_type, name);
        }
    }
}

/// Draws a page, and checks that its insets stand where they should, and that nothing of the text is taken for one.
fn page(text: &str) {
    let parsed = PageText::parse(text);
    assert!(parsed.title.chars().count() <= 255);
    let page = markdown::page(parsed.body, &LinkBase { folder: "team/Pages", origin: "https://docs.example" });
    let insets: Vec<String> = page.insets.iter().map(|_| "<img>".to_owned()).collect();
    let markup = page.with_insets(&insets);
    assert!(!markup.contains('\0'));
    assert_eq!(markup.matches("<img>").count(), insets.len(), "each inset is drawn once");
    let markup = markup.replace("<img>", "");
    let mut ids: Vec<_> = page.headings.iter().map(|heading| &heading.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), page.headings.len(), "each heading has an identifier of its own");
    elements(&markup, &["class", "href", "id", "rel", "start"], |target| {
        let here = target.starts_with('/') && !target.starts_with("//");
        here || target.starts_with("#") || leads_elsewhere(target)
    });
}

/// Checks the HTML of a preview, in which links lead only to external addresses.
fn drawn(markup: &str) {
    elements(markup, &["class", "href", "rel", "start"], leads_elsewhere);
}

/// Checks that all HTML is ours: known elements and attributes, no scripts, and links only to where they may lead.
fn elements(markup: &str, attributes: &[&str], may_lead_to: impl Fn(&str) -> bool) {
    for piece in markup.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag that begins ends");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        assert!(ELEMENTS.contains(&name), "{tag:?}");
        let mut rest = tag.split_once(' ').map_or("", |(_, rest)| rest);
        while let Some((name, (value, after))) =
            rest.split_once("=\"").and_then(|(name, rest)| Some((name.trim(), rest.split_once('"')?)))
        {
            assert!(attributes.contains(&name), "{tag:?}");
            assert!(name != "href" || may_lead_to(value), "{tag:?}");
            rest = after;
        }
        assert!(["", "/"].contains(&rest.trim()), "{tag:?}");
    }
}

fn leads_elsewhere(target: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|begin| begins_with(target, begin))
}

fn begins_with(text: &str, beginning: &str) -> bool {
    text.get(..beginning.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(beginning))
}
