//! Settings of a site: its title and colour, its libraries and subsites, its usage and quota, and links to its other
//! rules.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Accent, Error, NodeKind, Right, Versioning};
use repository::{Item, SiteCollection, SiteLook, Sort, Target};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::Choice;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, item};

use super::look::EditedLink;

/// Limit on libraries and subsites listed with their settings.
const MAX_LISTED: usize = 100;

struct Library {
    item: Item,
    href: String,
    versions: &'static str,
    check_out: bool,
    own_permissions: bool,
}

#[derive(Template)]
#[template(path = "site-settings.html")]
struct Settings<'a> {
    page: &'a Page,
    item: &'a Item,
    crumbs: Vec<Crumb>,
    /// The site collection. Set on the root site only: the subsites share its look and quota.
    collection: Option<SiteCollection>,
    title: String,
    accents: [Accent; 8],
    libraries: Vec<Library>,
    sites: Vec<Crumb>,
    percent: Option<u64>,
    links: String,
    /// The root site, which has the settings of the whole site collection. `None` on its own page.
    whole: Option<Crumb>,
    administers: bool,
    look: SiteLook,
    /// The page with which the site opens.
    home: Option<Crumb>,
    edited: Vec<EditedLink>,
    /// Parts of the site that can be added to its links.
    parts: Vec<Choice>,
    /// Set if the caller may save templates.
    keeps_templates: bool,
}

/// Query parameters of the page.
#[derive(Default, Deserialize)]
pub struct Moved {
    /// The button that moved a link last, such as `up-3`, which keeps the focus.
    #[serde(default)]
    moved: String,
}

/// The page.
pub async fn show(mut visit: Visit, Path(id): Path<String>, Query(Moved { moved }): Query<Moved>) -> PageResult {
    let target = Target::Id(id.parse()?);
    let way = visit.session.item_with_ancestors(&target).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is no such site"))?;
    item::require(item, Right::ManageSite)?;
    if item.kind != NodeKind::Site {
        return Err(Error::not_found("this is not a site").into());
    }
    let (_, listed) = visit.session.list(&target, Sort::Name, false, None, MAX_LISTED).await?;
    let look = visit.session.site_look(&target).await?;
    let home = visit.session.site_home(&target).await?;
    let parts = listed.items.iter().map(|item| Choice::new(item.id.to_string(), item.name.as_str(), false)).collect();
    let (mut libraries, mut sites) = (Vec::new(), Vec::new());
    for below in listed.items {
        let href = address::browse(&below.path);
        if below.kind == NodeKind::Site {
            sites.push(Crumb { href, label: below.name });
            continue;
        }
        let settings = visit.session.library_settings(&Target::Id(below.id)).await?;
        let versions = match settings.versioning {
            Versioning::Major => visit.page.s("library.major"),
            Versioning::MajorMinor => visit.page.s("library.major-minor"),
            Versioning::None => visit.page.s("library.none"),
        };
        let own_permissions = below.own_permissions;
        libraries.push(Library { item: below, href, versions, check_out: settings.require_checkout, own_permissions });
    }
    let root = item.id == item.collection_id;
    let collection = if root { Some(visit.session.site_collection(item.id).await?) } else { None };
    let usage = collection.as_ref().and_then(|collection| collection.usage.as_ref());
    let percent = usage.and_then(|usage| {
        let quota = usage.quota_bytes.filter(|quota| *quota > 0)?;
        Some((usage.used_bytes / (quota / 100).max(1)).min(100))
    });
    let rule = visit.session.link_rule(&target).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    navigation::mark_current(&mut visit.page, &format!("/items/{}/site-settings", item.id));
    let page = &visit.page;
    let mut crumbs = navigation::crumbs(&way);
    crumbs.push(Crumb { href: address::browse(&item.path), label: item.name.clone() });
    let links = rule.map_or_else(|| page.s("site.no-links").to_owned(), |rule| page.n("site.links", rule.most_days));
    Ok(html(&Settings {
        page,
        item,
        crumbs,
        title: collection.as_ref().map(|collection| collection.title.clone()).unwrap_or_default(),
        collection,
        accents: Accent::ALL,
        libraries,
        sites,
        percent,
        links,
        whole: way.first().filter(|_| !root).map(|root| Crumb {
            href: if root.rights.has(Right::ManageSite) {
                format!("/items/{}/site-settings", root.id)
            } else {
                address::browse(&root.path)
            },
            label: root.name.clone(),
        }),
        administers: visit.session.principal().farm_administrator,
        edited: look.links.iter().enumerate().map(|(index, link)| EditedLink::of(link, index, &moved)).collect(),
        look,
        home: home.map(|home| Crumb { href: address::browse(&home.path), label: home.name }),
        parts,
        keeps_templates: way.first().is_some_and(|root| root.rights.has(Right::ManageSite)),
    }))
}

/// Changes the title and the colour.
pub async fn save(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let accent = Accent::parse(&sent.fields.text("accent"))?;
    let title = sent.fields.trimmed("title");
    sent.visit.session.set_appearance(id.parse()?, Some(&title), Some(accent)).await?;
    Ok(done(&format!("/items/{id}/site-settings"), &Flash::new("toast.saved", title)))
}
