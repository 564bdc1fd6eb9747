//! Rows of the results of a search.

use std::collections::HashMap;

use model::{Id, NodeKind, Timestamp, fold};
use repository::{Item, PrincipalName};

use crate::frame::address;
use crate::frame::format::Icon;
use crate::wording::names;
use crate::wording::passages::Piece;
use http_core::protocol::segments;

/// Limit on the different words of a query that are marked in names.
const MAX_MARKED_WORDS: usize = 32;
/// Limit on the bytes of a query that the links to previews repeat. A longer one is not marked in them.
const MAX_REPEATED: usize = 1 << 10;

/// Marks the words of a query in names.
#[derive(Default)]
pub(super) struct NameMarker(Vec<Vec<char>>);

impl NameMarker {
    pub(super) fn of(query: &str) -> Self {
        let mut words: Vec<Vec<char>> = Vec::new();
        for word in fold(query).split_whitespace().map(|word| word.chars().collect()) {
            if words.len() < MAX_MARKED_WORDS && !words.contains(&word) {
                words.push(word);
            }
        }
        Self(words)
    }
}

/// Returns the query string of links to previews, by which the words of the query are marked there; empty for a long
/// query.
pub(super) fn preview_query(query: &str) -> String {
    let coded = segments::encode_query(query);
    if coded.is_empty() || coded.len() > MAX_REPEATED { String::new() } else { format!("?q={coded}") }
}

/// A row of the results.
pub(super) struct Row {
    pub(super) id: Id,
    pub(super) name: String,
    pub(super) href: String,
    pub(super) icon: Icon,
    pub(super) pieces: Vec<Piece>,
    /// Readable path of the parent (`path`) and the URL of its page (`place`).
    pub(super) path: String,
    pub(super) place: String,
    pub(super) modified_at: Timestamp,
    pub(super) modified_by: String,
    pub(super) size: Option<u64>,
    /// User who has it checked out, if any.
    pub(super) held_by: Option<String>,
    /// True if the version is a draft.
    pub(super) draft: bool,
    /// The part of the text with the words.
    pub(super) passage: Vec<Piece>,
}

/// Returns the row of an item. `names` has those who changed it or have it checked out.
pub(super) fn row(item: &Item, marker: &NameMarker, names: &HashMap<Id, PrincipalName>) -> Row {
    let above = item.path.rsplit_once('/').map_or("", |(above, _)| above);
    Row {
        id: item.id,
        name: item.shown_name().to_owned(),
        href: address::browse(&item.path),
        icon: names::icon_of(item),
        pieces: pieces(item.shown_name(), marker),
        path: above.replace('/', " / "),
        place: address::browse(above),
        modified_at: item.modified_at,
        modified_by: names::name_of(names, item.modified_by),
        size: (item.kind == NodeKind::Document).then_some(item.size),
        held_by: item.check_out.map(|held| names::name_of(names, held.by)),
        draft: item.kind == NodeKind::Document && !item.version.is_major(),
        passage: Vec::new(),
    }
}

/// Splits a name at the matches. A name whose folded form has another length stays in one piece.
fn pieces(name: &str, marker: &NameMarker) -> Vec<Piece> {
    let characters: Vec<char> = name.chars().collect();
    let folded: Vec<char> = fold(name).chars().collect();
    let mut hits = vec![false; characters.len()];
    if folded.len() == characters.len() {
        for word in &marker.0 {
            if let Some(start) = folded.windows(word.len()).position(|window| window == word.as_slice()) {
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
        pieces(name, &NameMarker::of(asked)).into_iter().map(text).collect()
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
        let many: String = (0..2_000).map(|number| format!("w{number} w{number} ")).collect();
        assert_eq!(marked("w31 w32", &many), "[w31] w32", "so many words are marked");
    }

    #[test]
    fn links_to_previews_do_not_repeat_a_long_query() {
        assert_eq!(preview_query("a b"), "?q=a%20b");
        assert_eq!(preview_query(""), "");
        assert_eq!(preview_query(&"\u{10400}".repeat(4_000)), "");
    }
}
