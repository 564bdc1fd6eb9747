//! Lists and their pages.

use std::str::FromStr;

use model::{Code, Error, MAX_PAGE, Result};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use http_core::protocol::cursor;

/// One page of a list.
#[derive(Serialize, ToSchema)]
pub struct List<T> {
    /// The entries.
    pub items: Vec<T>,
    /// The `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

impl<T> List<T> {
    /// Creates a list that is never split into pages.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

/// Default number of entries on a page.
const USUAL: usize = 100;

/// Selects a page of a list.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Maximum number of entries on the page, 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<usize>,
    /// `next` of the previous page.
    #[param(value_type = Option<super::rules::CursorText>)]
    pub cursor: Option<String>,
}

impl PageQuery {
    /// Returns the limit, 100 when absent.
    pub fn limit(&self) -> Result<usize> {
        limit(self.limit)
    }

    /// Returns the limit, at most one less than the maximum. For lists that read one more entry to find out whether
    /// there is another page.
    pub fn limit_with_probe(&self) -> Result<usize> {
        Ok(self.limit()?.min(MAX_PAGE - 1))
    }

    /// Returns what ended the previous page: an identifier, a number or a position in a log.
    pub fn before<T: FromStr>(&self) -> Result<Option<T>> {
        self.word()?.map(|word| word.parse().map_err(|_| cursor_of_other_list())).transpose()
    }

    /// Returns the key that ended the previous page; empty for the first page.
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

/// Returns the cursor after an entry that is identified by one key.
pub fn cursor_of(word: impl ToString) -> String {
    cursor::encode([word.to_string().as_str()])
}

/// Returns the error for a cursor that belongs to another list.
pub fn cursor_of_other_list() -> Error {
    Error::invalid("the cursor belongs to another list; start again at the first page").with_code(Code::InvalidCursor)
}

/// Cuts a list that was read with one entry more than a page holds. Returns the page, and the cursor of the next one.
pub fn page<T, W: ToString>(mut entries: Vec<T>, limit: usize, key: impl Fn(&T) -> W) -> (Vec<T>, Option<String>) {
    let next = (entries.len() > limit).then(|| cursor_of(key(&entries[limit - 1])));
    entries.truncate(limit);
    (entries, next)
}
