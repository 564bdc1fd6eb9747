//! Contents of the caller's home page.

use model::Result;
use repository::{Home, ItemEvent, KnownPlace, KnownSite, Session, SharedByMe, SharedWithMe, UnavailableDatabases};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::item::{self, ItemJson, Names, PersonJson};
use http_core::protocol::time;

/// A site collection that the caller may know of.
#[derive(Serialize, ToSchema)]
pub struct KnownSiteJson {
    /// Identifier; the same as that of its root site.
    pub id: String,
    /// Path in the farm; empty for the root.
    pub path: String,
    /// Title.
    pub title: String,
}

impl From<KnownSite> for KnownSiteJson {
    fn from(site: KnownSite) -> Self {
        Self { id: site.id.to_string(), path: site.path, title: site.title }
    }
}

/// A site, library, list or folder that the caller pinned.
#[derive(Serialize, ToSchema)]
pub struct KnownPlaceJson {
    /// Identifier.
    pub id: String,
    /// Kind: site, library, list or folder.
    pub kind: &'static str,
    /// Path in the farm; empty for the root.
    pub path: String,
    /// Name.
    pub name: String,
}

impl From<KnownPlace> for KnownPlaceJson {
    fn from(place: KnownPlace) -> Self {
        Self { id: place.id.to_string(), kind: place.kind.as_str(), path: place.path, name: place.name }
    }
}

/// An item that another user shared with the caller.
#[derive(Serialize, ToSchema)]
pub struct SharedWithMeJson {
    /// The item.
    pub item: ItemJson,
    /// Time of the newest grant.
    pub at: String,
    /// User who made it; null for one who does not exist any more.
    pub by: Option<PersonJson>,
}

/// An item that the caller shared with others.
#[derive(Serialize, ToSchema)]
pub struct SharedByMeJson {
    /// The item.
    pub item: ItemJson,
    /// Time of the newest grant or link.
    pub at: String,
    /// Identifiers of the users and groups that got a role from the caller.
    pub with: Vec<String>,
    /// Number of the caller's links that have not expired.
    pub links: u64,
}

impl SharedWithMeJson {
    /// Creates the JSON form of what was shared, with the names of all users in it.
    pub async fn all(session: &Session, shared: Vec<SharedWithMe>) -> Result<Vec<Self>> {
        let names = Names::of(session, shared.iter().map(|shared| shared.by)).await?;
        let items = item::items(session, shared.iter().map(|shared| shared.item.clone()).collect()).await?;
        let all = items.into_iter().zip(shared);
        let one = |(item, shared): (ItemJson, SharedWithMe)| Self {
            item,
            at: time::format(shared.at),
            by: names.optional_person(shared.by),
        };
        Ok(all.map(one).collect())
    }
}

impl SharedByMeJson {
    /// Creates the JSON form of what the caller shared.
    pub async fn all(session: &Session, shared: Vec<SharedByMe>) -> Result<Vec<Self>> {
        let items = item::items(session, shared.iter().map(|shared| shared.item.clone()).collect()).await?;
        let one = |(item, shared): (ItemJson, SharedByMe)| Self {
            item,
            at: time::format(shared.at),
            with: shared.with.iter().map(ToString::to_string).collect(),
            links: shared.links as u64,
        };
        Ok(items.into_iter().zip(shared).map(one).collect())
    }
}

/// Items that were shared, newest first.
#[derive(Serialize, ToSchema)]
pub struct SharedList<T> {
    /// The items.
    pub items: Vec<T>,
    /// True if the response is complete. False when a content database is unavailable or unreadable.
    pub complete: bool,
    /// Names of the unavailable or unreadable content databases. Only for farm administrators.
    pub incomplete: Vec<String>,
}

impl<T> SharedList<T> {
    /// Creates a list with the content databases whose items are missing in it.
    pub fn new(items: Vec<T>, missing: &UnavailableDatabases) -> Self {
        Self { items, complete: missing.is_empty(), incomplete: missing.names() }
    }
}

/// Contents of the caller's start page.
#[derive(Serialize, ToSchema)]
pub struct HomeJson {
    /// Most recently changed documents, newest first.
    pub recent: Vec<ItemJson>,
    /// Documents that the caller has checked out.
    pub checked_out: Vec<ItemJson>,
    /// Documents whose latest version is the caller's draft.
    pub drafts: Vec<ItemJson>,
    /// Documents that the caller follows.
    pub followed: Vec<ItemJson>,
    /// Sites, libraries, lists and folders that the caller pinned, by name.
    pub pinned: Vec<KnownPlaceJson>,
    /// Site collections that the caller may know of: the root first, then by title.
    pub sites: Vec<KnownSiteJson>,
    /// True if the response is complete. False when a content database is unavailable or unreadable.
    pub complete: bool,
    /// Names of the unavailable or unreadable content databases. Only for farm administrators.
    pub incomplete: Vec<String>,
}

impl HomeJson {
    /// Creates the JSON form of a home page, with the names of all users in it.
    pub async fn new(session: &Session, home: Home, pinned: Vec<KnownPlace>) -> Result<Self> {
        Ok(Self {
            recent: item::items(session, home.recent).await?,
            checked_out: item::items(session, home.checked_out).await?,
            drafts: item::items(session, home.drafts).await?,
            followed: item::items(session, home.followed).await?,
            pinned: pinned.into_iter().map(Into::into).collect(),
            sites: home.sites.into_iter().map(Into::into).collect(),
            complete: home.missing.is_empty(),
            incomplete: home.missing.names(),
        })
    }
}

/// An event concerning an item.
#[derive(Serialize, ToSchema)]
pub struct HappeningJson {
    /// The item as it is now; the list if it concerned several rows.
    pub item: ItemJson,
    /// Time at which it happened.
    pub at: String,
    /// The acting user; null for someone who used a link.
    pub actor: Option<PersonJson>,
    /// The action, such as `document.replace`.
    pub action: String,
    /// Number of items. More than 1 only for rows of a list.
    pub items: u64,
    /// True if further rows were not counted.
    pub are_more: bool,
}

impl HappeningJson {
    /// Creates the JSON form of all events, with the names of all users in them.
    pub async fn all(session: &Session, happenings: Vec<ItemEvent>) -> Result<Vec<Self>> {
        let names = Names::of(session, happenings.iter().map(|happening| happening.actor)).await?;
        let items = item::items(session, happenings.iter().map(|told| told.item.clone()).collect()).await?;
        let told = items.into_iter().zip(happenings).map(|(item, told)| Self {
            item,
            at: time::format(told.at),
            actor: names.optional_person(told.actor),
            action: told.action,
            items: told.items as u64,
            are_more: told.are_more,
        });
        Ok(told.collect())
    }
}

/// Limit on the number of entries.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MostQuery {
    /// Maximum number of entries of each kind, 1 to 100.
    #[param(minimum = 1, maximum = 100, default = 24)]
    pub limit: Option<usize>,
}
