//! BLOB stores of the farm: adding and changing them.

use std::collections::BTreeMap;

use async_recursion::async_recursion as boxed;
use blobs::{BlobStore, HAND_OVER_GRACE, ProbeReport};
use database::Transaction;
use database::configuration::event;
use database::configuration::farm::{self, StoreRow};
use model::{Code, Error, Id, Name, Result, StoreKind, StoreState, Timestamp};

use crate::Session;
use crate::locations::claim::store_refusal::taken;
use crate::storage::built_in::DATABASE_STORE;
use crate::storage::settings::{KEYS, Settings, check_retention, require_keys_kept, unknown_kind, with_new_key};

/// Number of BLOBs in the location of a new store that are checked for readability.
const LOOKED_AT: usize = 16;

/// A new BLOB store.
#[derive(Clone, Debug, Default)]
pub struct NewStore {
    /// Unique name.
    pub name: String,
    /// Kind of its provider, as the caller named it: the word of `directory` or of a kind of object storage.
    pub kind: String,
    /// Location: a directory (relative to the data directory), or bucket and prefix.
    pub location: String,
    /// Settings of its provider by name.
    pub settings: BTreeMap<String, String>,
    /// Credentials and keys by name; they are stored sealed.
    pub secrets: BTreeMap<String, String>,
    /// Set to encrypt BLOBs before they are stored, with a newly generated key.
    pub encrypt: bool,
}

impl Session {
    /// Adds a BLOB store. Opens it first, which leaves the farm's owner marker in it. The store takes BLOBs as soon as
    /// a policy names it. Returns its identifier.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `Invalid` for a bad name or setting; `Conflict` when the
    /// name is taken or the location belongs to another farm or store; `Unavailable` when it does not respond.
    #[boxed]
    pub async fn add_store(&self, mut new: NewStore) -> Result<Id> {
        self.require_farm_administrator("add BLOB stores")?;
        if !new.secrets.is_empty() {
            self.require_fresh("set secrets of a store")?;
        }
        let (earlier, repetition) = (self.repetition.clone(), self.repetition.clone());
        if let Some(added) = self.repository.inner.configuration.read(move |reader| earlier.find(reader)).await? {
            return Ok(added);
        }
        if new.encrypt {
            let keys = with_new_key(new.secrets.get(KEYS))?;
            new.secrets.insert(KEYS.to_owned(), keys);
        }
        let name = Name::new(new.name.clone())?;
        let kind = StoreKind::parse(&new.kind).map_err(|_| unknown_kind(&new.kind))?;
        let (id, at) = (self.repository.next_id(), (kind, new.location.as_str()));
        let row = self.store_row(id, &name, at, &new.settings, &new.secrets).await?;
        refuse_known(&self.registry().await?.stores.iter().map(|(row, _)| row.clone()).collect::<Vec<_>>(), &row)?;
        match row.kind {
            StoreKind::Directory => self.require_free_directory(&row).await?,
            StoreKind::Database | StoreKind::S3 | StoreKind::Azure | StoreKind::Gcs => {
                self.require_free_prefix(&row).await?;
            }
        }
        // Opening shows that the location can be used, before the farm relies on it.
        let opened = self.repository.inner.open_store(&row, true).await?;
        let own = async {
            opened.held().await.map_err(held_by_other_restore)?;
            self.require_distinct_bucket(&row, &opened).await?;
            require_keys(&row, &opened).await
        };
        let own = own.await;
        opened.close().await;
        own?;
        let actor = self.principal.id;
        let insert = move |transaction: &mut Transaction<'_>| {
            if let Some(added) = repetition.find(transaction)? {
                return Ok(added);
            }
            farm::change_directory(transaction)?;
            refuse_known(&farm::stores(transaction)?, &row)?;
            farm::insert_store(transaction, &row, Timestamp::now())?;
            let detail = format!("{} at {}", row.kind, row.location);
            event::record(transaction, Timestamp::now(), actor, "store.add", &row.name, &detail)?;
            repetition.store_result(transaction, row.id)?;
            Ok(row.id)
        };
        let added = self.repository.inner.configuration.write(insert).await?;
        self.repository.refresh_registry().await?;
        Ok(added)
    }

    /// Changes settings and credentials of a store while it is in use. Given values replace existing ones; an empty
    /// value removes one. The next access uses the new values. With values that do not work, nothing is changed.
    ///
    /// # Errors
    /// Those of [`Self::add_store`]; `NotFound`; `Conflict` with code `built_in` for the content databases.
    #[boxed]
    pub async fn change_store(
        &self,
        name: &str,
        settings: &BTreeMap<String, String>,
        secrets: &BTreeMap<String, String>,
    ) -> Result<()> {
        self.require_farm_administrator("change BLOB stores")?;
        if !secrets.is_empty() {
            self.require_fresh("set secrets of a store")?;
        }
        let old = self.registry().await?.store_named(name)?.clone();
        if old.id == DATABASE_STORE {
            return Err(Error::conflict(format!(
                "the BLOB store \"{name}\" keeps BLOBs in the content databases and has no settings"
            ))
            .with_code(Code::BuiltIn));
        }
        let (mut new_settings, mut new_secrets) = self.repository.inner.store_settings(&old).await?;
        let old_secrets = new_secrets.clone();
        for (target, given) in [(&mut new_settings, settings), (&mut new_secrets, secrets)] {
            for (key, value) in given {
                match value.is_empty() {
                    true => target.remove(key),
                    false => target.insert(key.clone(), value.clone()),
                };
            }
        }
        require_keys_kept(name, &old_secrets, &new_secrets)?;
        let (name, at) = (Name::new(old.name.clone())?, (old.kind, old.location.as_str()));
        let row = self.store_row(old.id, &name, at, &new_settings, &new_secrets).await?;
        let opened = self.repository.inner.open_store(&row, false).await?;
        // With an unchanged endpoint the location is the same, so the other stores need not respond.
        let own = match settings.contains_key("endpoint") {
            true => self.require_distinct_bucket(&row, &opened).await,
            false => Ok(()),
        };
        opened.close().await;
        own?;
        let actor = self.principal.id;
        let names: Vec<&str> = settings.keys().chain(secrets.keys()).map(String::as_str).collect();
        let detail = names.join(", ");
        let change = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            let now = farm::stores(transaction)?.into_iter().find(|now| now.id == old.id);
            // A key that a concurrent change has added must not be lost: BLOBs may be encrypted with it.
            if now.is_none_or(|now| now.settings != old.settings || now.secret != old.secret) {
                return Err(Error::conflict(format!(
                    "the BLOB store \"{}\" was changed by another request at the same time: try again",
                    row.name
                )));
            }
            farm::set_store_place(transaction, &row)?;
            event::record(transaction, Timestamp::now(), actor, "store.change", &row.name, &detail)
        };
        self.repository.inner.configuration.write(change).await?;
        self.repository.refresh_registry().await
    }

    /// Gives a store a new encryption key for new BLOBs. Existing BLOBs stay readable with the keys with which they
    /// were encrypted.
    ///
    /// # Errors
    /// Those of [`Self::change_store`]; `Conflict` for a store without encryption.
    #[boxed]
    pub async fn rotate_store_key(&self, name: &str) -> Result<()> {
        self.require_farm_administrator("change BLOB stores")?;
        let row = self.registry().await?.store_named(name)?.clone();
        let (_, secrets) = self.repository.inner.store_settings(&row).await?;
        let keys = secrets.get(KEYS).ok_or_else(|| {
            Error::conflict(format!("BLOBs in the store \"{name}\" are not encrypted, so there is no key to rotate"))
        })?;
        let fresh = BTreeMap::from([(KEYS.to_owned(), with_new_key(Some(keys))?)]);
        self.change_store(name, &BTreeMap::new(), &fresh).await
    }

    /// Writes, reads, lists and deletes a probe in a store, and reports the duration of each step.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`; `Unavailable` when the store cannot be
    /// opened. Failures of the probe are in the report.
    #[boxed]
    pub async fn test_store(&self, name: &str) -> Result<ProbeReport> {
        self.require_farm_administrator("test BLOB stores")?;
        self.repository.refresh_registry().await?;
        let registry = self.repository.registry().await?;
        let row = registry.store_named(name)?;
        if row.id == DATABASE_STORE {
            return Ok(registry.database_named(None)?.own_store.test().await);
        }
        // Opened anew, so that an error of opening is reported.
        let store = self.repository.inner.open_store(row, false).await?;
        let report = store.test().await;
        store.close().await;
        Ok(report)
    }

    /// Recreates an empty store in the directory or bucket of a store that is permanently lost.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`; `Conflict` when the store is present, or is
    /// the one inside the databases.
    #[boxed]
    pub async fn recreate_store(&self, name: &str) -> Result<()> {
        self.require_farm_administrator("change BLOB stores")?;
        let row = self.registry().await?.store_named(name)?.clone();
        if row.id == DATABASE_STORE {
            return Err(Error::conflict(format!(
                "the store \"{name}\" consists of the content databases, which are restored, not made anew"
            )));
        }
        match self.repository.inner.open_store(&row, false).await {
            Err(error) if error.code() == Code::StoreAbsent => {}
            Err(error) => return Err(error),
            Ok(store) => {
                store.close().await;
                return Err(Error::conflict(format!("the BLOB store \"{name}\" still exists: nothing was changed")));
            }
        }
        self.repository.inner.open_store(&row, true).await?.close().await;
        let (actor, subject) = (self.principal.id, row.name.clone());
        let note = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            event::record(transaction, Timestamp::now(), actor, "store.make_anew", &subject, &row.location)
        };
        self.repository.inner.configuration.write(note).await?;
        self.repository.refresh_registry().await
    }

    /// Takes over a store that another restore of this farm holds. Returns after six seconds, when the other one can no
    /// longer write to it.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`; `Conflict` when no other restore holds it;
    /// the error of a store that does not respond.
    #[boxed]
    pub async fn take_store_over(&self, name: &str) -> Result<()> {
        self.require_farm_administrator("take BLOB stores over")?;
        let row = self.registry().await?.store_named(name)?.clone();
        let store = self.repository.inner.open_store(&row, false).await?;
        let holder = self.repository.inner.restore_id.clone();
        let before = store.hand_over(holder.clone()).await;
        store.close().await;
        if before? == holder {
            return Err(Error::conflict(format!(
                "no other restoration of this farm holds the BLOB store \"{name}\": nothing was changed"
            )));
        }
        let (actor, subject) = (self.principal.id, row.name.clone());
        let note = move |transaction: &mut Transaction<'_>| {
            event::record(transaction, Timestamp::now(), actor, "store.take_over", &subject, &row.location)
        };
        self.repository.inner.configuration.write(note).await?;
        tokio::time::sleep(HAND_OVER_GRACE).await;
        Ok(())
    }

    async fn store_row(
        &self,
        id: Id,
        name: &Name,
        (kind, location): (StoreKind, &str),
        settings: &Settings,
        secrets: &Settings,
    ) -> Result<StoreRow> {
        check_retention(settings)?;
        let secret = match secrets.is_empty() {
            true => None,
            false => Some(self.repository.inner.seal_secrets(id, secrets).await?),
        };
        Ok(StoreRow {
            id,
            name: name.as_str().to_owned(),
            kind,
            state: StoreState::Active,
            location: location.to_owned(),
            settings: crate::storage::settings::settings_text(settings)?,
            secret,
        })
    }
}

/// Refuses a location with BLOBs that are encrypted with a key which the store was not given: they could not be read.
async fn require_keys(row: &StoreRow, store: &BlobStore) -> Result<()> {
    for entry in store.enumerate(None, LOOKED_AT).await?.entries {
        let read = async { store.open(entry.digest, entry.size, None).await?.next_chunk().await };
        match read.await {
            Err(error) if error.code() == Code::StoreKeyMissing => {
                return Err(Error::conflict(format!(
                    "there are already BLOBs in {}, and {}, 64 hexadecimal digits, with --secret {KEYS}=KEY, or - for \
                     KEY to read it from the standard input; without the key, choose another location",
                    row.location,
                    error.message()
                ))
                .with_code(Code::StoreKeyNeeded));
            }
            // A check reports everything else.
            _ => {}
        }
    }
    Ok(())
}

/// Explains that a location held by another restore of the farm cannot be added here.
fn held_by_other_restore(error: Error) -> Error {
    match error.code() {
        Code::StoreTakenOver => Error::conflict(
            "the location is a BLOB store of another restoration of this farm, which alone may write to it: choose an \
             empty location, or remove the store if it is no longer needed",
        )
        .with_code(Code::StoreTakenOver),
        _ => error,
    }
}

/// Refuses a name or location that the farm already has.
fn refuse_known(known: &[StoreRow], new: &StoreRow) -> Result<()> {
    let folded = model::fold(&new.name);
    if known.iter().any(|row| model::fold(&row.name) == folded) {
        return Err(
            Error::conflict(format!("there is already a BLOB store \"{}\"", new.name)).with_code(Code::NameTaken)
        );
    }
    // A directory is the same location whatever its settings.
    let same = |row: &&StoreRow| {
        row.kind == new.kind
            && row.location == new.location
            && (row.kind == StoreKind::Directory || row.settings == new.settings)
    };
    match known.iter().find(same) {
        Some(row) => Err(taken(new, row)),
        None => Ok(()),
    }
}
