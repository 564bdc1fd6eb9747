//! Responses to storing and deleting.

use model::Id;
use repository::{Item, Saved};
use serde::Serialize;
use utoipa::ToSchema;

/// A document that was stored.
#[derive(Serialize, ToSchema)]
pub struct Stored {
    /// The document.
    pub id: String,
    /// Its name; differs from the requested name when both documents were kept.
    pub name: String,
    /// Path in the farm.
    pub path: String,
    /// Number of the stored version.
    pub version: String,
    /// Size in bytes.
    pub size: u64,
    /// BLAKE3-256 of the bytes, in hexadecimal.
    pub digest: String,
    /// The entity tag, without quotes.
    pub etag: String,
    /// True if the document is new.
    pub created: bool,
}

impl From<&Saved> for Stored {
    fn from(saved: &Saved) -> Self {
        Self {
            id: saved.id.to_string(),
            name: saved.name.clone(),
            path: saved.path.clone(),
            version: saved.number.to_string(),
            size: saved.size,
            digest: saved.digest.to_string(),
            etag: saved.etag(),
            created: saved.created,
        }
    }
}

/// An item that was moved to the recycle bin.
#[derive(Serialize, ToSchema)]
pub struct Recycled {
    /// The item.
    pub id: String,
    /// The site collection whose recycle bin holds it.
    pub site_collection: String,
    /// Identifier of the entry in the recycle bin, used to restore it.
    pub entry: String,
}

impl Recycled {
    /// Describes where a deleted item went.
    pub fn new(item: &Item, entry: Id) -> Self {
        Self { id: item.id.to_string(), site_collection: item.collection_id.to_string(), entry: entry.to_string() }
    }
}
