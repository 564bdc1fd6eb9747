//! Recycle bins.

use model::{Code, Error, Result};
use repository::{Bin, RecycledItem};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use http_core::protocol::time;

use super::item::{Names, PersonJson};
use super::list::PageQuery;

/// One deletion.
#[derive(Serialize, ToSchema)]
pub struct EntryJson {
    /// The entry, by which it can be restored.
    pub id: String,
    /// The deleted item.
    pub item: String,
    /// What it is.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Where it was.
    pub path: String,
    /// Bytes of all its versions.
    pub size: u64,
    /// Number of documents.
    pub documents: u64,
    /// When it was deleted.
    pub deleted_at: String,
    /// By whom.
    pub deleted_by: PersonJson,
    /// Whether it is in the site's bin because the person emptied theirs.
    pub second_stage: bool,
}

impl EntryJson {
    /// An entry with the name of who deleted.
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

/// Which page of which bin.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BinQuery {
    /// `mine` (the default) or `site`: all that was deleted in the site collection.
    #[param(value_type = Option<super::rules::BinWord>)]
    pub bin: Option<String>,
    /// Most entries of the page, 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<usize>,
    /// `next` of the page before.
    #[param(value_type = Option<super::rules::CursorText>)]
    pub cursor: Option<String>,
}

impl BinQuery {
    /// The bin, and the page of it.
    pub fn read(self) -> Result<(Bin, PageQuery)> {
        Ok((which(self.bin.as_deref())?, PageQuery { limit: self.limit, cursor: self.cursor }))
    }
}

/// Which bin.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WhichBin {
    /// `mine` (the default) or `site`.
    #[param(value_type = Option<super::rules::BinWord>)]
    pub bin: Option<String>,
}

/// Reads the word for a bin.
pub fn which(word: Option<&str>) -> Result<Bin> {
    match word {
        None | Some("mine") => Ok(Bin::Mine),
        Some("site") => Ok(Bin::Site),
        Some(_) => Err(Error::invalid("bin is one of mine, site").with_code(Code::InvalidQuery)),
    }
}

/// What emptying did.
#[derive(Serialize, ToSchema)]
pub struct Emptied {
    /// Number of entries that were taken out.
    pub entries: u64,
}
