//! The page of an item's actions: for browsers without scripts, and for libraries and folders.

use askama::Template;
use axum::extract::Path;
use model::{Error, NodeKind, Right};
use repository::{Item, Target};

use super::preview::{self, Preview};
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::format::Icon;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::names;

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
    /// True if the caller may open the item. An item that is only on the path to a viewable one shows nothing but its
    /// name.
    opens: bool,
    may_edit: bool,
    may_delete: bool,
    may_permit: bool,
    preview: Preview,
    pages: Option<String>,
}

/// The page.
pub async fn show(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    let way = visit.session.item_with_ancestors(&Target::Id(id.parse()?)).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is no such item"))?;
    let names = visit.session.principal_names(&[item.created_by, item.modified_by]).await?;
    let inside = item.kind == NodeKind::Document || item.kind == NodeKind::Folder;
    Ok(html(&Details {
        page: &visit.page,
        title: item.name.clone(),
        icon: names::icon_of(item),
        crumbs: navigation::crumbs(&way),
        open: address::browse(&item.path),
        created_by: names::name_of(&names, item.created_by),
        modified_by: names::name_of(&names, item.modified_by),
        document: item.kind == NodeKind::Document,
        site: item.kind == NodeKind::Site,
        opens: item.rights.has(Right::View),
        preview: match item.kind {
            NodeKind::Document => preview::of(&visit.session, item).await,
            _ => Preview::Nothing,
        },
        pages: Some(item).filter(|item| item.kind == NodeKind::Document).and_then(|item| preview::pages(&visit, item)),
        may_edit: inside && item.rights.has(Right::Edit),
        may_delete: inside && item.rights.has(Right::Delete),
        may_permit: item.rights.has(Right::ManagePermissions),
        item,
    }))
}
