//! Contents of the caller's home page.

use model::Result;
use repository::{Home, ItemEvent, KnownSite, Session};
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
    /// Site collections that the caller may know of: the root first, then by title.
    pub sites: Vec<KnownSiteJson>,
    /// True if the response is complete. False when a content database is unavailable or unreadable.
    pub complete: bool,
    /// Names of the unavailable or unreadable content databases. Only for farm administrators.
    pub incomplete: Vec<String>,
}

impl HomeJson {
    /// Creates the JSON form of a home page, with the names of all users in it.
    pub async fn new(session: &Session, home: Home) -> Result<Self> {
        Ok(Self {
            recent: item::items(session, home.recent).await?,
            checked_out: item::items(session, home.checked_out).await?,
            drafts: item::items(session, home.drafts).await?,
            followed: item::items(session, home.followed).await?,
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
