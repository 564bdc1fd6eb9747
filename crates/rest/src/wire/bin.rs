//! Recycle bins.

use model::{Code, Error, Result};
use repository::{Bin, RecycledItem};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use http_core::protocol::time;

use super::item::{Names, PersonJson};
use super::list::PageQuery;

/// One deletion in a recycle bin.
#[derive(Serialize, ToSchema)]
pub struct EntryJson {
    /// Identifier of the entry, used to restore it.
    pub id: String,
    /// The deleted item.
    pub item: String,
    /// Its kind.
    pub kind: &'static str,
    /// Name of the deleted item.
    pub name: String,
    /// Former location.
    pub path: String,
    /// Total bytes of all its versions.
    pub size: u64,
    /// Number of documents.
    pub documents: u64,
    /// Time of the deletion.
    pub deleted_at: String,
    /// User who deleted it.
    pub deleted_by: PersonJson,
    /// Set when the entry is in the site bin because the user removed it from their personal bin.
    pub second_stage: bool,
}

impl EntryJson {
    /// Creates the JSON form of an entry, with the name of the user who deleted the item.
    pub fn new(entry: RecycledItem, names: &Names) -> Self {
        Self {
            id: entry.id.to_string(),
            item: entry.node_id.to_string(),
            kind: entry.kind.as_str(),
            name: entry.name,
            path: entry.path,
            size: entry.size,
            documents: entry.documents,
            deleted_at: time::format(entry.deleted_at),
            deleted_by: names.person(entry.deleted_by),
            second_stage: entry.second_stage,
        }
    }
}

/// Selects a recycle bin and a page of it.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BinQuery {
    /// `mine` (the default), or `site` for everything that was deleted in the site collection.
    #[param(value_type = Option<super::rules::BinWord>)]
    pub bin: Option<String>,
    /// Maximum number of entries on the page, 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<usize>,
    /// `next` of the previous page.
    #[param(value_type = Option<super::rules::CursorText>)]
    pub cursor: Option<String>,
}

impl BinQuery {
    /// Returns the selected bin and page.
    pub fn read(self) -> Result<(Bin, PageQuery)> {
        Ok((which(self.bin.as_deref())?, PageQuery { limit: self.limit, cursor: self.cursor }))
    }
}

/// Selects a recycle bin.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WhichBin {
    /// `mine` (the default) or `site`.
    #[param(value_type = Option<super::rules::BinWord>)]
    pub bin: Option<String>,
}

/// Parses the name of a bin.
pub fn which(word: Option<&str>) -> Result<Bin> {
    match word {
        None | Some("mine") => Ok(Bin::Mine),
        Some("site") => Ok(Bin::Site),
        Some(_) => Err(Error::invalid("bin is one of mine, site").with_code(Code::InvalidQuery)),
    }
}

/// Result of emptying a bin.
#[derive(Serialize, ToSchema)]
pub struct Emptied {
    /// Number of entries removed.
    pub entries: u64,
}
