//! Recycle bins: the personal one, and that of the site collection.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Id, NodeKind, Result, Right, Timestamp};
use repository::{Bin, Item, RecycledItem, Target};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::format::{Icon, file_icon, toned};
use crate::frame::navigation;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::wording::names;

/// Entries per page.
const PAGE: usize = 100;

/// Selected bin and page start.
#[derive(Deserialize)]
pub struct View {
    #[serde(default)]
    of: String,
    before: Option<String>,
}

struct Row {
    id: Id,
    icon: Icon,
    name: String,
    path: String,
    documents: u64,
    size: u64,
    at: Timestamp,
    by: String,
    second: bool,
}

#[derive(Template)]
#[template(path = "bin.html")]
struct BinPage<'a> {
    page: &'a Page,
    collection: Id,
    rows: Vec<Row>,
    next: Option<Id>,
    of_site: bool,
    may_see_site: bool,
}

/// The page.
pub async fn show(mut visit: Visit, Path(collection): Path<String>, Query(view): Query<View>) -> PageResult {
    let collection: Id = collection.parse()?;
    let way = visit.session.item_with_ancestors(&Target::Id(collection)).await?;
    let of_site = view.of == "site";
    let bin = if of_site { Bin::Site } else { Bin::Mine };
    let before = view.before.as_deref().map(str::parse).transpose()?;
    let listed = visit.session.recycled(collection, bin, before, PAGE).await?;
    let people: Vec<Id> = listed.items.iter().map(|item| item.deleted_by).collect();
    let names = visit.session.principal_names(&people).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    navigation::mark_current(&mut visit.page, &format!("/bin/{collection}"));
    let may_see_site = way.first().is_some_and(|site: &Item| site.rights.has(Right::ManageSite));
    let rows = listed.items.into_iter().map(|item| Row {
        id: item.id,
        icon: icon_of(&item),
        by: names::name_of(&names, item.deleted_by),
        name: item.name,
        path: item.path,
        documents: item.documents,
        size: item.size,
        at: item.deleted_at,
        second: item.second_stage,
    });
    let (rows, next) = (rows.collect(), listed.next);
    Ok(html(&BinPage { page: &visit.page, collection, rows, next, of_site, may_see_site }))
}

fn icon_of(item: &RecycledItem) -> Icon {
    match item.kind {
        NodeKind::Site => toned("site", "tone-accent"),
        NodeKind::Library => toned("library", "tone-accent"),
        NodeKind::List => toned("list", "tone-accent"),
        NodeKind::Row => toned("row", "tone-accent"),
        NodeKind::Folder => toned("folder", "tone-yellow"),
        NodeKind::Document => file_icon(item.name.rsplit_once('.').map_or("", |(_, end)| end).to_lowercase().as_str()),
    }
}

/// Restores the entry whose button was pressed, or all selected ones.
pub async fn restore(Path(collection): Path<String>, sent: SubmittedForm) -> PageResult {
    let collection: Id = collection.parse()?;
    let one = !sent.fields.text("one").is_empty();
    let entries = sent.fields.ids(if one { "one" } else { "ids" })?;
    let flash = restore_all(&sent.visit, collection, &entries).await?;
    Ok(done(&back(&sent, collection), &flash))
}

/// Removes the selected entries from the bin.
pub async fn purge(Path(collection): Path<String>, sent: SubmittedForm) -> PageResult {
    let collection: Id = collection.parse()?;
    let entries = sent.fields.ids("ids")?;
    let count = entries.len() as u64;
    let bin = if sent.fields.text("of") == "site" { Bin::Site } else { Bin::Mine };
    for entry in entries {
        sent.visit.session.purge(collection, entry, bin).await?;
    }
    Ok(done(&back(&sent, collection), &note(&sent, count)))
}

/// Empties the bin.
pub async fn empty(Path(collection): Path<String>, sent: SubmittedForm) -> PageResult {
    let collection: Id = collection.parse()?;
    let bin = if sent.fields.text("of") == "site" { Bin::Site } else { Bin::Mine };
    let count = sent.visit.session.empty_bin(collection, bin).await?;
    Ok(done(&back(&sent, collection), &note(&sent, count)))
}

fn note(sent: &SubmittedForm, count: u64) -> Flash {
    Flash::new("toast.purged", sent.visit.page.n("selection.items", count))
}

fn back(sent: &SubmittedForm, collection: Id) -> String {
    let of = if sent.fields.text("of") == "site" { "?of=site" } else { "" };
    format!("/bin/{collection}{of}")
}

/// Restores entries of a recycle bin to their original locations. Returns the confirmation message.
pub async fn restore_all(visit: &Visit, collection: Id, entries: &[Id]) -> Result<Flash> {
    let mut name = String::new();
    for entry in entries {
        name = visit.session.restore(collection, *entry).await?.shown_name().to_owned();
    }
    Ok(match entries.len() {
        0 | 1 => Flash::new("toast.restored", name),
        many => Flash::new("toast.restored-many", visit.page.n("selection.items", many as u64)),
    })
}
