//! Side bar and breadcrumbs.

use axum::http::Uri;
use model::{Code, Error, ErrorKind, Id, NodeKind, Result, Right};
use repository::{Item, LinkTarget, SearchQuery, Session, SiteLink, SiteLook, Sort, Target};

use super::address;
use super::format::icon;
use super::page::{NavGroup, NavLink, Page, SearchPlace, SideBar, SiteBar, SiteBarLink};
use super::visit::Visit;

/// Limit on libraries and sites in the side bar.
const MAX_LISTED: usize = 50;

/// Limit on pinned places in the side bar.
const MAX_PINNED: usize = 20;

/// A link of the breadcrumbs.
pub struct Crumb {
    /// Target URL.
    pub href: String,
    /// Label of the link.
    pub label: String,
}

/// Returns the breadcrumbs from the root site down to the parent of the last item.
pub fn crumbs(way: &[Item]) -> Vec<Crumb> {
    let above = way.len().saturating_sub(1);
    let crumb = |item: &Item| Crumb { href: address::browse(&item.path), label: item.shown_name().to_owned() };
    way[..above].iter().map(crumb).collect()
}

/// Fills the side bar, as [`side_bar`] describes it.
pub async fn fill_side_bar(visit: &mut Visit, way: &[Item]) -> Result<()> {
    let side_bar = side_bar(visit, way).await?;
    visit.page.set_side_bar(side_bar);
    Ok(())
}

/// Returns the side bar of the current item: its site, the site's libraries and subsites, the recycle bin. `None` if
/// the caller may see no site above the item.
pub async fn side_bar(visit: &Visit, way: &[Item]) -> Result<Option<SideBar>> {
    let Some(site) = way.iter().rev().find(|item| item.kind == NodeKind::Site) else { return Ok(None) };
    let here = way.last().map_or(site.id, |item| if item.library_id.is_none() { item.id } else { item.library_id });
    let ((libraries, lists, sites), look, pinned) = tokio::try_join!(
        inside(&visit.session, site, here),
        look_of(&visit.session, site),
        visit.session.pinned(MAX_PINNED),
    )?;
    let current = way.last().map(|item| item.id);
    let pinned = pinned.into_iter().map(|place| NavLink {
        href: address::browse(&place.path),
        icon: icon("star"),
        current: current == Some(place.id) && here != place.id,
        label: place.name,
        inside: None,
    });
    let pinned = pinned.collect();
    let accent = look.accent.unwrap_or(site.accent);
    let site_bar = site_bar(&visit.session, site, here, look).await?;
    let page = &visit.page;
    let home = NavLink {
        href: "/".to_owned(),
        icon: icon("home"),
        label: page.s("nav.home").to_owned(),
        current: false,
        inside: None,
    };
    let here_is_site = NavLink {
        href: address::browse(&site.path),
        icon: icon("site"),
        label: site.name.clone(),
        current: here == site.id,
        inside: None,
    };
    let activity = NavLink {
        href: format!("/items/{}/activity", site.id),
        icon: icon("history"),
        label: page.s("nav.activity").to_owned(),
        current: false,
        inside: None,
    };
    let mut first = vec![home, here_is_site];
    if site.rights.has(Right::View) {
        first.push(activity);
    }
    // In a subsite, links that concern the whole site collection carry the root site's name.
    let root = way.first().filter(|root| root.id != site.id);
    let (bin, log) = match root {
        Some(root) => (page.f1("nav.bin-of", &root.name), page.f1("nav.audit-of", &root.name)),
        None => (page.s("nav.bin").to_owned(), page.s("nav.audit").to_owned()),
    };
    first.push(NavLink {
        href: format!("/bin/{}", site.collection_id),
        icon: icon("trash"),
        label: bin,
        current: false,
        inside: None,
    });
    if site.rights.has(Right::ManagePermissions) {
        first.push(NavLink {
            href: format!("/items/{}/permissions", site.id),
            icon: icon("group"),
            label: page.s("nav.site-permissions").to_owned(),
            current: false,
            inside: None,
        });
    }
    if way.first().is_some_and(|root| root.rights.has(Right::ManageSite)) {
        first.push(NavLink {
            href: format!("/audit/{}", site.collection_id),
            icon: icon("clock"),
            label: log,
            current: false,
            inside: None,
        });
    }
    if site.rights.has(Right::ManageSite) {
        first.push(NavLink {
            href: format!("/items/{}/site-settings", site.id),
            icon: icon("sliders"),
            label: page.s("site.settings").to_owned(),
            current: false,
            inside: None,
        });
    }
    let mut groups: Vec<NavGroup> = vec![NavGroup { title: String::new(), links: first }];
    for (title, links) in [
        (page.s("pin.title"), pinned),
        (page.s("nav.libraries"), libraries),
        (page.s("nav.lists"), lists),
        (page.s("nav.sites"), sites),
    ] {
        if !links.is_empty() {
            groups.push(NavGroup { title: title.to_owned(), links });
        }
    }
    Ok(Some(SideBar { accent, site_bar, nav: groups }))
}

/// Returns how a site looks. A caller who may not open it sees the look of its site collection.
async fn look_of(session: &Session, site: &Item) -> Result<SiteLook> {
    match session.site_look(&Target::Id(site.id)).await {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(SiteLook::default()),
        look => look,
    }
}

/// Returns the bar of a site, without links to pages of this server that the caller may not know of.
async fn site_bar(session: &Session, site: &Item, here: Id, look: SiteLook) -> Result<Option<SiteBar>> {
    let mut links = Vec::with_capacity(look.links.len());
    for SiteLink { label, target } in look.links {
        let (href, current) = match target {
            LinkTarget::Item { id, path } => (address::browse(&path), id == here),
            LinkTarget::Address(link) if may_show(session, &link).await => (link, false),
            LinkTarget::Address(_) => continue,
        };
        links.push(SiteBarLink { href, label, current });
    }
    let logo = look.logo.map(|mark| format!("/items/{}/logo?mark={mark}", site.id)).unwrap_or_default();
    if links.is_empty() && logo.is_empty() {
        return Ok(None);
    }
    Ok(Some(SiteBar { title: site.name.clone(), href: address::browse(&site.path), logo, links }))
}

/// Returns whether a link leads to something that the caller may know of, as far as its address tells.
async fn may_show(session: &Session, link: &str) -> bool {
    if link != "/browse" && !link.starts_with("/browse/") {
        return true;
    }
    let Ok(uri) = link.parse::<Uri>() else { return false };
    let Ok(target) = address::target(&uri) else { return false };
    match session.item(&target).await {
        Ok(_) => true,
        Err(error) => {
            // A page is shown although something to which it links is on a database that is away.
            if error.kind() != ErrorKind::NotFound {
                tracing::warn!(
                    error = error.report(),
                    "a link of a site is left out, because its target cannot be read"
                );
            }
            false
        }
    }
}

/// Sets the place in which the page's search box offers to search: the item, or the parent of a document. The root
/// site contains everything, so it is none, and neither is a place whose path cannot be a filter. Lists contain no
/// documents but attachments, so the place is the site of a list.
pub fn set_search_place(page: &mut Page, way: &[Item]) {
    let place = way.iter().rev().find(|item| item.kind.is_container());
    let place = place.filter(|item| !item.path.is_empty());
    page.search_place = place.and_then(|item| {
        let value = SearchQuery::quoted(&item.path);
        let is_whole = value.trim_matches('"') == item.path;
        is_whole.then(|| SearchPlace { name: item.name.clone(), filter: format!("in:{value}") })
    });
}

/// Returns the links to the libraries, lists and sites in a site.
pub async fn inside(session: &Session, site: &Item, here: Id) -> Result<(Vec<NavLink>, Vec<NavLink>, Vec<NavLink>)> {
    let (_, listed) = session.list(&Target::Id(site.id), Sort::Name, false, None, MAX_LISTED).await?;
    let link = |item: &Item| NavLink {
        href: address::browse(&item.path),
        icon: icon(match item.kind {
            NodeKind::Site => "site",
            NodeKind::List => "list",
            _ => "library",
        }),
        label: item.name.clone(),
        current: item.id == here,
        inside: (item.kind == NodeKind::Site).then_some(item.id),
    };
    let links = |kind: NodeKind| listed.items.iter().filter(move |item| item.kind == kind).map(link);
    let mut sites: Vec<NavLink> = links(NodeKind::Site).collect();
    if site.path.is_empty() {
        for other in session.sites(MAX_LISTED).await?.iter().filter(|other| !other.path.is_empty()) {
            let (href, label) = (address::browse(&other.path), other.title.clone());
            sites.push(NavLink { href, icon: icon("site"), label, current: false, inside: Some(other.id) });
        }
    }
    Ok((links(NodeKind::Library).collect(), links(NodeKind::List).collect(), sites))
}

/// Highlights the link with this URL in the side bar.
pub fn mark_current(page: &mut Page, here: &str) {
    for link in page.nav.iter_mut().flat_map(|group| group.links.iter_mut()) {
        link.current = link.href == here;
    }
}

/// Fills the side bar of the farm administration. Refuses callers who are not farm administrators.
pub fn fill_farm_side_bar(page: &mut Page, current: &str) -> Result<()> {
    if !page.who.as_ref().is_some_and(|who| who.administrator) {
        let error = Error::forbidden("these pages are for administrators of the farm");
        return Err(error.with_code(Code::AdministratorsOnly));
    }
    let link = |href: &str, picture: &'static str, label: &'static str| NavLink {
        href: href.to_owned(),
        icon: icon(picture),
        label: label.to_owned(),
        current: href == current,
        inside: None,
    };
    let links = vec![
        link("/farm", "shield", page.s("farm.overview")),
        link("/farm/figures", "chart", page.s("nav.figures")),
        link("/farm/audit", "clock", page.s("nav.farm-audit")),
        link("/farm/backups", "database", page.s("backup.title")),
        link("/farm/users", "user", page.s("farm.users")),
        link("/farm/groups", "group", page.s("farm.groups")),
        link("/farm/roles", "key", page.s("farm.roles")),
        link("/farm/templates", "copy", page.s("template.all")),
    ];
    let storage = vec![
        link("/farm/stores", "database", page.s("nav.stores")),
        link("/farm/policies", "sliders", page.s("nav.policies")),
        link("/farm/jobs", "history", page.s("nav.jobs")),
        link("/farm/search", "search", page.s("nav.search-indexes")),
        link("/farm/reclaim", "trash", page.s("nav.reclaim")),
        link("/farm/faults", "alert", page.s("nav.faults")),
    ];
    let back = link("/", "home", page.s("nav.home"));
    page.nav = vec![
        NavGroup { title: String::new(), links: vec![back] },
        NavGroup { title: page.s("nav.farm").to_owned(), links },
        NavGroup { title: page.s("nav.storage").to_owned(), links: storage },
    ];
    Ok(())
}

/// Fills the side bar of the account pages.
pub fn furnish_account(page: &mut Page) {
    let link = |href: &str, picture: &'static str, label: &'static str, current| NavLink {
        href: href.into(),
        icon: icon(picture),
        label: label.into(),
        current,
        inside: None,
    };
    let links =
        vec![link("/", "home", page.s("nav.home"), false), link("/account", "user", page.s("nav.account"), true)];
    page.nav = vec![NavGroup { title: String::new(), links }];
}
