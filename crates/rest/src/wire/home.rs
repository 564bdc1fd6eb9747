//! What somebody finds when they come in.

use model::Result;
use repository::{Happening, Home, KnownSite, Session};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::item::{self, ItemJson, Names, PersonJson};
use http_core::protocol::time;

/// A site collection that the caller knows of.
#[derive(Serialize, ToSchema)]
pub struct KnownSiteJson {
    /// Identifier, which is that of its root site.
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

/// What somebody finds when they come in.
#[derive(Serialize, ToSchema)]
pub struct HomeJson {
    /// Documents that changed last, newest first.
    pub recent: Vec<ItemJson>,
    /// Documents that the caller has checked out.
    pub checked_out: Vec<ItemJson>,
    /// Documents whose latest version is the caller's draft.
    pub drafts: Vec<ItemJson>,
    /// Documents that the caller follows.
    pub followed: Vec<ItemJson>,
    /// Site collections that the caller knows of, the root first, then by title.
    pub sites: Vec<KnownSiteJson>,
    /// Whether nothing is missing in this answer: no content database is away or cannot be read.
    pub complete: bool,
    /// Names of those content databases; only for who administers the farm.
    pub incomplete: Vec<String>,
}

impl HomeJson {
    /// With the names of all who are named in it.
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

/// Something that happened to a document.
#[derive(Serialize, ToSchema)]
pub struct HappeningJson {
    /// The document as it is now.
    pub item: ItemJson,
    /// When.
    pub at: String,
    /// Who; null for somebody who used a link.
    pub actor: Option<PersonJson>,
    /// What, such as `document.replace`.
    pub action: String,
}

impl HappeningJson {
    /// All with the names of all who are named in them.
    pub async fn all(session: &Session, happenings: Vec<Happening>) -> Result<Vec<Self>> {
        let names = Names::of(session, happenings.iter().map(|happening| happening.actor)).await?;
        let (items, rest): (Vec<_>, Vec<_>) =
            happenings.into_iter().map(|told| (told.item, (told.at, told.actor, told.action))).unzip();
        let items = item::items(session, items).await?;
        let told = items.into_iter().zip(rest).map(|(item, (at, actor, action))| Self {
            item,
            at: time::format(at),
            actor: names.somebody(actor),
            action,
        });
        Ok(told.collect())
    }
}

/// How much of it.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MostQuery {
    /// Most entries of each kind, 1 to 100.
    #[param(minimum = 1, maximum = 100, default = 24)]
    pub limit: Option<usize>,
}
