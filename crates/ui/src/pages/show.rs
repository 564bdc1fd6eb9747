//! A page as its readers see it.

use std::collections::HashMap;
use std::time::Duration;

use askama::Template;
use axum::response::Response;
use futures_util::{FutureExt, StreamExt, stream};
use model::{Error, Id, NodeKind, Result, Right};
use repository::{Item, Session, Target};
use tokio::time::{Instant, timeout_at};

use super::link::LinkBase;
use super::markdown::{self, Drawn, Inset};
use super::page_document::{self, Source};
use super::parts::{self, Surroundings};
use super::text::PageText;
use crate::document::approval::{self, Approval};
use crate::frame::address;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use crate::wording::names;
use http_core::protocol::{content_type, segments};
use http_core::server::request_body;

/// Limit on the time for all parts and pictures of a page.
const AT_MOST: Duration = Duration::from_secs(3);
/// Limit on the parts and pictures of a page that are looked up at the same time.
const MAX_AT_ONCE: usize = 4;

/// A page, drawn for its reader.
pub struct DrawnPage {
    /// Title; empty for none.
    pub title: String,
    /// Safe HTML.
    pub body: String,
    /// The reason why the front matter cannot be read; empty if it can.
    pub fault: String,
    /// The pictures that are drafts: others do not see them as the caller does.
    pub draft_pictures: Vec<DraftPicture>,
}

/// A picture whose newest version is not published.
pub struct DraftPicture {
    id: Id,
    name: String,
    href: String,
    /// True if the caller might publish it.
    may_publish: bool,
}

impl DraftPicture {
    fn may_publish(&self) -> bool {
        self.may_publish
    }
}

/// The HTML of a part or picture.
struct DrawnInset {
    html: String,
    draft: Option<DraftPicture>,
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
    draft_pictures: Vec<DraftPicture>,
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

/// Contents of a page, apart from the frame around it.
pub struct Contents {
    item: Item,
    site: Item,
    drawn: DrawnPage,
    modified_by: String,
    held_by: Option<String>,
    may: Actions,
    approval: Approval,
}

/// Reads a page that has already been found. `home_of` is the site whose home page it is shown as.
pub async fn read(visit: &Visit, way: &[Item], item: &Item, home_of: Option<&Item>) -> Result<Contents> {
    let session = &visit.session;
    let site = async {
        match home_of {
            None => site_of(way).cloned(),
            // A home page can be in another site, where its parts begin.
            Some(_) => site_of(&session.item_with_ancestors(&Target::Id(item.id)).await?).cloned(),
        }
    };
    let (Source { content, text, .. }, site) = tokio::try_join!(page_document::read(session, item), site)?;
    // The document may have changed since it was found.
    let item = content.item;
    let target = Target::Id(item.id);
    let mut people = vec![item.modified_by];
    people.extend(item.check_out.map(|held| held.by));
    let requires_checkout =
        async { Ok(item.rights.has(Right::Edit) && session.library_settings(&target).await?.require_checkout) };
    let (drawn, names, must_check_out, approval) = tokio::try_join!(
        draw(visit, &site, &item.path, text, item.rights.has(Right::Edit)),
        session.principal_names(&people),
        requires_checkout,
        approval::of(visit, &item),
    )?;
    let is_mine = item.check_out.is_some_and(|held| held.by == session.principal().id);
    let is_free = is_mine || (item.check_out.is_none() && !must_check_out);
    let may = Actions {
        edit: item.rights.has(Right::Edit) && is_free,
        must_check_out,
        check_out: item.rights.has(Right::Edit) && item.check_out.is_none(),
        see_versions: item.rights.has(Right::ViewVersions),
        check_in: is_mine && item.rights.has(Right::Edit),
        make_home: home_of.is_none() && site.rights.has(Right::ManageSite),
    };
    Ok(Contents {
        modified_by: names::name_of(&names, item.modified_by),
        held_by: item.check_out.filter(|_| !is_mine).map(|held| names::name_of(&names, held.by)),
        item,
        site,
        drawn,
        may,
        approval,
    })
}

/// Returns a page with its contents. `home_of` is the site whose home page it is shown as.
pub fn page(visit: &Visit, way: &[Item], contents: Contents, home_of: Option<&Item>) -> Response {
    let Contents { item, site, drawn, modified_by, held_by, may, approval } = contents;
    html(&PageView {
        page: &visit.page,
        title: title_of(&drawn, &item, home_of),
        crumbs: navigation::crumbs(way),
        body: drawn.body,
        fault: drawn.fault,
        draft_pictures: drawn.draft_pictures,
        modified_by,
        held_by,
        may,
        approval,
        site: &site,
        may_add_library: home_of.is_some_and(|site| site.rights.has(Right::ManageLibraries)),
        may_add_site: home_of.is_some_and(|site| site.rights.has(Right::ManageSite)),
        home_of,
        item: &item,
    })
}

/// Reads the home page of a site, if it has one that the caller may read.
pub async fn read_home(visit: &Visit, site: &Item) -> Result<Option<Contents>> {
    // Who may not open a site sees only what leads to something else.
    if !site.rights.has(Right::View) {
        return Ok(None);
    }
    let home = visit.session.site_home(&Target::Id(site.id)).await?.filter(page_document::is_page);
    let Some(home) = home else { return Ok(None) };
    match read(visit, &[], &home, Some(site)).await {
        Ok(contents) => Ok(Some(contents)),
        Err(error) => {
            // The site is shown although its home page cannot be.
            tracing::warn!(page = %home.id, "the home page of a site cannot be shown: {}", error.report());
            Ok(None)
        }
    }
}

/// Draws the text of a page at a path, as its reader sees it. An author is told what is wrong with it.
pub async fn draw(visit: &Visit, site: &Item, path: &str, text: String, is_author: bool) -> Result<DrawnPage> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let origin = visit.origin.clone();
    let parse = move |text: &[u8]| {
        let text = std::str::from_utf8(text);
        let text = text.map_err(|error| Error::corrupt("a text is not UTF-8").with_source(error))?;
        let PageText { title, body, fault } = PageText::parse(text);
        Ok((title, fault, markdown::page(body, &LinkBase { folder: &folder, origin: &origin })))
    };
    let (title, fault, drawn) = request_body::parse_off_thread(text.into_bytes().into(), parse).await?;
    let (html, draft_pictures) = insets(visit, site, &drawn, is_author).await;
    Ok(DrawnPage { title, body: drawn.with_insets(&html), fault, draft_pictures })
}

/// Returns the HTML of the parts and pictures, and which pictures are drafts. Equal ones are looked up once, several at
/// a time. When time is up, the others say so.
async fn insets(visit: &Visit, site: &Item, drawn: &Drawn, is_author: bool) -> (Vec<String>, Vec<DraftPicture>) {
    let around = Surroundings { visit, site, headings: &drawn.headings, is_author };
    let end = Instant::now() + AT_MOST;
    let (mut places, mut different) = (HashMap::new(), Vec::new());
    let place_of = |inset| {
        *places.entry(inset).or_insert_with(|| {
            different.push(inset);
            different.len() - 1
        })
    };
    let order: Vec<usize> = drawn.insets.iter().map(place_of).collect();
    let insets = different.into_iter().map(|inset| draw_inset(&around, end, inset).boxed()).collect::<Vec<_>>();
    let insets: Vec<DrawnInset> = stream::iter(insets).buffered(MAX_AT_ONCE).collect().await;
    let html = order.into_iter().map(|place| insets[place].html.clone()).collect();
    let mut drafts: Vec<DraftPicture> = Vec::new();
    for draft in insets.into_iter().filter_map(|inset| inset.draft) {
        // A picture can stand in several places, with different descriptions.
        if drafts.iter().all(|known| known.href != draft.href) {
            drafts.push(draft);
        }
    }
    (html, drafts)
}

/// Returns a part or picture, or what stands for it when time is up.
async fn draw_inset(around: &Surroundings<'_>, end: Instant, inset: &Inset) -> DrawnInset {
    let visit = around.visit;
    let html = match inset {
        Inset::Part { kind, text } => match timeout_at(end, parts::draw(around, kind, text)).await {
            Ok(html) => html,
            Err(_) => parts::late(&visit.page, kind),
        },
        Inset::TooManyParts => parts::too_many(&visit.page),
        Inset::Image { path, description } => match timeout_at(end, picture(&visit.session, path)).await {
            Ok(Some(item)) => {
                let address = format!("/download/{}/{}?show=yes", item.id, segments::encode(&item.name));
                let href = address::browse(&item.path);
                let may_publish = item.rights.has(Right::Publish);
                let draft = DraftPicture { id: item.id, name: item.name, href, may_publish };
                let draft = (!item.version.is_major()).then_some(draft);
                return DrawnInset { html: markdown::image(&address, description), draft };
            }
            _ => markdown::missing_image(visit.page.s("page.no-picture"), description),
        },
    };
    DrawnInset { html, draft: None }
}

/// Returns a picture that the caller may read.
async fn picture(session: &Session, path: &str) -> Option<Item> {
    let target = Target::Path(model::NodePath::parse(path).ok()?);
    let item = session.item(&target).await.ok()?;
    let is_shown = item.rights.has(Right::View)
        && content_type::shown_as(&item.media_type).is_some_and(|shown| shown.starts_with("image/"));
    is_shown.then_some(item)
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
