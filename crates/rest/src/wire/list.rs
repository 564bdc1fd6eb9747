//! Lists and their pages.

use model::{Code, Error, Id, MAX_PAGE, Result};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use http_core::protocol::cursor;

/// One page of a list.
#[derive(Serialize, ToSchema)]
pub struct List<T> {
    /// The entries.
    pub items: Vec<T>,
    /// The `cursor` of the page that follows; null at the end.
    pub next: Option<String>,
}

impl<T> List<T> {
    /// A list that is never cut into pages.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

/// Entries of a page when the query does not say.
const USUAL: usize = 100;

/// Which page of a list.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Most entries of the page, 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<usize>,
    /// `next` of the page before.
    #[param(value_type = Option<super::rules::CursorText>)]
    pub cursor: Option<String>,
}

impl PageQuery {
    /// The limit, 100 when absent.
    pub fn limit(&self) -> Result<usize> {
        limit(self.limit)
    }

    /// The limit, one less than the most, for lists of which one entry more is asked for to see whether there is another page.
    pub fn limit_with_probe(&self) -> Result<usize> {
        Ok(self.limit()?.min(MAX_PAGE - 1))
    }

    /// The identifier that the page before ended with.
    pub fn before_id(&self) -> Result<Option<Id>> {
        self.word()?.map(|word| word.parse().map_err(|_| cursor_of_other_list())).transpose()
    }

    /// The place in a log that the page before ended with.
    pub fn before_sequence(&self) -> Result<Option<i64>> {
        self.word()?.map(|word| word.parse().map_err(|_| cursor_of_other_list())).transpose()
    }

    /// The word that the page before ended with; empty for the first page.
    pub fn after_word(&self) -> Result<String> {
        Ok(self.word()?.unwrap_or_default())
    }

    fn word(&self) -> Result<Option<String>> {
        let Some(text) = &self.cursor else { return Ok(None) };
        let [word] = cursor::decode::<1>(text)?;
        Ok(Some(word))
    }
}

/// Checks a limit; 100 when absent.
pub fn limit(wanted: Option<usize>) -> Result<usize> {
    match wanted.unwrap_or(USUAL) {
        limit @ 1..=MAX_PAGE => Ok(limit),
        _ => Err(Error::invalid(format!("limit is 1 to {MAX_PAGE}")).with_code(Code::InvalidQuery)),
    }
}

/// The cursor behind an entry that is told by one word.
pub fn cursor_of(word: impl ToString) -> String {
    cursor::encode([word.to_string().as_str()])
}

/// A cursor that this server gave for another list.
pub fn cursor_of_other_list() -> Error {
    Error::invalid("the cursor belongs to another list; start again at the first page").with_code(Code::InvalidCursor)
}

/// Cuts what was asked for with one entry more than a page has, and says where the next page begins.
pub fn page<T, W: ToString>(mut entries: Vec<T>, limit: usize, key: impl Fn(&T) -> W) -> (Vec<T>, Option<String>) {
    let next = (entries.len() > limit).then(|| cursor_of(key(&entries[limit - 1])));
    entries.truncate(limit);
    (entries, next)
}
