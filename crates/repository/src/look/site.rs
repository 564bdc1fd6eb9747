//! Reading and changing how a site looks.

use async_recursion::async_recursion as boxed;
use database::content::{collection, node, site};
use database::{Reader, Transaction};
use model::{Accent, Code, Error, ErrorKind, Id, NodeKind, Result, Right, SmallImage};

use super::links::{MAX_LABEL, MAX_LINKS, check_link};
use super::options::{NavigationEntry, NavigationTarget, SiteOptions};
use crate::session::errors::no_item;
use crate::session::guard::{Checked, Guard};
use crate::session::known::Viewed;
use crate::session::target::join;
use crate::{Session, Target};

/// How a site looks to the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteLook {
    /// Colour of its pages; `None` for that of the site collection.
    pub accent: Option<Accent>,
    /// Links above its pages, without those to items that the caller may not know of.
    pub links: Vec<SiteLink>,
    /// Changes with every new logo; `None` for a site without one.
    pub logo: Option<Id>,
    /// Name of the template that the site was made from; empty if it was made from none.
    pub template: String,
}

/// A link above the pages of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteLink {
    /// What it says. As input, empty for the name of an item.
    pub label: String,
    /// Its target.
    pub target: LinkTarget,
}

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// An item in the site.
    Item {
        /// Identifier.
        id: Id,
        /// Path in the farm; ignored in a change.
        path: String,
    },
    /// An address of this server, or of another one.
    Address(String),
}

/// A change to how a site looks. Absent fields stay as they are.
#[derive(Clone, Debug, Default)]
pub struct SiteLookChange {
    /// The new colour; `Some(None)` for that of the site collection.
    pub accent: Option<Option<Accent>>,
    /// The new links, in order.
    pub links: Option<Vec<SiteLink>>,
    /// The new logo; `Some(None)` removes it.
    pub logo: Option<Option<SmallImage>>,
    /// The document that the site opens with; `Some(None)` for its contents.
    pub home: Option<Option<Id>>,
}

impl Session {
    /// Returns how a site looks. Links to items that the caller may not know of are left out.
    ///
    /// # Errors
    /// `NotFound` for an item that is not a site or that the caller may not open.
    #[boxed]
    pub async fn site_look(&self, target: &Target) -> Result<SiteLook> {
        let read = |reader: &mut Reader<'_>, located: &Viewed| {
            if located.node().kind != NodeKind::Site {
                return Err(no_item());
            }
            let row = site::find(reader, located.node().id)?;
            let options = SiteOptions::of(row.as_ref())?;
            let ids: Vec<Id> = items_of(&options.navigation).collect();
            let inside = if ids.is_empty() { Vec::new() } else { node::find_many(reader, &ids)? };
            // Items that are directly in the site are there for everyone who may know of them.
            let inside = inside.into_iter().filter(|row| row.parent_id == located.node().id && located.may_know(row));
            let inside: Vec<_> = inside.map(|row| (row.id, join(&located.path(), &row.name), row.name)).collect();
            Ok((options, row.unwrap_or_default().template, inside))
        };
        let (options, template, inside) = self.view(target, read).await?.1;
        let mut links = Vec::with_capacity(options.navigation.len());
        for NavigationEntry { target, label } in options.navigation {
            let found = match target {
                NavigationTarget::Address(address) => Some((LinkTarget::Address(address), String::new())),
                NavigationTarget::Item(id) => match inside.iter().find(|(known, ..)| *known == id) {
                    Some((id, path, name)) => Some((LinkTarget::Item { id: *id, path: path.clone() }, name.clone())),
                    None => self.moved_item(id).await,
                },
            };
            if let Some((target, name)) = found {
                links.push(SiteLink { label: if label.is_empty() { name } else { label }, target });
            }
        }
        Ok(SiteLook { accent: options.accent, links, logo: options.logo, template })
    }

    /// Finds an item of the navigation that is not directly in its site.
    async fn moved_item(&self, id: Id) -> Option<(LinkTarget, String)> {
        match self.item(&id.into()).await {
            Ok(item) => {
                let name = item.shown_name().to_owned();
                Some((LinkTarget::Item { id, path: item.path }, name))
            }
            Err(error) => {
                // Of an item that is gone for good, every database is asked, and one of them may be away.
                if error.kind() != ErrorKind::NotFound {
                    tracing::warn!(
                        error = error.report(),
                        "a link of a site is left out, because its item cannot be read"
                    );
                }
                None
            }
        }
    }

    /// Changes how a site looks, all or nothing.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` unless the caller manages the site; `Conflict` with code `wrong_kind`; `Invalid` for a
    /// link that leads nowhere or has no label. Of a home page: `NotFound`, and `Conflict` with code `wrong_kind` or
    /// `other_collection`.
    #[boxed]
    pub async fn change_site_look(&self, target: &Target, change: SiteLookChange) -> Result<()> {
        let located = self.locate(target).await?.to(Right::ManageSite)?;
        located.require_kind(NodeKind::Site)?;
        // A site without options has no row that could be locked.
        let guard = self.guard([&located])?.exclusive();
        let links = match &change.links {
            Some(links) => Some((self.entries(located.collection.id, links).await?, self.visible_items(target).await?)),
            None => None,
        };
        if let Some(Some(home)) = change.home {
            self.require_home(located.collection.id, home).await?;
        }
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            let mut row = site::lock(transaction, id)?.unwrap_or_default();
            let mut options =
                if row.options.is_empty() { SiteOptions::default() } else { SiteOptions::of(Some(&row))? };
            if let Some(accent) = change.accent {
                options.accent = accent;
                guard.record(
                    transaction,
                    id,
                    "site.look",
                    format!("{path}, {}", accent.map_or("-", Accent::as_str)),
                )?;
            }
            if let Some((links, visible)) = &links {
                let kept = hidden(transaction, std::mem::take(&mut options.navigation), visible)?;
                options.navigation = [links.as_slice(), &kept].concat();
                guard.record(transaction, id, "site.navigation", path.as_str())?;
            }
            match &change.logo {
                Some(Some(logo)) => {
                    site::put_logo(transaction, id, &logo.media_type, &logo.bytes)?;
                    options.logo = Some(guard.next_id());
                }
                Some(None) => {
                    site::delete_logo(transaction, id)?;
                    options.logo = None;
                }
                None => {}
            }
            if change.logo.is_some() {
                guard.record(transaction, id, "site.logo", path.as_str())?;
            }
            if let Some(home) = change.home {
                options.home = home;
                guard.record(transaction, id, "site.home", path.as_str())?;
            }
            row.options = options.to_text()?;
            site::put(transaction, id, &row)?;
            collection::change_tree(transaction, guard.collection())
        };
        guard.write(write).await
    }

    /// Returns the logo of a site.
    ///
    /// # Errors
    /// `NotFound`, also for a site without one.
    #[boxed]
    pub async fn site_logo(&self, target: &Target) -> Result<SmallImage> {
        let read = |reader: &mut Reader<'_>, located: &Viewed| site::logo(reader, located.node().id);
        let (media_type, bytes) = self.view(target, read).await?.1.ok_or_else(no_item)?;
        Ok(SmallImage { media_type, bytes })
    }

    /// Returns the items of the navigation that the caller may know of.
    async fn visible_items(&self, site: &Target) -> Result<Vec<Id>> {
        let links = self.site_look(site).await?.links.into_iter();
        let items = links.filter_map(|link| match link.target {
            LinkTarget::Item { id, .. } => Some(id),
            LinkTarget::Address(_) => None,
        });
        Ok(items.collect())
    }

    /// Checks links and returns their stored form.
    async fn entries(&self, collection: Id, links: &[SiteLink]) -> Result<Vec<NavigationEntry>> {
        if links.len() > MAX_LINKS {
            return Err(Error::invalid(format!("a site has at most {MAX_LINKS} links")).with_code(Code::TooMany));
        }
        let mut entries = Vec::with_capacity(links.len());
        for link in links {
            let mut label = link.label.trim();
            if label.chars().count() > MAX_LABEL || label.chars().any(char::is_control) {
                let text = format!("a link is called by at most {MAX_LABEL} characters in one line");
                return Err(Error::invalid(text).with_code(Code::InvalidLink));
            }
            let target = match &link.target {
                LinkTarget::Item { id, .. } => {
                    let found = self.item(&(*id).into()).await?;
                    if found.collection_id != collection {
                        return Err(Error::conflict(format!("\"{}\" is in another site collection", found.name))
                            .with_code(Code::OtherCollection));
                    }
                    // A link that is called like its item is still so when the item is renamed.
                    if label == found.shown_name() {
                        label = "";
                    }
                    NavigationTarget::Item(*id)
                }
                LinkTarget::Address(address) => {
                    check_link(address).map_err(|why| Error::invalid(why).with_code(Code::InvalidLink))?;
                    if label.is_empty() {
                        return Err(Error::invalid("a link to an address needs a label").with_code(Code::InvalidLink));
                    }
                    NavigationTarget::Address(address.clone())
                }
            };
            entries.push(NavigationEntry { target, label: label.to_owned() });
        }
        Ok(entries)
    }
}

/// Returns the entries that were not offered to the caller, who may not know of their items. Those of items that are
/// gone for good go, too.
fn hidden(reader: &mut Reader<'_>, before: Vec<NavigationEntry>, visible: &[Id]) -> Result<Vec<NavigationEntry>> {
    let there = node::find_many(reader, &items_of(&before).collect::<Vec<_>>())?;
    let is_hidden = |entry: &NavigationEntry| match entry.target {
        NavigationTarget::Item(id) => !visible.contains(&id) && there.iter().any(|row| row.id == id),
        NavigationTarget::Address(_) => false,
    };
    Ok(before.into_iter().filter(is_hidden).take(MAX_LINKS).collect())
}

fn items_of(navigation: &[NavigationEntry]) -> impl Iterator<Item = Id> {
    navigation.iter().filter_map(|entry| match entry.target {
        NavigationTarget::Item(id) => Some(id),
        NavigationTarget::Address(_) => None,
    })
}
