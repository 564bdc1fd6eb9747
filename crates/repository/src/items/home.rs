//! The start page: documents that changed last, the caller's checked-out documents and drafts, and the sites that the
//! caller knows. The cost is bounded whatever the size of the farm.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node::{self, NodeRow};
use database::content::search::{self, NEWEST, OLDEST, Position, SearchTerms};
use database::content::{followed, library, scope, submission};
use model::{Id, LibrarySettings, NodeKind, Result, Right, Timestamp, fold, is_application_file};

use crate::items::item::Item;
use crate::{Session, UnavailableDatabases};

use super::caller_view::CallerView;

/// Number of documents of a content database, the newest, that are examined before the first check of the time. They
/// suffice for a caller who may open most of them.
const FIRST: usize = 200;
/// Number of further documents examined between two checks of the time.
const NEW: usize = 2_000;
/// Time after which no further documents are examined.
const TIME: Duration = Duration::from_millis(20);
/// Limit on the subsites with grants of their own that are looked at.
const MAX_SUBSITES: usize = 500;
/// Rows read by one statement.
const BATCH: usize = 50;

/// A site collection that the caller may know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownSite {
    /// Identifier; the same as that of its root site.
    pub id: Id,
    /// Its address below the farm; empty for the root.
    pub path: String,
    /// Its title.
    pub title: String,
}

/// A site, library, list or folder that the caller pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPlace {
    /// Identifier.
    pub id: Id,
    /// Kind.
    pub kind: NodeKind,
    /// Path in the farm; empty for the root.
    pub path: String,
    /// Name.
    pub name: String,
}

/// Contents of the caller's start page.
#[derive(Clone, Debug, Default)]
pub struct Home {
    /// Documents that the caller may open, most recently changed first.
    pub recent: Vec<Item>,
    /// Documents that the caller has checked out.
    pub checked_out: Vec<Item>,
    /// Documents whose latest version is the caller's draft, newest first.
    pub drafts: Vec<Item>,
    /// Documents whose draft waits for the caller's approval, those that have waited longest first.
    pub waiting: Vec<Item>,
    /// Documents that the caller follows, most recently changed first.
    pub followed: Vec<Item>,
    /// Site collections that the caller may know of: the root first, then by title.
    pub sites: Vec<KnownSite>,
    /// Subsites that the caller may open although not the site above them, by title.
    pub subsites: Vec<KnownSite>,
    /// Content databases whose contents are missing here.
    pub missing: UnavailableDatabases,
}

impl Session {
    /// Returns the contents of the caller's start page; at most `limit` entries of each kind.
    #[boxed]
    pub async fn home(&self, limit: usize) -> Result<Home> {
        self.gather(limit, true).await
    }

    /// Returns the site collections that the caller may know of: the root first, then by title; at most `limit`.
    #[boxed]
    pub async fn sites(&self, limit: usize) -> Result<Vec<KnownSite>> {
        Ok(self.home_of_sites(limit).await?.sites)
    }

    /// Returns the site collections as [`Session::sites`] does, and the content databases that are missing; no
    /// documents.
    #[boxed]
    pub async fn home_of_sites(&self, limit: usize) -> Result<Home> {
        self.gather(limit, false).await
    }

    /// Returns the sites, libraries, lists and folders that the caller pinned and may know of, by name, at most
    /// `limit`. Those in a content database that is away or cannot be read are missing without notice.
    #[boxed]
    pub async fn pinned(&self, limit: usize) -> Result<Vec<KnownPlace>> {
        let registry = self.registry().await?;
        let me = self.principal.id;
        let mut all: Vec<KnownPlace> = Vec::new();
        for content in &registry.databases {
            let view = CallerView::of(self, &registry, content);
            let look = move |reader: &mut Reader<'_>| {
                let mut places = Vec::new();
                for id in followed::places(reader, me)? {
                    if places.len() == limit {
                        break;
                    }
                    places.extend(view.locate(reader, id)?.map(|located| {
                        let (node, path) = (located.node(), located.path());
                        KnownPlace { id, kind: node.kind, path, name: node.name.clone() }
                    }));
                }
                Ok(places)
            };
            match content.database.read(look).await {
                Ok(mut part) => all.append(&mut part),
                Err(error) => drop(content.name_if_database_error(error)?),
            }
        }
        all.sort_by_cached_key(|place| (fold(&place.name), place.id));
        all.truncate(limit);
        Ok(all)
    }

    async fn gather(&self, limit: usize, documents: bool) -> Result<Home> {
        self.repository.inner.activity.note();
        let registry = self.registry().await?;
        let mut home = Home { missing: self.missing(registry.away()), ..Home::default() };
        for content in &registry.databases {
            let eyes = CallerView::of(self, &registry, content);
            let visit = move |reader: &mut Reader<'_>| Visit { eyes, limit }.all(reader, documents);
            let mut part = match content.database.read_long(visit).await {
                Ok(part) => part,
                Err(error) => {
                    home.missing.add(content.name_if_database_error(error)?);
                    continue;
                }
            };
            home.recent.append(&mut part.recent);
            home.checked_out.append(&mut part.checked_out);
            home.drafts.append(&mut part.drafts);
            home.waiting.append(&mut part.waiting);
            home.followed.append(&mut part.followed);
            home.sites.append(&mut part.sites);
            home.subsites.append(&mut part.subsites);
        }
        for items in [&mut home.recent, &mut home.checked_out, &mut home.drafts, &mut home.followed] {
            items.sort_by_key(|item| Reverse((item.modified_at, item.id)));
            items.truncate(limit);
        }
        home.waiting.truncate(limit);
        for sites in [&mut home.sites, &mut home.subsites] {
            sort(sites);
            sites.truncate(limit);
        }
        Ok(home)
    }
}

fn sort(sites: &mut [KnownSite]) {
    sites.sort_by_cached_key(|site| (!site.path.is_empty(), fold(&site.title), site.id));
}

struct Visit {
    eyes: CallerView,
    limit: usize,
}

impl Visit {
    fn all(mut self, reader: &mut Reader<'_>, documents: bool) -> Result<Home> {
        let mut home = Home { sites: self.sites(reader)?, subsites: self.subsites(reader)?, ..Home::default() };
        if documents {
            let me = self.eyes.finder.principal.id;
            let oldest = search::position_after(reader, NEWEST, FIRST)?;
            home.recent = self.recent(reader, oldest)?;
            let held = node::held_by(reader, me, Id::NONE, self.limit)?;
            home.checked_out = self.show(reader, &held)?;
            let drafts = search::drafts(reader, me, self.limit)?;
            home.drafts = self.show(reader, &drafts)?;
            home.waiting = self.waiting(reader)?;
            let follows = followed::list(reader, me, self.limit)?;
            home.followed = self.show(reader, &follows)?;
        }
        Ok(home)
    }

    fn show(&mut self, reader: &mut Reader<'_>, rows: &[NodeRow]) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for row in rows {
            items.extend(self.eyes.show(reader, row)?);
        }
        Ok(items)
    }

    /// Returns documents that wait for the caller's approval. Continues beyond the first ones only while there is time.
    fn waiting(&mut self, reader: &mut Reader<'_>) -> Result<Vec<Item>> {
        let end = Instant::now() + TIME;
        let (mut items, mut after) = (Vec::new(), (Timestamp::from_micros(0), Id::NONE));
        let mut known: HashMap<Id, Option<LibrarySettings>> = HashMap::new();
        loop {
            let found = submission::waiting(reader, after, BATCH)?;
            let rows = node::find_many(reader, &found.iter().map(|(_, id)| *id).collect::<Vec<_>>())?;
            for (_, id) in &found {
                let Some(row) = rows.iter().find(|row| row.id == *id) else { continue };
                let settings = match known.get(&row.library_id) {
                    Some(settings) => settings.clone(),
                    None => {
                        let settings = library::find(reader, row.library_id)?;
                        known.insert(row.library_id, settings.clone());
                        settings
                    }
                };
                let Some(settings) = settings else { continue };
                items.extend(self.eyes.show(reader, row)?.filter(|item| settings.may_publish(item.rights)));
                if items.len() == self.limit {
                    return Ok(items);
                }
            }
            match found.last() {
                Some(last) if found.len() == BATCH && Instant::now() < end => after = *last,
                _ => return Ok(items),
            }
        }
    }

    /// Returns the recently changed documents that the caller may open. Continues beyond `oldest` only while there is
    /// time.
    fn recent(&mut self, reader: &mut Reader<'_>, oldest: Option<Position>) -> Result<Vec<Item>> {
        let scopes = self.eyes.scopes(reader)?;
        let wanted = SearchTerms { words: &[], scopes: scopes.as_deref() };
        let end = Instant::now() + TIME;
        let (mut items, mut after, mut until) = (Vec::new(), NEWEST, oldest);
        loop {
            let rows = search::documents(reader, &wanted, after, until.unwrap_or(OLDEST), BATCH)?;
            for row in &rows {
                after = (row.modified_at, row.id);
                if is_application_file(&row.name) {
                    continue;
                }
                items.extend(self.eyes.show(reader, row)?);
                if items.len() == self.limit {
                    return Ok(items);
                }
            }
            if rows.len() < BATCH {
                let Some(place) = until else { return Ok(items) };
                if Instant::now() > end {
                    return Ok(items);
                }
                after = place;
                until = search::position_after(reader, after, NEW)?;
            }
        }
    }

    /// Returns subsites with grants of their own to the caller, unless the caller may open the site above them.
    fn subsites(&mut self, reader: &mut Reader<'_>) -> Result<Vec<KnownSite>> {
        let Some(scopes) = self.eyes.scopes(reader)? else { return Ok(Vec::new()) };
        let found = scope::subsites(reader, &scopes, MAX_SUBSITES)?;
        let mut sites = Vec::new();
        for row in node::find_many(reader, &found)? {
            if sites.len() == self.limit {
                break;
            }
            let Some(item) = self.eyes.show(reader, &row)? else { continue };
            let above = self.eyes.locate(reader, row.parent_id)?;
            if above.is_none_or(|above| !above.rights().has(Right::View)) {
                sites.push(KnownSite { id: item.id, path: item.path, title: item.name });
            }
        }
        Ok(sites)
    }

    fn sites(&self, reader: &mut Reader<'_>) -> Result<Vec<KnownSite>> {
        let known = self.eyes.known_collections(reader)?;
        let registry = self.eyes.finder.registry.clone();
        let here = self.eyes.collections(&registry);
        let here = here.filter(|row| known.as_ref().is_none_or(|known| known.contains(&row.id)));
        let mut sites: Vec<KnownSite> =
            here.map(|row| KnownSite { id: row.id, path: row.path.clone(), title: row.title.clone() }).collect();
        sort(&mut sites);
        let mut found = Vec::new();
        for site in sites {
            if found.len() == self.limit {
                break;
            }
            if self.eyes.locate(reader, site.id)?.is_some() {
                found.push(site);
            }
        }
        Ok(found)
    }
}
