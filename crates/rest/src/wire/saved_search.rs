//! Saved searches.

use model::{Result, SearchAlert, Timestamp};
use repository::{HitOrder, SavedSearch, SearchToSave};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use http_core::protocol::time;

use super::super::search::SearchOrder;

/// A saved search of the caller.
#[derive(Serialize, ToSchema)]
pub struct SavedSearchJson {
    /// Identifier.
    pub id: String,
    /// Name.
    pub name: String,
    /// The query.
    pub query: String,
    /// Order of the results.
    #[schema(value_type = super::rules::SearchOrderWord)]
    pub sort: &'static str,
    /// Whether and when new documents are counted on the home page.
    #[schema(value_type = super::rules::SearchAlertWord)]
    pub alert: &'static str,
    /// Time of creation.
    pub created_at: String,
    /// Time up to which the caller has seen the results.
    pub seen_at: String,
}

impl From<SavedSearch> for SavedSearchJson {
    fn from(search: SavedSearch) -> Self {
        Self {
            id: search.id.to_string(),
            name: search.name,
            query: search.query,
            sort: search.order.as_str(),
            alert: search.alert.as_str(),
            created_at: time::format(search.created_at),
            seen_at: time::format(search.seen_at),
        }
    }
}

/// A search to be saved.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SavedSearchForm {
    /// Name. Two searches of one user cannot have the same name, ignoring case.
    #[schema(value_type = super::rules::DisplayName)]
    pub name: String,
    /// The query, as for the search.
    #[schema(value_type = super::rules::SavedQuery)]
    pub query: String,
    /// Order of the results; `relevance` when absent.
    #[schema(value_type = Option<super::rules::SearchOrderWord>)]
    pub sort: Option<SearchOrder>,
    /// Whether and when new documents are counted on the home page: `none`, `at-once`, or `daily` for the next day
    /// (UTC). `none` when absent. A daily feed has an entry for each day.
    #[schema(value_type = Option<super::rules::SearchAlertWord>)]
    pub alert: Option<String>,
}

impl SavedSearchForm {
    /// Converts the form to the repository's type.
    pub fn search(self) -> Result<SearchToSave> {
        Ok(SearchToSave {
            name: self.name,
            query: self.query,
            order: self.sort.map_or(HitOrder::Relevance, SearchOrder::of_hits),
            alert: self.alert.as_deref().map(SearchAlert::parse).transpose()?.unwrap_or_default(),
        })
    }
}

/// The documents that the caller has seen.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeenForm {
    /// `as_of` of the new documents that the caller has seen; now when absent. Documents that were changed later stay
    /// new.
    #[schema(value_type = Option<super::rules::Time>)]
    pub until: Option<String>,
}

impl SeenForm {
    /// Returns the time until which documents were seen.
    pub fn until(&self) -> Result<Option<Timestamp>> {
        self.until.as_deref().map(time::parse).transpose()
    }
}
