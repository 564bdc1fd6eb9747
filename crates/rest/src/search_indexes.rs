//! The search indexes: their state, the documents whose text cannot be read, and their settings. Farm administrators
//! only. A full crawl is a job.

use std::collections::BTreeMap;

use axum::Json as Reply;
use axum::http::StatusCode;
use model::Id;
use repository::{ProgramStatus, SearchFault, SearchSettings, SearchStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::protocol::time;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::{Json, Query};
use super::wire::list::{List, PageQuery, cursor_of_other_list, page};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(status))
        .routes(routes!(faults))
        .routes(routes!(programs))
        .routes(routes!(settings, set_settings))
}

/// State of the search index of a content database.
#[derive(Serialize, ToSchema)]
pub struct SearchStatusJson {
    /// Name of the content database.
    database: String,
    /// Address of the search server that has the index; null for an index in the data directory.
    server: Option<String>,
    /// `current` (every change is in it), `behind`, `building`, or `unavailable` (documents are found by
    /// name only).
    state: &'static str,
    /// Number of entries: one for each version of a document that somebody finds.
    entries: u64,
    /// Documents read so far, while the index is built.
    documents_read: Option<u64>,
    /// All documents, while the index is built.
    documents: Option<u64>,
    /// Number of entries without a readable text.
    unreadable: u64,
    /// These numbers by error code.
    unreadable_by_code: BTreeMap<String, u64>,
    /// Number of documents whose texts are still to be read, because they need much time, or a store or a reader did
    /// not answer.
    waiting: u64,
    /// Number of documents with pictures in which text is still to be recognised.
    awaiting_recognition: u64,
    /// Number of events that are not in the index yet.
    events_behind: u64,
    /// Time of the oldest of these.
    behind_since: Option<String>,
    /// Size on disk in bytes.
    size: u64,
    /// The last nightly comparison with the database; null before the first.
    comparison: Option<SearchComparisonJson>,
}

/// A comparison of a search index with its content database.
#[derive(Serialize, ToSchema)]
pub struct SearchComparisonJson {
    /// Time of its end.
    at: String,
    /// Number of documents that were compared.
    documents: u64,
    /// Number of documents whose entries differed and were repaired.
    repaired: u64,
}

impl From<SearchStatus> for SearchStatusJson {
    fn from(status: SearchStatus) -> Self {
        let (state, unreadable) = (status.state().as_str(), status.unreadable());
        Self {
            state,
            database: status.database,
            server: status.server,
            entries: status.entries,
            documents_read: status.building.map(|(read, _)| read),
            documents: status.building.map(|(_, all)| all),
            unreadable,
            unreadable_by_code: status.faults,
            waiting: status.waiting,
            awaiting_recognition: status.awaiting_recognition,
            events_behind: status.events_behind,
            behind_since: status.behind_since.map(time::format),
            size: status.size,
            comparison: status.comparison.map(|comparison| SearchComparisonJson {
                at: time::format(comparison.at),
                documents: comparison.documents,
                repaired: comparison.repaired,
            }),
        }
    }
}

/// A document whose text cannot be read.
#[derive(Serialize, ToSchema)]
pub struct SearchFaultJson {
    /// Name of the content database.
    database: String,
    /// Identifier of the document.
    document: String,
    /// Identifier of the version.
    version: String,
    /// Name of the document; empty if it was deleted meanwhile.
    name: String,
    /// Site, library and path; null for a document in a recycle bin, or one that the caller may not see.
    path: Option<String>,
    /// Error code.
    code: String,
    /// The reason in words.
    reason: String,
}

impl From<SearchFault> for SearchFaultJson {
    fn from(fault: SearchFault) -> Self {
        let SearchFault { database, document, version, name, path, code, reason } = fault;
        Self { database, document: document.to_string(), version: version.to_string(), name, path, code, reason }
    }
}

/// A program that reads documents.
#[derive(Serialize, ToSchema)]
pub struct SearchProgramJson {
    /// Name of the program.
    name: &'static str,
    /// True if it is installed and may be used.
    is_found: bool,
    /// Formats that it reads, or would read.
    formats: Vec<&'static str>,
    /// Languages in which it recognises text.
    languages: Vec<String>,
}

impl From<ProgramStatus> for SearchProgramJson {
    fn from(status: ProgramStatus) -> Self {
        let ProgramStatus { name, is_found, formats, languages } = status;
        Self { name, is_found, formats, languages }
    }
}

/// Settings of the search.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchSettingsJson {
    /// Days after which all documents are read again; null for never.
    #[schema(minimum = 1, maximum = 3650)]
    full_crawl_days: Option<u32>,
    /// True if texts from stores that encrypt are indexed too. The index stores texts unencrypted, so its
    /// directory should then be on an encrypted disk.
    index_encrypted_texts: bool,
    /// True if text in pictures and scanned pages is recognised (OCR). Unchanged if it is missing.
    recognizes_text: Option<bool>,
    /// Languages of such text, as tesseract names them; those that are installed are used. Unchanged if they are
    /// missing.
    #[schema(value_type = Option<Vec<super::wire::rules::RecognitionLanguage>>, min_items = 1, max_items = 8)]
    recognition_languages: Option<Vec<String>>,
}

/// List the search indexes
///
/// Farm administrators only. The state of the index of each content database on the server that answers.
#[utoipa::path(
    get,
    path = "/api/v1/farm/search",
    operation_id = "search_status",
    tag = "storage",
    responses((status = 200, description = "All indexes", body = List<SearchStatusJson>))
)]
async fn status(caller: Authenticated) -> Answer<Reply<List<SearchStatusJson>>> {
    let indexes = caller.session.search_status().await?;
    Ok(Reply(List::whole(indexes.into_iter().map(Into::into).collect())))
}

/// List the documents whose text cannot be read
///
/// Farm administrators only. They are found by name and properties. Newest first.
#[utoipa::path(
    get,
    path = "/api/v1/farm/search/faults",
    operation_id = "list_search_faults",
    tag = "storage",
    params(PageQuery),
    responses((status = 200, description = "One page", body = List<SearchFaultJson>))
)]
async fn faults(caller: Authenticated, Query(query): Query<PageQuery>) -> Answer<Reply<List<SearchFaultJson>>> {
    let position = |word: &str| {
        let (document, version) = word.split_once('.')?;
        Some((document.parse::<Id>().ok()?, version.parse::<Id>().ok()?))
    };
    let before = match query.after_word()?.as_str() {
        "" => None,
        word => Some(position(word).ok_or_else(cursor_of_other_list)?),
    };
    let limit = query.limit_with_probe()?;
    let found = caller.session.search_faults(before, limit + 1).await?;
    let (faults, next) = page(found, limit, |fault| format!("{}.{}", fault.document, fault.version));
    Ok(Reply(List { items: faults.into_iter().map(Into::into).collect(), next }))
}

/// List the programs that read documents
///
/// Farm administrators only. Other programs that the server that answers uses for the search index, if they are
/// installed.
#[utoipa::path(
    get,
    path = "/api/v1/farm/search/programs",
    operation_id = "list_search_programs",
    tag = "storage",
    responses((status = 200, description = "All programs", body = List<SearchProgramJson>))
)]
async fn programs(caller: Authenticated) -> Answer<Reply<List<SearchProgramJson>>> {
    let programs = caller.session.search_programs().await?;
    Ok(Reply(List::whole(programs.into_iter().map(Into::into).collect())))
}

/// Get the settings of the search
///
/// Farm administrators only.
#[utoipa::path(
    get,
    path = "/api/v1/farm/search/settings",
    operation_id = "search_settings",
    tag = "storage",
    responses((status = 200, description = "The settings", body = SearchSettingsJson))
)]
async fn settings(caller: Authenticated) -> Answer<Reply<SearchSettingsJson>> {
    let settings = caller.session.search_settings().await?;
    Ok(Reply(SearchSettingsJson {
        full_crawl_days: settings.full_crawl_days,
        index_encrypted_texts: settings.index_encrypted_texts,
        recognizes_text: Some(settings.recognizes_text),
        recognition_languages: Some(settings.recognition_languages),
    }))
}

/// Change the settings of the search
///
/// Farm administrators only. A full crawl starts when `index_encrypted_texts` or `recognizes_text` is turned on.
#[utoipa::path(
    put,
    path = "/api/v1/farm/search/settings",
    operation_id = "set_search_settings",
    tag = "storage",
    request_body = SearchSettingsJson,
    responses((status = 204, description = "Done"))
)]
async fn set_settings(caller: Authenticated, Json(form): Json<SearchSettingsJson>) -> Answer<StatusCode> {
    let before = caller.session.search_settings().await?;
    let settings = SearchSettings {
        full_crawl_days: form.full_crawl_days,
        index_encrypted_texts: form.index_encrypted_texts,
        recognizes_text: form.recognizes_text.unwrap_or(before.recognizes_text),
        recognition_languages: form.recognition_languages.unwrap_or(before.recognition_languages),
    };
    caller.session.set_search_settings(settings).await?;
    Ok(StatusCode::NO_CONTENT)
}
