//! Searches that people save under a name, and what is new among their results.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::configuration::saved_search::{self, SavedSearchRow, SeenRow};
use database::{Reader, Transaction};
use model::{Code, Error, Id, Result, SearchAlert, Timestamp, Zone, fold};
use search::index::HitOrder;
use search::query::SeenVersions;

use super::request::{Found, checked_length};
use super::unseen::{MAX_SEEN, MatchingDocuments, Selection, Shown};
use crate::Session;
use crate::people::text;

/// Limit on the documents that are shown at once.
const MAX_SHOWN: usize = 50;
/// Limit on the versions that are marked as seen at once.
pub const MAX_MARKED: usize = MAX_SEEN;
/// Limit on the saved searches of one user.
pub const MAX_SAVED_SEARCHES: usize = 100;
/// Time after which no further searches are counted for one answer.
const COUNT_TIMEOUT: Duration = Duration::from_millis(600);

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
    /// When new documents are counted, if at all.
    pub alert: SearchAlert,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time at which the owner last marked results as seen.
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
    /// When new documents are counted, if at all.
    pub alert: SearchAlert,
}

/// Documents that fit a saved search.
#[derive(Clone, Debug)]
pub struct NewDocuments {
    /// The search.
    pub search: SavedSearch,
    /// The documents, the newest change first, at most 50. `whole` is false if not everything was searched.
    pub found: Found,
    /// Their versions, to be given to [`Session::mark_saved_search_seen`] when the user has seen them.
    pub versions: Vec<Id>,
}

impl NewDocuments {
    fn of(search: SavedSearch, matching: MatchingDocuments) -> Self {
        let versions = matching.versions.into_iter().map(|(version, _)| version).collect();
        Self { search, found: matching.found, versions }
    }
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
            return Err(no_condition());
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
        let seen = self.seen_at_first(&new.query).await?;
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
            saved_search::insert(tx, owner, &row, &folded, &seen)?;
            repetition.store_result(tx, row.id)?;
            Ok(row.id)
        };
        self.repository.inner.configuration.write(save).await
    }

    /// Replaces name, query, order and alert of a saved search. If the query changes, the documents that it finds now
    /// count as seen.
    ///
    /// # Errors
    /// Those of [`Session::save_search`]; `NotFound`, also for a search of another user; `Conflict` with code
    /// `value_changed` if the query changed meanwhile.
    #[boxed]
    pub async fn replace_saved_search(&self, id: Id, new: SearchToSave) -> Result<SavedSearch> {
        self.require_own_account("change a saved search")?;
        let before = self.saved_search(id).await?;
        let new = new.checked()?;
        let seen = if new.query == before.query { None } else { Some(self.seen_at_first(&new.query).await?) };
        let folded = fold(&new.name);
        let row = new.row(id, before.created_at);
        let owner = self.principal.id;
        let replace = move |tx: &mut Transaction| {
            refuse_changed(tx, owner, id, &before.query)?;
            refuse_taken(tx, owner, id, &row.name, &folded)?;
            if saved_search::update(tx, owner, &row, &folded)? == 0 {
                return Err(no_search(id));
            }
            if let Some(seen) = &seen {
                saved_search::set_seen(tx, owner, id, seen)?;
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
        let selection = Selection { limit: MAX_SHOWN, unlike: Some(self.seen(&search).await?), ..Selection::default() };
        let matching = self.matching(&search.query, selection).await?;
        Ok(NewDocuments::of(search, matching))
    }

    /// Returns the documents that fit a saved search, seen or not. Those of a search with a daily alert were changed
    /// before today.
    ///
    /// # Errors
    /// Those of [`Session::saved_search`].
    #[boxed]
    pub async fn latest_of_saved_search(&self, id: Id) -> Result<NewDocuments> {
        let search = self.saved_search(id).await?;
        let selection =
            Selection { limit: MAX_SHOWN, before: alert_end(search.alert, &self.zone), ..Selection::default() };
        let matching = self.matching(&search.query, selection).await?;
        Ok(NewDocuments::of(search, matching))
    }

    /// Counts the new documents of the caller's saved searches with an alert, by name. For a daily alert, documents
    /// that were changed before today are counted. When time is up, the others are not counted.
    ///
    /// # Errors
    /// Those of [`Session::saved_searches`].
    #[boxed]
    pub async fn count_new_of_saved_searches(&self) -> Result<Vec<SavedSearchCount>> {
        let mut searches = self.saved_searches().await?;
        searches.retain(|search| search.alert != SearchAlert::None);
        let end = Instant::now() + COUNT_TIMEOUT;
        let mut counts = Vec::with_capacity(searches.len());
        for search in searches {
            if Instant::now() > end {
                counts.push(SavedSearchCount { search, new_documents: None, is_complete: false });
                continue;
            }
            let selection = Selection {
                limit: MAX_SHOWN,
                unlike: Some(self.seen(&search).await?),
                before: alert_end(search.alert, &self.zone),
                without_passages: true,
            };
            let MatchingDocuments { found, is_complete, .. } = self.matching(&search.query, selection).await?;
            counts.push(SavedSearchCount { search, new_documents: Some(found.documents), is_complete });
        }
        Ok(counts)
    }

    /// Marks results of a saved search as seen: these versions, at most [`MAX_MARKED`], or all that it finds now.
    /// Versions that it does not find are ignored.
    ///
    /// # Errors
    /// `NotFound`, also for a search of another user; `Invalid` with code `too_many` for more versions; `Forbidden`
    /// with code `token_scope` for a token that does not cover the whole account; `Conflict` with code `value_changed`
    /// if the query changed meanwhile.
    #[boxed]
    pub async fn mark_saved_search_seen(&self, id: Id, versions: Option<Vec<Id>>) -> Result<()> {
        self.require_own_account("mark documents as seen")?;
        if versions.as_ref().is_some_and(|versions| versions.len() > MAX_MARKED) {
            return Err(Error::invalid(format!(
                "at most {MAX_MARKED} versions can be marked as seen at once: send fewer, or none to mark all"
            ))
            .with_code(Code::TooMany));
        }
        let search = self.saved_search(id).await?;
        let shown = versions.map_or(Shown::All, |versions| Shown::Versions(versions.into_iter().collect()));
        let matching = self.matching(&search.query, everything()).await?;
        let owner = self.principal.id;
        // Read in the transaction, so that what another window has marked meanwhile stays marked.
        let mark = move |tx: &mut Transaction| {
            refuse_changed(tx, owner, id, &search.query)?;
            let before = seen_versions(saved_search::seen(tx, owner, id)?.ok_or_else(|| no_search(id))?);
            saved_search::set_seen(tx, owner, id, &matching.seen(&before, &shown)).map(drop)
        };
        self.repository.inner.configuration.write(mark).await
    }

    /// Returns what is seen when a search with this query is saved.
    async fn seen_at_first(&self, query: &str) -> Result<SeenRow> {
        let matching = self.matching(query, everything()).await?;
        if !matching.has_condition {
            return Err(no_condition());
        }
        Ok(matching.seen_at_first())
    }

    async fn seen(&self, search: &SavedSearch) -> Result<SeenVersions> {
        let (owner, id) = (self.principal.id, search.id);
        let read = move |reader: &mut Reader| saved_search::seen(reader, owner, id);
        let seen = self.repository.inner.configuration.read(read).await?;
        Ok(seen_versions(seen.ok_or_else(|| no_search(id))?))
    }
}

fn seen_versions(row: SeenRow) -> SeenVersions {
    SeenVersions { through: row.through, versions: row.versions.into_iter().collect() }
}

/// Selects all results that can be kept as seen.
fn everything() -> Selection {
    Selection { limit: MAX_SEEN, without_passages: true, ..Selection::default() }
}

/// Returns the time of the change before which documents belong to an alert.
fn alert_end(alert: SearchAlert, zone: &Zone) -> Option<Timestamp> {
    let now = Timestamp::now();
    let midnight = || {
        let today = zone.local(now)?;
        zone.start_of(i32::from(today.year), today.month, today.day)
    };
    (alert == SearchAlert::Daily).then(|| midnight().unwrap_or(now))
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

/// Refuses what was computed for a query that another window has replaced meanwhile.
fn refuse_changed(reader: &mut Reader, owner: Id, id: Id, query: &str) -> Result<()> {
    let row = saved_search::find(reader, owner, id)?.ok_or_else(|| no_search(id))?;
    if row.query == query {
        return Ok(());
    }
    Err(Error::conflict("the query of the saved search was changed meanwhile: look at its results again")
        .with_code(Code::ValueChanged))
}

fn no_condition() -> Error {
    Error::invalid("a saved search needs a query: enter words or a filter").with_code(Code::InvalidQuery)
}

fn no_search(id: Id) -> Error {
    Error::not_found(format!("there is no saved search with the identifier {id}"))
}
