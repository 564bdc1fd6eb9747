//! Texts in which the words of a search are marked.

use repository::Passage;

/// A part of a name or text, and whether it matches the search.
#[derive(Debug, PartialEq)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// True if it matches.
    pub hit: bool,
}

/// The pieces of a passage, with marks where the text goes on.
pub fn pieces_of(passage: &Passage) -> Vec<Piece> {
    let more = |is_more: bool| is_more.then(|| Piece { text: "…".to_owned(), hit: false });
    let pieces = passage.pieces.iter().map(|piece| Piece { text: piece.text.clone(), hit: piece.hit });
    more(passage.more.0).into_iter().chain(pieces).chain(more(passage.more.1)).collect()
}
