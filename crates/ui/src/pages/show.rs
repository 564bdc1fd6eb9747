//! A page as its readers see it.

use std::collections::HashMap;
use std::time::Duration;

use askama::Template;
use axum::response::Response;
use model::{Error, NodeKind, Result, Right};
use repository::{Item, Session, Target};
use tokio::time::{Instant, timeout_at};

use super::link::LinkBase;
use super::markdown::{self, Drawn, Inset};
use super::page_document::{self, Source};
use super::parts::{self, Surroundings};
use super::text::PageText;
use crate::document::approval::{self, Approval};
use crate::frame::fault::PageResult;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::names;
use http_core::protocol::{content_type, segments};
use http_core::server::request_body;

/// Limit on the time for all parts and pictures of a page.
const AT_MOST: Duration = Duration::from_secs(3);

/// A page, drawn for its reader.
pub struct DrawnPage {
    /// Title; empty for none.
    pub title: String,
    /// Safe HTML.
    pub body: String,
    /// The reason why the front matter cannot be read; empty if it can.
    pub fault: String,
}

/// Actions that the page offers its reader.
struct Actions {
    edit: bool,
    check_out: bool,
    must_check_out: bool,
    check_in: bool,
    see_versions: bool,
    make_home: bool,
}

#[derive(Template)]
#[template(path = "page.html")]
struct PageView<'a> {
    page: &'a Page,
    item: &'a Item,
    title: String,
    crumbs: Vec<Crumb>,
    body: String,
    fault: String,
    modified_by: String,
    held_by: Option<String>,
    may: Actions,
    approval: Approval,
    site: &'a Item,
    /// The site of which this is the home page.
    home_of: Option<&'a Item>,
    may_add_library: bool,
    may_add_site: bool,
}

/// Shows a page that has already been found. `home_of` is the site whose home page it is shown as.
pub async fn show(visit: &Visit, way: &[Item], item: &Item, home_of: Option<&Item>) -> PageResult {
    let Source { content, text, .. } = page_document::read(&visit.session, item).await?;
    // The document may have changed since it was found.
    let item = &content.item;
    let own_way;
    let site = match home_of {
        None => site_of(way)?,
        // A home page can be in another site, where its parts begin.
        Some(_) => {
            own_way = visit.session.item_with_ancestors(&Target::Id(item.id)).await?;
            site_of(&own_way)?
        }
    };
    let drawn = draw(visit, site, &item.path, text).await?;
    let (session, target) = (&visit.session, Target::Id(item.id));
    let mut people = vec![item.modified_by];
    people.extend(item.check_out.map(|held| held.by));
    let names = session.principal_names(&people).await?;
    let is_mine = item.check_out.is_some_and(|held| held.by == session.principal().id);
    let must_check_out = item.rights.has(Right::Edit) && session.library_settings(&target).await?.require_checkout;
    let is_free = is_mine || (item.check_out.is_none() && !must_check_out);
    let may = Actions {
        edit: item.rights.has(Right::Edit) && is_free,
        must_check_out,
        check_out: item.rights.has(Right::Edit) && item.check_out.is_none(),
        see_versions: item.rights.has(Right::ViewVersions),
        check_in: is_mine && item.rights.has(Right::Edit),
        make_home: home_of.is_none() && site.rights.has(Right::ManageSite),
    };
    Ok(html(&PageView {
        page: &visit.page,
        title: title_of(&drawn, item, home_of),
        crumbs: navigation::crumbs(way),
        body: drawn.body,
        fault: drawn.fault,
        modified_by: names::name_of(&names, item.modified_by),
        held_by: item.check_out.filter(|_| !is_mine).map(|held| names::name_of(&names, held.by)),
        may,
        approval: approval::of(visit, item).await?,
        site,
        may_add_library: home_of.is_some_and(|site| site.rights.has(Right::ManageLibraries)),
        may_add_site: home_of.is_some_and(|site| site.rights.has(Right::ManageSite)),
        home_of,
        item,
    }))
}

/// Shows the home page of a site, if it has one that the caller may read.
pub async fn home(visit: &Visit, way: &[Item], site: &Item) -> Result<Option<Response>> {
    // Who may not open a site sees only what leads to something else.
    if !site.rights.has(Right::View) {
        return Ok(None);
    }
    let home = visit.session.site_home(&Target::Id(site.id)).await?.filter(page_document::is_page);
    let Some(home) = home else { return Ok(None) };
    match show(visit, way, &home, Some(site)).await {
        Ok(page) => Ok(Some(page)),
        Err(fault) => {
            // The site is shown although its home page cannot be.
            tracing::warn!(page = %home.id, "the home page of a site cannot be shown: {}", fault.into_error().report());
            Ok(None)
        }
    }
}

/// Draws the text of a page at a path, as its reader sees it.
pub async fn draw(visit: &Visit, site: &Item, path: &str, text: String) -> Result<DrawnPage> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let origin = visit.origin.clone();
    let parse = move |text: &[u8]| {
        let text = std::str::from_utf8(text);
        let text = text.map_err(|error| Error::corrupt("a text is not UTF-8").with_source(error))?;
        let PageText { title, body, fault } = PageText::parse(text);
        Ok((title, fault, markdown::page(body, &LinkBase { folder: &folder, origin: &origin })))
    };
    let (title, fault, drawn) = request_body::parse_off_thread(text.into_bytes().into(), parse).await?;
    let body = drawn.with_insets(&insets(visit, site, &drawn).await?);
    Ok(DrawnPage { title, body, fault })
}

/// Returns the HTML of the parts and pictures. Equal ones are looked up once. When time is up, the others say so.
async fn insets(visit: &Visit, site: &Item, drawn: &Drawn) -> Result<Vec<String>> {
    let around = Surroundings { visit, site, headings: &drawn.headings };
    let end = Instant::now() + AT_MOST;
    let mut done: HashMap<&Inset, String> = HashMap::new();
    let mut insets = Vec::with_capacity(drawn.insets.len());
    for inset in &drawn.insets {
        if let Some(html) = done.get(inset) {
            insets.push(html.clone());
            continue;
        }
        let html = match inset {
            Inset::Part { kind, text } => match timeout_at(end, parts::draw(&around, kind, text)).await {
                Ok(html) => html,
                Err(_) => parts::late(&visit.page, kind),
            },
            Inset::TooManyParts => parts::too_many(&visit.page),
            Inset::Image { path, description } => match timeout_at(end, image_address(&visit.session, path)).await {
                Ok(Some(address)) => markdown::image(&address, description),
                _ => markdown::missing_image(visit.page.s("page.no-picture"), description),
            },
        };
        done.insert(inset, html.clone());
        insets.push(html);
    }
    Ok(insets)
}

/// Returns the address of a picture that the caller may read.
async fn image_address(session: &Session, path: &str) -> Option<String> {
    let target = Target::Path(model::NodePath::parse(path).ok()?);
    let item = session.item(&target).await.ok()?;
    let is_shown = item.rights.has(Right::View)
        && content_type::shown_as(&item.media_type).is_some_and(|shown| shown.starts_with("image/"));
    is_shown.then(|| format!("/download/{}/{}?show=yes", item.id, segments::encode(&item.name)))
}

/// Returns the site of an item.
pub fn site_of(way: &[Item]) -> Result<&Item> {
    let site = way.iter().rev().find(|item| item.kind == NodeKind::Site);
    site.ok_or_else(|| Error::not_found("there is nothing at this address"))
}

/// Returns the title of a page. One without its own has that of the site as whose home page it is shown, or else the
/// name of the document without its extension.
pub fn title_of(drawn: &DrawnPage, item: &Item, home_of: Option<&Item>) -> String {
    match home_of {
        _ if !drawn.title.is_empty() => drawn.title.clone(),
        Some(site) => site.name.clone(),
        None => item.name.rsplit_once('.').map_or(item.name.as_str(), |(stem, _)| stem).to_owned(),
    }
}
