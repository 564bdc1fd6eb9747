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
    /// True if the caller has pinned the site.
    is_pinned: bool,
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
    navigation::set_search_place(&mut visit.page, &way);
    // The side bar is read beside what the page shows: on a database server, a page is mostly waiting.
    let side_bar = navigation::side_bar(&visit, &way);
    match item.kind {
        NodeKind::Site => {
            let shows_contents = is_chosen(query, CONTENTS);
            let home = async { if shows_contents { Ok(None) } else { pages::show::read_home(&visit, item).await } };
            let (side_bar, home) = tokio::try_join!(side_bar, home)?;
            visit.page.set_side_bar(side_bar);
            if let Some(home) = home {
                return Ok(pages::show::page(&visit, &way, home, Some(item)));
            }
            let has_home = shows_contents
                && visit.session.site_home(target).await?.is_some_and(|home| page_document::is_page(&home));
            site(&visit, &way, item, has_home).await
        }
        NodeKind::Library | NodeKind::Folder | NodeKind::List => {
            let contents = listing::read(&visit, item, View::parse(query));
            let (side_bar, contents) = tokio::try_join!(side_bar, contents)?;
            visit.page.set_side_bar(side_bar);
            Ok(listing::page(&visit, &way, item, contents))
        }
        NodeKind::Document if page_document::is_page(item) && !is_chosen(query, DETAILS) => {
            let (side_bar, page) = tokio::join!(side_bar, pages::show::read(&visit, &way, item, None));
            visit.page.set_side_bar(side_bar?);
            match page {
                Ok(page) => Ok(pages::show::page(&visit, &way, page, None)),
                // The page about the document says what is the matter with its content.
                Err(_) => overview::show(&visit, &way, item).await,
            }
        }
        NodeKind::Row | NodeKind::Document => {
            let side_bar = side_bar.await?;
            visit.page.set_side_bar(side_bar);
            match item.kind {
                NodeKind::Row => row::show(&visit, &way, item).await,
                _ => overview::show(&visit, &way, item).await,
            }
        }
    }
}

/// Returns whether the query of an address has a word as a key.
fn is_chosen(query: &str, word: &str) -> bool {
    form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == word)
}

async fn site(visit: &Visit, way: &[Item], item: &Item, has_home: bool) -> PageResult {
    let (_, listed) = visit.session.list(&Target::Id(item.id), Sort::Name, false, None, model::MAX_PAGE).await?;
    let names = names(&visit.session, &listed.items).await?;
    let (here, me) = (address::browse(&item.path), visit.session.principal().id);
    let rows: Vec<Row<'_>> = listed.items.iter().map(|item| listing::row(item, &here, me, &names)).collect();
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
        is_pinned: item.rights.has(Right::View) && visit.session.follows(&Target::Id(item.id)).await?,
        has_home,
    }))
}
