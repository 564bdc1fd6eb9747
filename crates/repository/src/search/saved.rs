//! Searches that people save under a name, and what is new among their results.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::configuration::saved_search::{self, SavedSearchRow};
use database::{Reader, Transaction};
use model::{Code, Error, Id, Result, SearchAlert, Timestamp, fold};
use search::index::HitOrder;

use super::find::MAX_FOUND;
use super::request::{Found, checked_length};
use super::unseen::{MAX_SEEN, Matching, Seen, Selection};
use crate::Session;
use crate::people::text;

/// Limit on the saved searches of one user.
pub const MAX_SAVED_SEARCHES: usize = 100;
/// Time after which no further searches are counted for one answer.
const LONGEST_COUNT: Duration = Duration::from_millis(600);
const SECONDS_A_DAY: i64 = 24 * 60 * 60;

/// A search that its owner saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSearch {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: String,
    /// The query.
    pub query: String,
    /// Order of the results.
    pub order: HitOrder,
    /// Whether and when new documents are counted.
    pub alert: SearchAlert,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time up to which the owner has seen the results.
    pub seen_at: Timestamp,
}

/// A search to be saved.
#[derive(Clone, Debug, Default)]
pub struct SearchToSave {
    /// Name: 1 to 255 characters without control characters. Two searches of one user cannot have the same name, with
    /// case folded.
    pub name: String,
    /// The query: 1 to [`crate::MAX_QUERY_CHARS`] characters, not only white space.
    pub query: String,
    /// Order of the results.
    pub order: HitOrder,
    /// Whether and when new documents are counted.
    pub alert: SearchAlert,
}

/// Documents that fit a saved search.
#[derive(Clone, Debug)]
pub struct NewDocuments {
    /// The search.
    pub search: SavedSearch,
    /// The documents, the newest change first, at most [`MAX_FOUND`]. `whole` is false if not everything was searched.
    pub found: Found,
    /// Time to give to [`Session::mark_saved_search_seen`] when the user has seen these documents.
    pub as_of: Timestamp,
}

/// A saved search with the number of its new documents.
#[derive(Clone, Debug)]
pub struct SavedSearchCount {
    /// The search.
    pub search: SavedSearch,
    /// Number of new documents; `None` if time was up before they were counted.
    pub new_documents: Option<u64>,
    /// False if not everything was searched, so that there may be more.
    pub is_complete: bool,
}

impl TryFrom<SavedSearchRow> for SavedSearch {
    type Error = Error;

    fn try_from(row: SavedSearchRow) -> Result<Self> {
        let order = HitOrder::parse(&row.sort)
            .ok_or_else(|| Error::corrupt(format!("a saved search has the unknown order {:?}", row.sort)))?;
        let SavedSearchRow { id, name, query, alert, created_at, seen_at, .. } = row;
        Ok(Self { id, name, query, order, alert, created_at, seen_at })
    }
}

impl SearchToSave {
    /// Checks name and query, and trims them.
    fn checked(self) -> Result<Self> {
        let name = text::display_name("the name of a saved search", &self.name)?;
        let query = self.query.trim().to_owned();
        checked_length(&query)?;
        if query.chars().all(|c| c.is_whitespace() || c.is_control()) {
            return Err(
                Error::invalid("a saved search needs a query: enter words or a filter").with_code(Code::InvalidQuery)
            );
        }
        Ok(Self { name, query, ..self })
    }

    fn row(self, id: Id, at: Timestamp) -> SavedSearchRow {
        let Self { name, query, order, alert } = self;
        SavedSearchRow { id, name, query, sort: order.as_str().to_owned(), alert, created_at: at, seen_at: at }
    }
}

impl Session {
    /// Returns the caller's saved searches, by name.
    ///
    /// # Errors
    /// `Forbidden` with code `token_scope` for a token that is limited to places.
    #[boxed]
    pub async fn saved_searches(&self) -> Result<Vec<SavedSearch>> {
        self.require_all_places("list saved searches")?;
        let owner = self.principal.id;
        let list = move |reader: &mut Reader| saved_search::list(reader, owner, MAX_SAVED_SEARCHES);
        self.repository.inner.configuration.read(list).await?.into_iter().map(SavedSearch::try_from).collect()
    }

    /// Returns one of the caller's saved searches.
    ///
    /// # Errors
    /// `NotFound`, also for a search of another user; `Forbidden` with code `token_scope` for a token that is limited
    /// to places.
    #[boxed]
    pub async fn saved_search(&self, id: Id) -> Result<SavedSearch> {
        self.require_all_places("read a saved search")?;
        let owner = self.principal.id;
        let find = move |reader: &mut Reader| saved_search::find(reader, owner, id);
        self.repository.inner.configuration.read(find).await?.ok_or_else(|| no_search(id))?.try_into()
    }

    /// Saves a search. The documents that it finds now count as seen.
    ///
    /// # Errors
    /// `Invalid` for a bad name or query; `Conflict` with code `name_taken`; `Exhausted` with code `too_many` when
    /// there are [`MAX_SAVED_SEARCHES`] already; `Forbidden` with code `token_scope` for a token that does not cover
    /// the whole account.
    #[boxed]
    pub async fn save_search(&self, new: SearchToSave) -> Result<Id> {
        self.require_own_account("save a search")?;
        let new = new.checked()?;
        let seen = self.all_seen(&new.query).await?;
        let folded = fold(&new.name);
        let row = new.row(self.repository.inner.ids.next(), seen.at);
        let (owner, repetition) = (self.principal.id, self.repetition.clone());
        let save = move |tx: &mut Transaction| {
            if let Some(created) = repetition.find(tx)? {
                return Ok(created);
            }
            refuse_taken(tx, owner, row.id, &row.name, &folded)?;
            if saved_search::count(tx, owner)? >= MAX_SAVED_SEARCHES as i64 {
                return Err(Error::exhausted(format!(
                    "you have {MAX_SAVED_SEARCHES} saved searches already: delete one of them first"
                ))
                .with_code(Code::TooMany));
            }
            saved_search::insert(tx, owner, &row, &folded, &seen.versions)?;
            repetition.store_result(tx, row.id)?;
            Ok(row.id)
        };
        self.repository.inner.configuration.write(save).await
    }

    /// Replaces name, query, order and alert of a saved search. If the query changes, the documents that it finds now
    /// count as seen.
    ///
    /// # Errors
    /// Those of [`Session::save_search`]; `NotFound`, also for a search of another user.
    #[boxed]
    pub async fn replace_saved_search(&self, id: Id, new: SearchToSave) -> Result<SavedSearch> {
        self.require_own_account("change a saved search")?;
        let before = self.saved_search(id).await?;
        let new = new.checked()?;
        let seen = if new.query == before.query { None } else { Some(self.all_seen(&new.query).await?) };
        let folded = fold(&new.name);
        let row = new.row(id, before.created_at);
        let owner = self.principal.id;
        let replace = move |tx: &mut Transaction| {
            refuse_taken(tx, owner, id, &row.name, &folded)?;
            if saved_search::update(tx, owner, &row, &folded)? == 0 {
                return Err(no_search(id));
            }
            if let Some(seen) = &seen {
                saved_search::set_seen(tx, owner, id, seen.at, &seen.versions)?;
            }
            saved_search::find(tx, owner, id)?.ok_or_else(|| no_search(id))?.try_into()
        };
        self.repository.inner.configuration.write(replace).await
    }

    /// Deletes a saved search.
    ///
    /// # Errors
    /// `NotFound`, also for a search of another user; `Forbidden` with code `token_scope` for a token that does not
    /// cover the whole account.
    #[boxed]
    pub async fn delete_saved_search(&self, id: Id) -> Result<()> {
        self.require_own_account("delete a saved search")?;
        let owner = self.principal.id;
        let delete = move |tx: &mut Transaction| match saved_search::remove(tx, owner, id)? {
            0 => Err(no_search(id)),
            _ => Ok(()),
        };
        self.repository.inner.configuration.write_vital(delete).await
    }

    /// Returns the documents that fit a saved search and are new: the caller has not seen their present versions. A
    /// document that the caller may open only since then is new too. Where a search finds more than 1,000 documents,
    /// or not everything could be searched when they were marked as seen, a document is new if it was changed since.
    ///
    /// # Errors
    /// Those of [`Session::saved_search`].
    #[boxed]
    pub async fn new_of_saved_search(&self, id: Id) -> Result<NewDocuments> {
        let search = self.saved_search(id).await?;
        let selection = Selection { limit: MAX_FOUND, unlike: Some(self.seen(&search).await?), ..Selection::default() };
        let Matching { found, as_of, .. } = self.matching(&search.query, selection).await?;
        Ok(NewDocuments { search, found, as_of })
    }

    /// Returns the documents that fit a saved search, seen or not. Those of a search with a daily alert were changed
    /// before today (UTC).
    ///
    /// # Errors
    /// Those of [`Session::saved_search`].
    #[boxed]
    pub async fn latest_of_saved_search(&self, id: Id) -> Result<NewDocuments> {
        let search = self.saved_search(id).await?;
        let selection = Selection { limit: MAX_FOUND, before: alert_end(search.alert), ..Selection::default() };
        let Matching { found, as_of, .. } = self.matching(&search.query, selection).await?;
        Ok(NewDocuments { search, found, as_of })
    }

    /// Counts the new documents of the caller's saved searches with an alert, by name. For a daily alert, documents
    /// that were changed before today (UTC) are counted. When time is up, the others are not counted.
    ///
    /// # Errors
    /// Those of [`Session::saved_searches`].
    #[boxed]
    pub async fn count_new_of_saved_searches(&self) -> Result<Vec<SavedSearchCount>> {
        let mut searches = self.saved_searches().await?;
        searches.retain(|search| search.alert != SearchAlert::None);
        let end = Instant::now() + LONGEST_COUNT;
        let mut counts = Vec::with_capacity(searches.len());
        for search in searches {
            if Instant::now() > end {
                counts.push(SavedSearchCount { search, new_documents: None, is_complete: false });
                continue;
            }
            let selection = Selection {
                limit: MAX_FOUND,
                unlike: Some(self.seen(&search).await?),
                before: alert_end(search.alert),
                without_passages: true,
            };
            let Matching { found, is_complete, .. } = self.matching(&search.query, selection).await?;
            counts.push(SavedSearchCount { search, new_documents: Some(found.documents), is_complete });
        }
        Ok(counts)
    }

    /// Marks the results of a saved search as seen, as far as they were changed before `until`: the time of
    /// [`NewDocuments::as_of`]. A time in the future, or none, stands for now.
    ///
    /// # Errors
    /// `NotFound`, also for a search of another user; `Forbidden` with code `token_scope` for a token that does not
    /// cover the whole account.
    #[boxed]
    pub async fn mark_saved_search_seen(&self, id: Id, until: Option<Timestamp>) -> Result<()> {
        self.require_own_account("mark documents as seen")?;
        let search = self.saved_search(id).await?;
        let before = self.seen(&search).await?;
        let matching = self.matching(&search.query, everything()).await?;
        let until = until.map_or(matching.as_of, |until| until.min(Timestamp::now()));
        let seen = before.with(&matching, until);
        let owner = self.principal.id;
        let mark = move |tx: &mut Transaction| match saved_search::set_seen(tx, owner, id, seen.at, &seen.versions)? {
            0 => Err(no_search(id)),
            _ => Ok(()),
        };
        self.repository.inner.configuration.write(mark).await
    }

    /// Returns what is seen when all results of a query are.
    async fn all_seen(&self, query: &str) -> Result<Seen> {
        let matching = self.matching(query, everything()).await?;
        let nothing = Seen { at: Timestamp::from_micros(0), versions: None };
        Ok(nothing.with(&matching, matching.as_of))
    }

    async fn seen(&self, search: &SavedSearch) -> Result<Seen> {
        let (owner, id) = (self.principal.id, search.id);
        let read = move |reader: &mut Reader| saved_search::seen(reader, owner, id);
        Ok(Seen { at: search.seen_at, versions: self.repository.inner.configuration.read(read).await? })
    }
}

/// Selects all results that can be kept as seen.
fn everything() -> Selection {
    Selection { limit: MAX_SEEN, without_passages: true, ..Selection::default() }
}

/// Returns the time of the change before which documents belong to an alert.
fn alert_end(alert: SearchAlert) -> Option<Timestamp> {
    let today = Timestamp::now().seconds().div_euclid(SECONDS_A_DAY) * SECONDS_A_DAY;
    (alert == SearchAlert::Daily).then(|| Timestamp::from_micros(today * 1_000_000))
}

fn refuse_taken(reader: &mut Reader, owner: Id, id: Id, name: &str, folded: &str) -> Result<()> {
    match saved_search::find_by_name(reader, owner, folded)? {
        Some(other) if other.id != id => {
            Err(Error::conflict(format!("you have a saved search \"{name}\" already: choose another name"))
                .with_code(Code::NameTaken))
        }
        _ => Ok(()),
    }
}

fn no_search(id: Id) -> Error {
    Error::not_found(format!("there is no saved search with the identifier {id}"))
}
