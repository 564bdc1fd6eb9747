//! The texts of a corpus that a search must find.

use serde::{Deserialize, Serialize};

/// Texts of a corpus that a search must find, if the server says that it searched all texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SearchableTexts {
    /// None: the search index may lack documents, or users replace documents.
    #[default]
    None,
    /// The words that name a document in all its versions. An earlier run may have replaced the rest.
    Heads,
    /// All words.
    All,
}
