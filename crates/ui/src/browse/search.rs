//! The results page of the search by names and words. The command palette requests only its list, by names.

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use model::{MAX_NAME_CHARS, NodeKind, Timestamp, fold};
use repository::{Found, FoundItem, Item, MAX_FOUND, Passage, TextSearch};
use serde::Deserialize;

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::format::Icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::{names, unavailable};

/// Limit on entries in the palette.
const MAX_PALETTE_ENTRIES: usize = 12;

/// A search query.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Wish {
    q: String,
    /// Not empty when only the list is requested.
    part: String,
}

/// A part of a name, and whether it matches the search.
#[derive(Debug, PartialEq)]
struct Piece {
    text: String,
    hit: bool,
}

struct Row {
    href: String,
    icon: Icon,
    pieces: Vec<Piece>,
    /// Readable path of the parent (`path`) and the URL of its page (`place`).
    path: String,
    place: String,
    modified_at: Timestamp,
    modified_by: String,
    size: Option<u64>,
    /// The part of the text with the words.
    passage: Vec<Piece>,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'a> {
    page: &'a Page,
    title: String,
    asked: bool,
    rows: Vec<Row>,
    more: bool,
    whole: bool,
    /// Message that not all texts were searched, or empty.
    texts: String,
    /// Message that some content could not be searched, or empty.
    away: String,
}

#[derive(Template)]
#[template(path = "search-part.html")]
struct ResultsPart {
    rows: Vec<Row>,
    /// See [`SearchPage::away`].
    away: String,
}

/// Shows the results page, or only the list for the palette.
pub async fn show(mut visit: Visit, Query(wish): Query<Wish>) -> PageResult {
    // A pasted text longer than any name is truncated, because its beginning is the most useful query.
    let asked: String = wish.q.trim().chars().take(MAX_NAME_CHARS).collect();
    if !wish.part.is_empty() {
        let found = visit.session.search(&asked, MAX_PALETTE_ENTRIES).await?;
        let rows = found.items.iter().map(|item| row(item, &asked, String::new())).collect();
        return Ok(html(&ResultsPart { rows, away: unavailable::in_palette(&visit.page, &found.missing) }));
    }
    let found = visit.session.find(&asked, MAX_FOUND).await?;
    visit.page.query = asked;
    draw(&visit, &found).await
}

async fn draw(visit: &Visit, found: &Found) -> PageResult<Response> {
    let (page, asked) = (&visit.page, visit.page.query.as_str());
    let items: Vec<Item> = found.items.iter().map(|found| found.item.clone()).collect();
    let names = names::names(&visit.session, &items).await?;
    let row = |FoundItem { item, passage }: &FoundItem| {
        let passage = passage.as_ref().map(pieces_of).unwrap_or_default();
        Row { passage, ..row(item, asked, names::name_of(&names, item.modified_by)) }
    };
    Ok(html(&SearchPage {
        page,
        title: if asked.is_empty() { page.s("search.title").to_owned() } else { page.f1("search.of", asked) },
        asked: !asked.is_empty(),
        rows: found.items.iter().map(row).collect(),
        more: found.more,
        whole: found.whole,
        texts: match found.texts {
            TextSearch::Complete => String::new(),
            TextSearch::Incomplete => page.s("search.texts-incomplete").to_owned(),
            TextSearch::Unavailable => page.s("search.texts-unavailable").to_owned(),
        },
        away: unavailable::on_page(page, &found.missing),
    }))
}

/// The pieces of a passage, with marks where the text goes on.
fn pieces_of(passage: &Passage) -> Vec<Piece> {
    let more = |is_more: bool| is_more.then(|| Piece { text: "…".to_owned(), hit: false });
    let pieces = passage.pieces.iter().map(|piece| Piece { text: piece.text.clone(), hit: piece.hit });
    more(passage.more.0).into_iter().chain(pieces).chain(more(passage.more.1)).collect()
}

fn row(item: &Item, asked: &str, modified_by: String) -> Row {
    let above = item.path.rsplit_once('/').map_or("", |(above, _)| above);
    Row {
        href: address::browse(&item.path),
        icon: names::icon_of(item),
        pieces: pieces(&item.name, asked),
        path: above.replace('/', " / "),
        place: address::browse(above),
        modified_at: item.modified_at,
        modified_by,
        size: (item.kind == NodeKind::Document).then_some(item.size),
        passage: Vec::new(),
    }
}

/// Splits a name at the matches. A name whose folded form has another length stays in one piece.
fn pieces(name: &str, asked: &str) -> Vec<Piece> {
    let characters: Vec<char> = name.chars().collect();
    let folded: Vec<char> = fold(name).chars().collect();
    let mut hits = vec![false; characters.len()];
    if folded.len() == characters.len() {
        for word in fold(asked).split_whitespace().map(|word| word.chars().collect::<Vec<_>>()) {
            if let Some(start) = folded.windows(word.len()).position(|window| window == word) {
                hits[start..start + word.len()].fill(true);
            }
        }
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for (character, hit) in characters.into_iter().zip(hits) {
        match pieces.last_mut() {
            Some(piece) if piece.hit == hit => piece.text.push(character),
            _ => pieces.push(Piece { text: character.to_string(), hit }),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(name: &str, asked: &str) -> String {
        let text = |piece: Piece| if piece.hit { format!("[{}]", piece.text) } else { piece.text };
        pieces(name, asked).into_iter().map(text).collect()
    }

    #[test]
    fn what_was_looked_for_is_marked_as_it_is_written() {
        assert_eq!(marked("Annual REPORT 2026.pdf", "report 26"), "Annual [REPORT] 20[26].pdf");
        assert_eq!(marked("Übersicht.txt", "ÜBER über"), "[Über]sicht.txt");
        assert_eq!(marked("aaab", "ab"), "aa[ab]");
        assert_eq!(marked("abc", "ab bc"), "[abc]");
        // `ß` folds to two letters.
        assert_eq!(marked("Straße", "strasse"), "Straße");
        assert_eq!(marked("x", ""), "x");
        assert_eq!(marked("x", "longer than the name"), "x");
    }
}
