//! The farm's storage.

use std::collections::BTreeMap;

use repository::{DatabaseStatus, HealthFinding, StoreStatus};
use serde::Serialize;
use utoipa::ToSchema;

/// The farm's databases and stores.
#[derive(Serialize, ToSchema)]
pub struct FarmStatus {
    /// Version of the server.
    pub version: &'static str,
    /// Content databases.
    pub databases: Vec<DatabaseJson>,
    /// BLOB stores.
    pub stores: Vec<StoreJson>,
}

/// A content database.
#[derive(Serialize, ToSchema)]
pub struct DatabaseJson {
    /// Name.
    pub name: String,
    /// `sqlite` or `postgres`.
    pub engine: &'static str,
    /// The reason when it is not open, is damaged or does not respond. `references` may be empty then.
    pub trouble: Option<String>,
    /// Size of the database itself in bytes; null when it cannot be queried.
    pub bytes: Option<u64>,
    /// BLOBs smaller than this many bytes stay in the database.
    pub minimum_size: u64,
    /// Store for new BLOBs.
    pub active_store: String,
    /// BLOBs that its documents refer to, by store.
    pub references: Vec<ReferenceJson>,
}

/// BLOBs of one store that a content database refers to.
#[derive(Serialize, ToSchema)]
pub struct ReferenceJson {
    /// Name of the store.
    pub store: String,
    /// Number of BLOBs.
    pub blobs: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A BLOB store.
#[derive(Serialize, ToSchema)]
pub struct StoreJson {
    /// Identifier.
    pub id: String,
    /// Name.
    pub name: String,
    /// Kind of its provider.
    pub kind: &'static str,
    /// `active`, `read-only` or `draining`.
    pub state: &'static str,
    /// Location.
    pub location: String,
    /// True if it responds.
    pub available: bool,
    /// The reason when the store does not respond.
    pub trouble: Option<String>,
    /// Time at which its BLOBs were counted.
    pub counted_at: Option<String>,
    /// Number of BLOBs; null while the store does not respond or is being counted for the first time.
    pub blobs: Option<u64>,
    /// Size of all BLOBs in bytes.
    pub content_bytes: Option<u64>,
    /// Bytes that they occupy.
    pub disk_bytes: Option<u64>,
    /// Part of the occupied bytes that a compaction would release.
    pub reclaimable_bytes: Option<u64>,
    /// Free bytes at its location; null if unknown.
    pub free_bytes: Option<u64>,
    /// Settings of its provider by name.
    pub settings: BTreeMap<String, String>,
    /// True if it has credentials or keys. They are never returned.
    pub has_secrets: bool,
    /// Set when new BLOBs are encrypted before they are stored.
    pub encrypted: bool,
}

impl From<DatabaseStatus> for DatabaseJson {
    fn from(status: DatabaseStatus) -> Self {
        let reference = |(store, blobs, bytes)| ReferenceJson { store, blobs, bytes };
        Self {
            name: status.name,
            engine: status.engine,
            trouble: status.trouble,
            bytes: status.bytes,
            minimum_size: status.minimum_size,
            active_store: status.active_store,
            references: status.references.into_iter().map(reference).collect(),
        }
    }
}

impl From<StoreStatus> for StoreJson {
    fn from(status: StoreStatus) -> Self {
        Self {
            id: status.id.to_string(),
            name: status.name,
            kind: status.kind.as_str(),
            state: status.state.as_str(),
            location: status.location,
            available: status.trouble.is_none(),
            trouble: status.trouble,
            counted_at: status.counted_at.map(http_core::protocol::time::format),
            blobs: status.usage.as_ref().map(|usage| usage.blobs),
            content_bytes: status.usage.as_ref().map(|usage| usage.content_bytes),
            disk_bytes: status.usage.as_ref().map(|usage| usage.disk_bytes),
            reclaimable_bytes: status.usage.as_ref().map(|usage| usage.reclaimable_bytes),
            free_bytes: status.usage.as_ref().and_then(|usage| usage.free_bytes),
            settings: status.settings,
            has_secrets: status.has_secrets,
            encrypted: status.encrypted,
        }
    }
}

/// A problem that needs attention.
#[derive(Serialize, ToSchema)]
pub struct FindingJson {
    /// The rule that found it, such as `store-full`.
    pub rule: &'static str,
    /// `warning` or `critical`.
    pub severity: &'static str,
    /// The content database, store or farm concerned.
    pub subject: String,
    /// The finding, with advice.
    pub message: String,
}

impl From<HealthFinding> for FindingJson {
    fn from(found: HealthFinding) -> Self {
        let (rule, severity) = (found.rule, found.severity.as_str());
        Self { rule, severity, subject: found.subject.to_string(), message: found.message }
    }
}
