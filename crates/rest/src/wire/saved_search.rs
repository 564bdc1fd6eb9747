//! Saved searches.

use model::{Id, Result, SearchAlert};
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
    /// When new documents are counted on the home page, if at all.
    #[schema(value_type = super::rules::SearchAlertWord)]
    pub alert: &'static str,
    /// Time of creation.
    pub created_at: String,
    /// Time at which the caller last marked results as seen.
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
    /// When new documents are counted on the home page: `none`, `at-once`, or `daily` for the next day. `none`
    /// when absent. A daily feed has an entry for each day.
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
    /// Some of the `versions` of the new documents, at most 1,000; all that the search finds now when absent.
    #[schema(value_type = Option<Vec<super::rules::Identifier>>, max_items = 1000)]
    pub versions: Option<Vec<String>>,
}

impl SeenForm {
    /// Returns the versions that were seen; `None` for all.
    pub fn versions(&self) -> Result<Option<Vec<Id>>> {
        self.versions.as_ref().map(|all| all.iter().map(|version| version.parse()).collect()).transpose()
    }
}
