//! Sites, libraries and folders.

use std::collections::HashMap;

use askama::Template;
use axum::extract::Path;
use axum::http::Uri;
use axum::response::{IntoResponse, Redirect};
use model::{Error, Id, NodeKind, Result, Right};
use repository::{Item, PrincipalName, Session, Sort, Target};

use super::caller::Visit;
use super::fault::Shown;
use super::format::{Icon, file_icon, toned};
use super::frame::{self, Crumb};
use super::listing::{self, Row, row};
use super::page::Page;
use super::view::View;
use super::{address, document, html};

#[derive(Template)]
#[template(path = "site.html")]
struct SitePage<'a> {
    page: &'a Page,
    title: String,
    place: &'a Item,
    crumbs: Vec<Crumb>,
    libraries: Vec<Row<'a>>,
    sites: Vec<Row<'a>>,
    may_add_library: bool,
    may_add_site: bool,
}

/// Whatever is at the path of the address.
pub async fn browse(visit: Visit, uri: Uri) -> Shown {
    let target = address::target(&uri)?;
    show(visit, &target, View::parse(uri.query().unwrap_or_default())).await
}

/// From an identifier to the page of the item, wherever it is now.
pub async fn by_id(visit: Visit, Path(id): Path<String>) -> Shown {
    let item = visit.session.item(&Target::Id(id.parse()?)).await?;
    Ok(Redirect::to(&address::browse(&item.path)).into_response())
}

async fn show(mut visit: Visit, target: &Target, view: View) -> Shown {
    let way = visit.session.item_with_ancestors(target).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is nothing at this address"))?;
    frame::furnish(&mut visit, &way).await?;
    match item.kind {
        NodeKind::Site => site(&visit, &way, item).await,
        NodeKind::Library | NodeKind::Folder => listing::show(&visit, &way, item, view).await,
        NodeKind::Document => document::show(&visit, &way, item).await,
    }
}

async fn site(visit: &Visit, way: &[Item], item: &Item) -> Shown {
    let (_, listed) = visit.session.list(&Target::Id(item.id), Sort::Name, false, None, model::MAX_PAGE).await?;
    let names = names(&visit.session, &listed.items).await?;
    let here = address::browse(&item.path);
    let rows: Vec<Row<'_>> = listed.items.iter().map(|item| row(item, &here, &names)).collect();
    let (sites, libraries) = rows.into_iter().partition(|row| row.kind == "site");
    Ok(html(&SitePage {
        page: &visit.page,
        title: item.name.clone(),
        place: item,
        crumbs: frame::crumbs(way),
        libraries,
        sites,
        may_add_library: item.rights.has(Right::ManageLibraries),
        may_add_site: item.rights.has(Right::ManageSite),
    }))
}

/// The names of all who changed the items, hold them or have them open.
pub async fn names(session: &Session, items: &[Item]) -> Result<HashMap<Id, PrincipalName>> {
    let mut ids: Vec<Id> = items.iter().map(|item| item.modified_by).collect();
    ids.extend(items.iter().filter_map(|item| item.check_out).map(|held| held.by));
    ids.extend(items.iter().filter_map(|item| item.locked_by));
    ids.sort_unstable();
    ids.dedup();
    session.principal_names(&ids).await
}

/// The name of a user or group, or a dash.
pub fn name_of(names: &HashMap<Id, PrincipalName>, id: Id) -> String {
    known_as(names, id).to_owned()
}

/// The same, lent.
pub fn known_as(names: &HashMap<Id, PrincipalName>, id: Id) -> &str {
    names.get(&id).map_or("–", |name| name.name.as_str())
}

/// The icon of an item.
pub fn icon_of(item: &Item) -> Icon {
    match item.kind {
        NodeKind::Site => toned("site", "tone-accent"),
        NodeKind::Library => toned("library", "tone-accent"),
        NodeKind::Folder => toned("folder", "tone-yellow"),
        NodeKind::Document => {
            let end = item.name.rsplit_once('.').map_or("", |(_, end)| end);
            // Names mostly end in lower case already.
            if end.bytes().any(|b| b.is_ascii_uppercase()) {
                file_icon(&end.to_ascii_lowercase())
            } else {
                file_icon(end)
            }
        }
    }
}
