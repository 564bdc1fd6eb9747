//! Rules for a prefix of a bucket that is to become a store: it must not be, contain or lie within another store or a
//! backup location, by whatever address it is reached.
//!
//! A bucket may hold any number of objects, so it is never listed. Around the prefix all markers are read. Within it
//! only those locations are looked for that the farm's records name.

use std::collections::BTreeMap;

use blobs::{BlobStore, ObjectOptions, ObjectSecrets};
use database::configuration::backup;
use database::configuration::farm::StoreRow;
use model::{Code, Error, Result, StoreKind};

use super::store_refusal::{nested, nesting_of_names, taken};
use crate::Session;
use crate::locations::markers::{MarkerKind, sign_of_prefix, signs_around_prefix};
use crate::locations::nesting::Nesting;
use crate::storage::settings as object_settings;

/// Limit on the records of backups that are looked through, newest first.
const BACKUPS: usize = 10_000;

impl Session {
    /// Refuses a prefix that overlaps another store of the farm at the same endpoint, that is or lies within a backup
    /// location, that lies within a store, or that contains a store or backup location of the farm.
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
        let options = object_settings::options(row.kind, &row.location, &settings)?;
        let secrets = object_settings::secrets(&secrets)?;
        refuse_markers_around(&options, &secrets).await?;
        self.refuse_recorded_within(row, &options, &secrets).await
    }

    /// Refuses a prefix that contains a store or backup location which the farm's records name. The new store's own
    /// credential reads their markers: the same names at another service are other locations, and one service may have
    /// several addresses.
    async fn refuse_recorded_within(
        &self,
        row: &StoreRow,
        options: &ObjectOptions,
        secrets: &ObjectSecrets,
    ) -> Result<()> {
        let backups =
            self.repository.inner.configuration.read_long(|reader| backup::list(reader, None, BACKUPS)).await?;
        let registry = self.registry().await?;
        let stores = registry.stores.iter().map(|(other, _)| other).filter(|other| other.id != row.id);
        let destinations = backups.iter().map(|backup| backup.destination.as_str());
        for (prefix, what) in recorded_within(options, stores, destinations) {
            let is_there = match sign_of_prefix(options, secrets, &prefix).await {
                // The records are believed where the credential cannot read.
                Err(error) if error.code() == Code::StoreCredentialRefused => true,
                found => found?.is_some(),
            };
            if is_there {
                let (place, other) = (shown(options, &options.prefix), shown(options, &prefix));
                return Err(nested(Nesting::Around, &place, &other, &what));
            }
        }
        Ok(())
    }

    /// Refuses a bucket that is already a store of the farm under any address: moving BLOBs from one to the other would
    /// delete the only copy. A store that does not respond counts as a different location, unless bucket and prefix
    /// have the same names.
    pub(crate) async fn require_distinct_bucket(&self, row: &StoreRow, opened: &BlobStore) -> Result<()> {
        let registry = self.registry().await?;
        let remote =
            |other: &StoreRow| other.id != row.id && other.kind == row.kind && row.kind != StoreKind::Directory;
        for (other, store) in registry.stores.iter().filter(|(other, _)| remote(other)) {
            let leads = match store {
                Some(store) => opened.is_same_store_as(store).await?,
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

/// Returns the prefixes within that of `options` at which the farm's records name a store or a backup location, each
/// with a description. The addresses of services are not compared.
fn recorded_within<'a>(
    options: &ObjectOptions,
    stores: impl Iterator<Item = &'a StoreRow>,
    destinations: impl Iterator<Item = &'a str>,
) -> BTreeMap<String, String> {
    let kind = StoreKind::from(options.kind);
    let backups = destinations
        .filter_map(|place| Some((place.strip_prefix(&options.address_of(""))?, MarkerKind::Backups.to_string())));
    let stores = stores.filter(|row| row.kind == kind).filter_map(|row| {
        let (bucket, prefix) = row.location.split_once('/').unwrap_or((&row.location, ""));
        (bucket == options.bucket).then(|| (prefix, format!("the BLOB store \"{}\"", row.name)))
    });
    let is_within = |prefix: &str| Nesting::of_prefixes(&options.prefix, prefix) == Some(Nesting::Around);
    let all = backups.chain(stores).filter(|(prefix, _)| is_within(prefix));
    all.map(|(prefix, what)| (prefix.trim_matches('/').to_owned(), what)).collect()
}

/// Returns bucket and prefix in the form of a store's location.
fn shown(options: &ObjectOptions, prefix: &str) -> String {
    format!("{}/{}", options.bucket, prefix.trim_matches('/')).trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use model::{Id, StoreState};

    use super::*;

    #[test]
    fn records_name_what_lies_within_a_prefix_of_the_same_bucket() {
        let store = |name: &str, kind: StoreKind, location: &str| StoreRow {
            id: Id::new(7),
            name: name.to_owned(),
            kind,
            state: StoreState::Active,
            location: location.to_owned(),
            settings: "{}".to_owned(),
            secret: None,
        };
        let stores = [
            store("cloud", StoreKind::S3, "blobs/farm/documents/"),
            store("same", StoreKind::S3, "blobs/farm"),
            store("around", StoreKind::S3, "blobs"),
            store("beside", StoreKind::S3, "blobs/farm2/documents"),
            store("elsewhere", StoreKind::S3, "other/farm/documents"),
            store("azure", StoreKind::Azure, "blobs/farm/azure"),
            store("local", StoreKind::Directory, "blobs/farm/local"),
        ];
        let destinations =
            ["s3://blobs/farm/backups", "s3://blobs/farm/backups", "s3://other/farm/x", "s3://blobs/", "/srv/farm/x"];
        let within = |prefix: &str| {
            let (bucket, prefix) = ("blobs".to_owned(), prefix.to_owned());
            let options = ObjectOptions { bucket, prefix, ..ObjectOptions::default() };
            let found = recorded_within(&options, stores.iter(), destinations.into_iter());
            found.into_iter().map(|(prefix, what)| format!("{prefix}: {what}")).collect::<Vec<_>>()
        };
        let (backups, cloud) = ("farm/backups: a backup destination", "farm/documents: the BLOB store \"cloud\"");
        assert_eq!(within("farm"), [backups, cloud]);
        assert_eq!(within("farm/documents"), [""; 0]);
        let whole = within("");
        assert!(whole.iter().any(|found| found == backups), "{whole:?}");
        assert!(whole.iter().any(|found| found == cloud), "{whole:?}");
        assert_eq!(whole.len(), 4, "{whole:?}");
    }
}
