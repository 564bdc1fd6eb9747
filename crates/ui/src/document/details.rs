//! The page of an item's actions: for browsers without scripts, and for libraries and folders.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Error, ErrorKind, NodeKind, Result, Right};
use repository::{DocumentPassages, Item, MAX_QUERY_CHARS, Target, TextSearch};
use serde::Deserialize;

use super::preview::{self, Preview};
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::format::Icon;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::names;
use crate::wording::passages::{Piece, pieces_of};

/// The search that led to the page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    q: String,
    /// Not empty for a preview under a resting pointer. It shows no content if the site records reads.
    hover: String,
}

/// The passages of a document that match a search.
struct ShownPassages {
    /// True if the site records reads, or if that is not known.
    is_withheld: bool,
    passages: Vec<Vec<Piece>>,
    /// Message about passages that are missing, or empty.
    note: &'static str,
}

#[derive(Template)]
#[template(path = "details.html")]
struct Details<'a> {
    page: &'a Page,
    item: &'a Item,
    title: String,
    icon: Icon,
    crumbs: Vec<Crumb>,
    open: String,
    created_by: String,
    modified_by: String,
    document: bool,
    site: bool,
    row: bool,
    /// True if the caller may open the item. An item that is only on the path to a viewable one shows nothing but its
    /// name.
    opens: bool,
    may_edit: bool,
    may_delete: bool,
    may_permit: bool,
    preview: Preview,
    pages: Option<String>,
    /// Set if a search led to the page.
    passages: Option<ShownPassages>,
}

/// The page.
pub async fn show(mut visit: Visit, Path(id): Path<String>, Query(asked): Query<Asked>) -> PageResult {
    let way = visit.session.item_with_ancestors(&Target::Id(id.parse()?)).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is no such item"))?;
    let names = visit.session.principal_names(&[item.created_by, item.modified_by]).await?;
    let passages = passages(&visit, item, asked.q.trim()).await?;
    let document = item.kind == NodeKind::Document;
    // Without passages, it is not known whether the site records reads.
    let is_unrecorded = passages.as_ref().is_some_and(|passages| !passages.is_withheld);
    let shows_content = document && (asked.hover.is_empty() || is_unrecorded);
    let inside = item.kind.has_values();
    Ok(html(&Details {
        page: &visit.page,
        title: item.shown_name().to_owned(),
        icon: names::icon_of(item),
        crumbs: navigation::crumbs(&way),
        open: address::browse(&item.path),
        created_by: names::name_of(&names, item.created_by),
        modified_by: names::name_of(&names, item.modified_by),
        document,
        site: item.kind == NodeKind::Site,
        row: item.kind == NodeKind::Row,
        opens: item.rights.has(Right::View),
        preview: if shows_content { preview::of(&visit.session, item).await } else { Preview::Nothing },
        pages: Some(item).filter(|_| shows_content).and_then(|item| preview::pages(&visit, item)),
        may_edit: inside && item.rights.has(Right::Edit),
        may_delete: inside && item.rights.has(Right::Delete),
        may_permit: item.rights.has(Right::ManagePermissions),
        passages,
        item,
    }))
}

/// Returns the passages of a document that match a search; `None` without a search.
async fn passages(visit: &Visit, item: &Item, asked: &str) -> Result<Option<ShownPassages>> {
    if asked.is_empty() || item.kind != NodeKind::Document || !item.rights.has(Right::View) {
        return Ok(None);
    }
    let asked: String = asked.chars().take(MAX_QUERY_CHARS).collect();
    let found = match visit.session.passages(&Target::Id(item.id), &asked).await {
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Exhausted) => {
            tracing::debug!(target: "http", code = error.code().as_str(), "no passages: {}", error.report());
            let note = visit.page.s("passages.unavailable");
            return Ok(Some(ShownPassages { is_withheld: true, passages: Vec::new(), note }));
        }
        found => found?,
    };
    let key = match found {
        DocumentPassages { is_withheld: true, .. } => "passages.withheld",
        DocumentPassages { texts: TextSearch::Unavailable, .. } => "passages.unavailable",
        DocumentPassages { texts: TextSearch::Incomplete, .. } => "passages.incomplete",
        DocumentPassages { more: true, .. } => "passages.more",
        _ if found.passages.is_empty() => "passages.none",
        _ => "",
    };
    Ok(Some(ShownPassages {
        is_withheld: found.is_withheld,
        passages: found.passages.iter().map(pieces_of).collect(),
        note: if key.is_empty() { key } else { visit.page.s(key) },
    }))
}
