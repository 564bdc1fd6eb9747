//! Site collections.

use repository::SiteCollection;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::IdText;
use http_core::protocol::time;

/// A site collection.
#[derive(Serialize, ToSchema)]
pub struct SiteCollectionJson {
    /// Identifier; the root site has the same one.
    pub id: String,
    /// Path in the farm; empty for the root site collection.
    pub path: String,
    /// Title.
    pub title: String,
    /// The content database that holds it. This and the next figures are null for callers who do not manage the site.
    pub database: Option<String>,
    /// Bytes of all versions, including the recycle bin.
    pub used_bytes: Option<u64>,
    /// Number of documents, including the recycle bin.
    pub documents: Option<u64>,
    /// Limit on the total bytes of all versions; null for no limit.
    pub quota_bytes: Option<u64>,
    /// Set to record in the audit log when a document is opened.
    pub audit_reads: bool,
    /// Creation time; null for callers who may not open its root site.
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

/// A new site collection.
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
    /// The user or group that gets full control; the caller when absent.
    #[serde(default)]
    pub owner: Option<IdText>,
}

/// Changes to a site collection. Absent fields stay as they are.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SiteCollectionChange {
    /// New quota in bytes; null removes the quota. Farm administrators only.
    #[serde(deserialize_with = "super::double_option")]
    #[schema(value_type = Option<u64>, maximum = 9_223_372_036_854_775_807_i64)]
    pub quota_bytes: Option<Option<u64>>,
    /// Set to record in the audit log when a document is opened.
    pub audit_reads: Option<bool>,
    /// New title.
    #[schema(value_type = Option<super::rules::Title>)]
    pub title: Option<String>,
    /// New colour of its pages.
    #[schema(value_type = Option<super::rules::AccentWord>)]
    pub accent: Option<String>,
}
