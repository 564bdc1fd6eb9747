//! The identifiers of all items of a listing, for scripts that select all of them.

use axum::Json;
use axum::extract::Path;
use axum::http::Uri;
use axum::response::IntoResponse;
use model::{Id, MAX_PAGE};
use repository::{ListRequest, Target};
use serde::Serialize;

use super::view::View;
use crate::frame::fault::PageResult;
use crate::frame::item::find;
use crate::frame::visit::Visit;
use http_core::transfer::listing_cursor;

/// A page of identifiers.
#[derive(Serialize)]
struct Ids {
    ids: Vec<String>,
    /// Sealed position at which the next page begins, if there is one.
    next: Option<String>,
}

/// Sends the identifiers of the items that the caller may open, in the order and with the filter of the query; at most
/// 1,000.
pub async fn show(visit: Visit, Path(id): Path<String>, uri: Uri) -> PageResult {
    let session = &visit.session;
    let place = find(&visit, &id).await?;
    let target = Target::Id(place.id);
    let view = View::parse(uri.query().unwrap_or_default());
    let (columns, _) = if view.asks_for_columns() { session.columns(&target).await? } else { Default::default() };
    let (filter, _) = view.filter(&visit.page, session, &columns).await?;
    let kept = filter.clone();
    let listing =
        listing_cursor::Listing { item: place.id, sort: view.sort, descending: view.descending, filter: &kept };
    let after = match view.after.as_str() {
        "" => None,
        sealed => Some(listing_cursor::open(session, &listing, sealed).await?),
    };
    let request =
        ListRequest { sort: view.sort, descending: view.descending, after, limit: MAX_PAGE, columns: 0, filter };
    let found = session.list_filtered(&target, request).await?;
    let next = match &found.page.next {
        Some(place) => Some(listing_cursor::seal(session, &listing, place).await?),
        None => None,
    };
    let ids = found.page.items.iter().map(|item| item.id).filter(|id| *id != Id::NONE);
    Ok(Json(Ids { ids: ids.map(|id| id.to_string()).collect(), next }).into_response())
}
