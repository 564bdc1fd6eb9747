//! Sites: the template that each was made from, its options, and its logo.
//!
//! This module does not read options.

use model::{Id, Result};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND = "SELECT template, options FROM site WHERE node_id = $1";
    LOCK = "SELECT template, options FROM site WHERE node_id = $1 {for_update}";
    PUT = "INSERT INTO site (node_id, template, options) VALUES ($1, $2, $3)
        ON CONFLICT (node_id) DO UPDATE SET template = excluded.template, options = excluded.options";
    LOGO = "SELECT media_type, bytes FROM site_logo WHERE node_id = $1";
    PUT_LOGO = "INSERT INTO site_logo (node_id, media_type, bytes) VALUES ($1, $2, $3)
        ON CONFLICT (node_id) DO UPDATE SET media_type = excluded.media_type, bytes = excluded.bytes";
    DELETE_LOGO = "DELETE FROM site_logo WHERE node_id = $1";
}

/// The stored row of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteRow {
    /// Name of the template that it was made from; empty if it was made from none.
    pub template: String,
    /// Navigation, accent and the mark of the logo, as a JSON object.
    pub options: String,
}

/// Returns the stored row of a site; `None` for a site that has no options.
pub fn find(reader: &mut Reader<'_>, site: Id) -> Result<Option<SiteRow>> {
    reader.find(FIND, &params![site], |row| Ok(SiteRow { template: row.get(0)?, options: row.get(1)? }))
}

/// Reads what is stored about a site and locks it until the transaction ends.
pub fn lock(transaction: &mut Transaction<'_>, site: Id) -> Result<Option<SiteRow>> {
    transaction.find(LOCK, &params![site], |row| Ok(SiteRow { template: row.get(0)?, options: row.get(1)? }))
}

/// Stores what belongs to a site.
pub fn put(transaction: &mut Transaction<'_>, site: Id, row: &SiteRow) -> Result<()> {
    transaction.execute(PUT, &params![site, &row.template, &row.options]).map(drop)
}

/// The logo of a site: media type and bytes.
pub fn logo(reader: &mut Reader<'_>, site: Id) -> Result<Option<(String, Vec<u8>)>> {
    reader.find(LOGO, &params![site], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Stores the logo of a site.
pub fn put_logo(transaction: &mut Transaction<'_>, site: Id, media_type: &str, bytes: &[u8]) -> Result<()> {
    transaction.execute(PUT_LOGO, &params![site, media_type, bytes]).map(drop)
}

/// Removes the logo of a site.
pub fn delete_logo(transaction: &mut Transaction<'_>, site: Id) -> Result<()> {
    transaction.execute(DELETE_LOGO, &params![site]).map(drop)
}
