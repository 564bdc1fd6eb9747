//! Site collections.

use repository::SiteCollection;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::IdText;
use http_core::protocol::time;

/// A site collection.
#[derive(Serialize, ToSchema)]
pub struct SiteCollectionJson {
    /// Identifier, also of its root site.
    pub id: String,
    /// Address in the farm; empty for the root one.
    pub path: String,
    /// Title.
    pub title: String,
    /// The content database that holds it; this and the next figures are null for who does not manage the site.
    pub database: Option<String>,
    /// Bytes of all versions, the recycle bin included.
    pub used_bytes: Option<u64>,
    /// Documents, the recycle bin included.
    pub documents: Option<u64>,
    /// Most bytes of all versions together; null is no limit.
    pub quota_bytes: Option<u64>,
    /// Whether opening a document is written to the audit log.
    pub audit_reads: bool,
    /// When it was created; null for who may not open its root site.
    pub created_at: Option<String>,
    /// The colour of its pages: `teal`, `blue`, `indigo`, `violet`, `magenta`, `brown`, `green` or `slate`.
    pub accent: &'static str,
}

impl From<SiteCollection> for SiteCollectionJson {
    fn from(collection: SiteCollection) -> Self {
        let usage = collection.usage.as_ref();
        Self {
            id: collection.id.to_string(),
            path: collection.path,
            title: collection.title,
            database: usage.map(|usage| usage.database.clone()),
            used_bytes: usage.map(|usage| usage.used_bytes),
            documents: usage.map(|usage| usage.documents),
            quota_bytes: usage.and_then(|usage| usage.quota_bytes),
            audit_reads: collection.audit_reads,
            created_at: collection.created_at.map(time::format),
            accent: collection.accent.as_str(),
        }
    }
}

/// A site collection to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSiteCollection {
    /// Address in the farm, up to four names.
    #[schema(value_type = super::rules::CollectionPath)]
    pub path: String,
    /// Title.
    #[schema(value_type = super::rules::Title)]
    pub title: String,
    /// Name of the content database; the first one when absent.
    #[serde(default)]
    pub database: Option<String>,
    /// Who gets full control; the caller when absent.
    #[serde(default)]
    pub owner: Option<IdText>,
}

/// What to change of a site collection; what is absent stays.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SiteCollectionChange {
    /// Another quota in bytes; null takes it away. For administrators of the farm.
    #[serde(deserialize_with = "super::present")]
    #[schema(value_type = Option<u64>, maximum = 9_223_372_036_854_775_807_i64)]
    pub quota_bytes: Option<Option<u64>>,
    /// Whether opening a document is written to the audit log.
    pub audit_reads: Option<bool>,
    /// Another title.
    #[schema(value_type = Option<super::rules::Title>)]
    pub title: Option<String>,
    /// Another colour of its pages.
    #[schema(value_type = Option<super::rules::AccentWord>)]
    pub accent: Option<String>,
}
