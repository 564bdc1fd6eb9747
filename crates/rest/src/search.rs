//! Search for items by their names, and for documents and rows of lists by their words.

use axum::Json as Reply;
use model::{Code, Error};
use repository::{FindRequest, Found, FoundItem, HitOrder, MAX_FOUND, Piece, Remark, TextSearch, Tolerance};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::request;
use http_core::server::state::AppState;

use super::extract::Query;
use super::wire::item::{self, ItemJson};
use super::wire::people::PrincipalJson;

/// Number of items in a response, unless another is asked for.
const DEFAULT_LIMIT: usize = 50;

/// A search query.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// The query: words, "phrases", "phrases"~3 with other words between, beginnings such as `contract*`, parts and
    /// ends of words in names such as `*tract*` and `*tract`, operators in capital letters (AND, OR, NOT, UND, ODER,
    /// NICHT), `-`, parentheses, and the filters `type`, `ext`, `name`, `title`, `text`, `author`, `creator`, `editor`,
    /// `site`, `library`, `in`, `size`, `created`, `modified`, `lang` and `is` (`mine`, `draft`, `followed`,
    /// `checkedout`).
    /// `type:row` finds rows of lists. Columns of libraries and lists that the caller knows are filters too, such as
    /// `Status:open` and `"Due date"<2026`. Inflections in English and German are found too. Words without operators
    /// and filters are also compared with parts of names. At most 4,096 characters.
    #[param(value_type = super::wire::rules::Sought)]
    q: String,
    /// Maximum number of items in the response, 1 to 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
    /// Order of the items.
    #[param(value_type = Option<super::wire::rules::SearchOrderWord>, default = "relevance")]
    sort: Option<SearchOrder>,
    /// True to count the documents found by type, author, year and site.
    facets: Option<bool>,
    /// False to leave out passages, which take about half of the time.
    #[param(default = true)]
    passages: Option<bool>,
    /// True to answer 400 with `invalid_query` instead of remarks.
    strict: Option<bool>,
}

/// An order of search results.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchOrder {
    Relevance,
    Newest,
    Oldest,
    Largest,
    Smallest,
}

impl SearchOrder {
    pub fn of_hits(self) -> HitOrder {
        match self {
            Self::Relevance => HitOrder::Relevance,
            Self::Newest => HitOrder::Newest,
            Self::Oldest => HitOrder::Oldest,
            Self::Largest => HitOrder::Largest,
            Self::Smallest => HitOrder::Smallest,
        }
    }
}

/// Result of a search.
#[derive(Serialize, ToSchema)]
pub struct FoundJson {
    /// By relevance: sites, libraries and folders with words that begin with those of the search text; then documents
    /// whose names begin with it; then documents with the words in name or text, the best first; then other items with
    /// the search text anywhere in their names, newest first. In another order, only documents with the words. Rows of
    /// lists are found and counted as documents are, by their titles and by the words in their columns.
    items: Vec<ItemJson>,
    /// Matching passages of documents in `items`, and of the texts of rows. A document has none if it matches only by
    /// name, if its site records reads, or if time was up.
    passages: Vec<PassageJson>,
    /// True if there are more results than requested.
    more: bool,
    /// Number of documents that fit by words and filters. At least this many if `texts` is not `complete`. Items found
    /// by a part of their names only are not counted.
    documents: u64,
    /// Their numbers by properties, if these were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    facets: Option<FacetsJson>,
    /// True if fewer than three results had the words themselves, and `items` include documents with similar words or
    /// compounds.
    similar: bool,
    /// True if there were still fewer than three results, and `items` include documents that lack some of the words.
    partial: bool,
    /// Parts of the query that were ignored, or read differently from what was probably meant.
    remarks: Vec<RemarkJson>,
    /// True if all names were compared. False when the time limit was reached before the oldest documents, or when a
    /// content database is unavailable or unreadable.
    complete: bool,
    /// State of the text search: `complete`; `incomplete` while an index is being built or is far behind, or if time
    /// was up; `unavailable` if at least one index cannot be used.
    #[schema(value_type = String, example = "complete")]
    texts: &'static str,
    /// Names of the content databases that are unavailable or unreadable and were not searched. Only for farm
    /// administrators.
    incomplete: Vec<String>,
}

/// Numbers of documents by their properties, at most ten of each.
#[derive(Serialize, ToSchema)]
pub struct FacetsJson {
    /// By extension of the name, the most frequent first.
    types: Vec<CountJson>,
    /// Number of rows of lists, which have no extension. The filter `type:row` finds them.
    rows: u64,
    /// By creator, the most frequent first.
    authors: Vec<PersonCountJson>,
    /// By year of the last change (UTC), the newest first.
    years: Vec<YearCountJson>,
    /// By site, the most frequent first.
    sites: Vec<SiteCountJson>,
}

/// Number of documents with an extension.
#[derive(Serialize, ToSchema)]
pub struct CountJson {
    /// Extension in lower case, without the full stop.
    value: String,
    /// Number of documents.
    count: u64,
}

/// Number of documents created by a user.
#[derive(Serialize, ToSchema)]
pub struct PersonCountJson {
    /// The user.
    user: PrincipalJson,
    /// Number of documents.
    count: u64,
}

/// Number of documents of a year.
#[derive(Serialize, ToSchema)]
pub struct YearCountJson {
    /// The year.
    year: i32,
    /// Number of documents.
    count: u64,
}

/// Number of documents in a site.
#[derive(Serialize, ToSchema)]
pub struct SiteCountJson {
    /// Path of the site.
    path: String,
    /// Name of the site.
    name: String,
    /// Number of documents.
    count: u64,
}

/// A remark on a part of a query.
#[derive(Serialize, ToSchema)]
pub struct RemarkJson {
    /// `unclosed_phrase`, `unmatched_parenthesis`, `lone_operator`, `short_prefix`, `no_date`, `no_size`, `no_value`,
    /// `unknown_name`, `unknown_filter` or `too_much`.
    reason: &'static str,
    /// The part, shortened.
    text: String,
    /// Start of the part in bytes of the query.
    start: usize,
    /// End of the part in bytes of the query.
    end: usize,
}

impl From<&Remark> for RemarkJson {
    fn from(remark: &Remark) -> Self {
        let (start, end) = (remark.range.start, remark.range.end);
        Self { reason: remark.reason.code(), text: remark.text.clone(), start, end }
    }
}

/// A part of the text of a document.
#[derive(Serialize, ToSchema)]
pub struct PassageJson {
    /// Identifier of the document.
    id: String,
    /// Its pieces, in order.
    pieces: Vec<PieceJson>,
    /// True if the text has more before this part.
    more_before: bool,
    /// True if the text has more after this part.
    more_after: bool,
}

/// A piece of a passage.
#[derive(Serialize, ToSchema)]
pub struct PieceJson {
    /// Text without line breaks and control characters.
    text: String,
    /// True for a word that was searched for.
    hit: bool,
}

impl From<&Piece> for PieceJson {
    fn from(piece: &Piece) -> Self {
        Self { text: piece.text.clone(), hit: piece.hit }
    }
}

impl PassageJson {
    pub fn of(found: &FoundItem) -> Option<Self> {
        let passage = found.passage.as_ref()?;
        Some(Self {
            id: found.item.id.to_string(),
            pieces: passage.pieces.iter().map(PieceJson::from).collect(),
            more_before: passage.more.0,
            more_after: passage.more.1,
        })
    }
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(search))
}

/// Find items by their names, and documents and rows of lists by their words
///
/// Searches all sites for items that the caller may open. Up to half of the results may be sites, libraries and
/// folders.
#[utoipa::path(
    get,
    path = "/api/v1/search",
    operation_id = "search",
    tag = "items",
    params(SearchQuery),
    responses((status = 200, description = "The items found", body = FoundJson))
)]
async fn search(caller: Authenticated, Query(query): Query<SearchQuery>) -> Answer<Reply<FoundJson>> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_FOUND).contains(&limit) {
        return Err(Error::invalid(format!("limit is 1 to {MAX_FOUND}")).with_code(Code::InvalidQuery).into());
    }
    let _place = if limit > DEFAULT_LIMIT { request::acquire_costly()? } else { None };
    let order = query.sort.map_or(HitOrder::Relevance, SearchOrder::of_hits);
    let counts_facets = query.facets.unwrap_or_default();
    let without_passages = query.passages == Some(false);
    let request = FindRequest { text: query.q, limit, order, counts_facets, without_passages };
    let found = caller.session.search(&request).await?;
    if let Some(remark) = found.remarks.first().filter(|_| query.strict.unwrap_or_default()) {
        let message = format!("the query cannot be read as it is written ({}): {}", remark.reason.code(), remark.text);
        return Err(Error::invalid(message).with_code(Code::InvalidQuery).into());
    }
    let facets = if counts_facets { Some(facets(&caller, &found).await?) } else { None };
    let remarks = found.remarks.iter().map(RemarkJson::from).collect();
    let passages = found.items.iter().filter_map(PassageJson::of).collect();
    let items = item::items(&caller.session, found.items.into_iter().map(|found| found.item).collect()).await?;
    let complete = found.whole && found.missing.is_empty();
    Ok(Reply(FoundJson {
        items,
        passages,
        more: found.more,
        documents: found.documents,
        facets,
        similar: found.tolerance >= Tolerance::Similar,
        partial: found.tolerance == Tolerance::MostWords,
        remarks,
        complete,
        texts: texts_word(found.texts),
        incomplete: found.missing.names(),
    }))
}

/// Returns the word for a state of the search in texts.
pub fn texts_word(texts: TextSearch) -> &'static str {
    match texts {
        TextSearch::Complete => "complete",
        TextSearch::Incomplete => "incomplete",
        TextSearch::Unavailable => "unavailable",
    }
}

async fn facets(caller: &Authenticated, found: &Found) -> model::Result<FacetsJson> {
    let facets = &found.facets;
    let ids: Vec<_> = facets.authors.iter().map(|(id, _)| *id).collect();
    let mut names = caller.session.principal_names(&ids).await?;
    let person =
        |(id, count): &(_, u64)| names.remove(id).map(|name| PersonCountJson { user: name.into(), count: *count });
    Ok(FacetsJson {
        rows: facets.rows,
        authors: facets.authors.iter().filter_map(person).collect(),
        types: facets
            .extensions
            .iter()
            .map(|(value, count)| CountJson { value: value.clone(), count: *count })
            .collect(),
        years: facets.years.iter().map(|(year, count)| YearCountJson { year: *year, count: *count }).collect(),
        sites: facets
            .sites
            .iter()
            .map(|(site, count)| SiteCountJson { path: site.path.clone(), name: site.name.clone(), count: *count })
            .collect(),
    })
}
