//! Rules for a prefix of a bucket that is to become a store: it must not be, contain or lie within another store or a
//! backup location, by whatever address it is reached.

use blobs::{BlobStore, ObjectOptions, ObjectSecrets};
use database::configuration::farm::StoreRow;
use model::{Error, Result};

use super::store_refusal::{nested, nesting_of_names, taken};
use crate::Session;
use crate::locations::markers::{MarkerKind, signs_around_prefix};
use crate::locations::nesting::Nesting;
use crate::storage::settings as object_settings;

impl Session {
    /// Refuses a prefix that overlaps another store of the farm at the same endpoint, or that is or lies within a
    /// backup location or lies within a store.
    pub(crate) async fn require_free_prefix(&self, row: &StoreRow) -> Result<()> {
        let endpoint = async |row: &StoreRow| -> Result<String> {
            let (settings, _) = self.repository.inner.store_settings(row).await?;
            Ok(settings.get("endpoint").map(|url| url.trim_end_matches('/').to_lowercase()).unwrap_or_default())
        };
        let new = endpoint(row).await?;
        for (other, _) in &self.registry().await?.stores {
            let near = other.id != row.id && other.kind == row.kind && nesting_of_names(other, row).is_some();
            if near && endpoint(other).await? == new {
                return Err(taken(row, other));
            }
        }
        let (settings, secrets) = self.repository.inner.store_settings(row).await?;
        let options = object_settings::options(&row.kind, &row.location, &settings)?;
        let secrets = object_settings::secrets(&secrets)?;
        refuse_markers_around(&options, &secrets).await
    }

    /// Refuses a bucket that is already a store of the farm under any address: moving BLOBs from one to the other would
    /// delete the only copy. A store that does not respond counts as a different location, unless bucket and prefix
    /// have the same names.
    pub(crate) async fn require_distinct_bucket(&self, row: &StoreRow, opened: &BlobStore) -> Result<()> {
        let registry = self.registry().await?;
        let remote = |other: &StoreRow| other.id != row.id && other.kind == row.kind && row.kind != "directory";
        for (other, store) in registry.stores.iter().filter(|(other, _)| remote(other)) {
            let leads = match store {
                Some(store) => opened.leads_to(store).await?,
                None => None,
            };
            match leads {
                Some(false) => {}
                Some(true) => return Err(taken(row, other)),
                None if nesting_of_names(other, row).is_some() => {
                    let text = format!(
                        "it cannot be determined whether \"{}\" is the same location while the BLOB store \"{}\" does \
                         not answer: try again when it does",
                        row.location, other.name
                    );
                    return Err(Error::unavailable(text));
                }
                None => tracing::warn!(store = other.name, "a BLOB store does not answer and was not compared"),
            }
        }
        Ok(())
    }
}

/// Refuses a prefix that is a backup location, or that lies within one or within a store.
async fn refuse_markers_around(options: &ObjectOptions, secrets: &ObjectSecrets) -> Result<()> {
    let own = options.prefix.trim_matches('/');
    for marked in signs_around_prefix(options, secrets).await? {
        let nesting = if marked.place == own { Nesting::Same } else { Nesting::Within };
        // A store on top of a store is allowed: it is how a store that was removed from the farm, or outlived it, comes
        // back. Its owner is checked when the store is opened.
        let is_store = marked.sign == MarkerKind::Store && nesting == Nesting::Same;
        if marked.sign != MarkerKind::Closed && !is_store {
            let (place, other) = (shown(options, own), shown(options, &marked.place));
            return Err(nested(nesting, &place, &other, &marked.sign.to_string()));
        }
    }
    Ok(())
}

/// Returns bucket and prefix in the form of a store's location.
fn shown(options: &ObjectOptions, prefix: &str) -> String {
    format!("{}/{}", options.bucket, prefix.trim_matches('/')).trim_end_matches('/').to_owned()
}
