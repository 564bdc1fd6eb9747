//! Search: the indexes of the farm's content databases, what of a document is indexed, and finding items by their names
//! and documents by their words, limited to what the caller may open.

mod attach;
mod caller_admission;
mod columns;
mod containers;
mod containing;
mod content_pass;
mod effect;
mod find;
mod indexed_versions;
pub(crate) mod indexes;
mod meanings;
mod name_query;
mod names;
mod passages;
mod places;
mod request;
mod saved;
mod search_plan;
mod settings;
mod status;
mod suggest;
mod unindexed;
mod unseen;
mod visible_scopes;

pub use containing::Containing;
pub use effect::{IndexEffect, index_effect};
pub use find::{MAX_FOUND, SearchResults};
pub use indexed_versions::{IndexedVersion, indexed_versions};
pub use passages::DocumentPassages;
pub use request::{FindRequest, Found, FoundFacets, FoundItem, FoundSite, MAX_QUERY_CHARS, TextSearch};
pub use saved::{MAX_MARKED, MAX_SAVED_SEARCHES, NewDocuments, SavedSearch, SavedSearchCount, SearchToSave};
pub use settings::SearchSettings;
pub use status::{SearchComparison, SearchFault, SearchState, SearchStatus};
pub use suggest::{MAX_SUGGESTED, SuggestedPerson, Suggestions};
