//! Pages by path: sites, libraries, folders and documents.

use askama::Template;
use axum::extract::Path;
use axum::http::Uri;
use axum::response::{IntoResponse, Redirect};
use model::{Error, NodeKind, Right};
use repository::{Item, Sort, Target};

use super::listing::{self, Row};
use super::view::View;
use crate::document::overview;
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::lists::row;
use crate::pages::{self, page_document};
use crate::wording::names::names;

/// Query parameter for the contents of a site that has a home page.
const CONTENTS: &str = "contents";
/// Query parameter for the page about a document that is shown as a page itself.
const DETAILS: &str = "details";

#[derive(Template)]
#[template(path = "site.html")]
struct SitePage<'a> {
    page: &'a Page,
    title: String,
    place: &'a Item,
    crumbs: Vec<Crumb>,
    libraries: Vec<Row<'a>>,
    lists: Vec<Row<'a>>,
    sites: Vec<Row<'a>>,
    may_add_library: bool,
    may_add_site: bool,
    /// True if the site has a home page, to which the page links.
    has_home: bool,
}

/// Shows the item at the path of the URL.
pub async fn browse(visit: Visit, uri: Uri) -> PageResult {
    let target = address::target(&uri)?;
    show(visit, &target, uri.query().unwrap_or_default()).await
}

/// Redirects from an identifier to the current page of the item.
pub async fn by_id(visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = visit.session.item(&Target::Id(id.parse()?)).await?;
    Ok(Redirect::to(&address::browse(&item.path)).into_response())
}

async fn show(mut visit: Visit, target: &Target, query: &str) -> PageResult {
    let way = visit.session.item_with_ancestors(target).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is nothing at this address"))?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    navigation::set_search_place(&mut visit.page, &way);
    match item.kind {
        NodeKind::Site => match is_chosen(query, CONTENTS) {
            true => {
                let home = visit.session.site_home(target).await?;
                site(&visit, &way, item, home.is_some_and(|home| page_document::is_page(&home))).await
            }
            false => match pages::show::home(&visit, &way, item).await? {
                Some(home) => Ok(home),
                None => site(&visit, &way, item, false).await,
            },
        },
        NodeKind::Library | NodeKind::Folder | NodeKind::List => {
            listing::show(&visit, &way, item, View::parse(query)).await
        }
        NodeKind::Row => row::show(&visit, &way, item).await,
        NodeKind::Document if page_document::is_page(item) && !is_chosen(query, DETAILS) => {
            match pages::show::show(&visit, &way, item, None).await {
                Ok(page) => Ok(page),
                // The page about the document says what is the matter with its content.
                Err(_) => overview::show(&visit, &way, item).await,
            }
        }
        NodeKind::Document => overview::show(&visit, &way, item).await,
    }
}

/// Returns whether the query of an address has a word as a key.
fn is_chosen(query: &str, word: &str) -> bool {
    form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == word)
}

async fn site(visit: &Visit, way: &[Item], item: &Item, has_home: bool) -> PageResult {
    let (_, listed) = visit.session.list(&Target::Id(item.id), Sort::Name, false, None, model::MAX_PAGE).await?;
    let names = names(&visit.session, &listed.items).await?;
    let here = address::browse(&item.path);
    let rows: Vec<Row<'_>> = listed.items.iter().map(|item| listing::row(item, &here, &names)).collect();
    let (sites, contents): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.kind == NodeKind::Site);
    let (lists, libraries) = contents.into_iter().partition(|row| row.kind == NodeKind::List);
    Ok(html(&SitePage {
        page: &visit.page,
        title: item.name.clone(),
        place: item,
        crumbs: navigation::crumbs(way),
        libraries,
        lists,
        sites,
        may_add_library: item.rights.has(Right::ManageLibraries),
        may_add_site: item.rights.has(Right::ManageSite),
        has_home,
    }))
}
