//! Words: how a text is cut into the words that the index holds, and the forms under which a word is found. Texts,
//! queries and passages are treated by the same rules.

pub(crate) mod parts;
pub mod similar;
pub mod stems;
pub mod text_languages;
pub mod words;

/// Longest extension, in characters.
const MAX_EXTENSION: usize = 16;

/// Stands for rows of lists among the extensions. No extension contains a slash.
pub(crate) const ROW_EXTENSION: &str = "/row";

/// Returns the extension of a name, folded; `None` if it has none.
pub fn extension_of(name: &str) -> Option<String> {
    let (_, extension) = name.rsplit_once('.')?;
    let folded = extension.to_lowercase();
    let is_one = (1..=MAX_EXTENSION).contains(&folded.chars().count()) && folded.chars().all(char::is_alphanumeric);
    is_one.then_some(folded)
}
