//! BLOB stores of the farm: adding, opening up, closing and removing them.

use std::collections::BTreeMap;

use blobs::{BlobStore, HANDED_OVER, ProbeReport};
use database::Transaction;
use database::configuration::event;
use database::configuration::farm::{self, StoreRow};
use database::content::{blob, reclaim};
use model::{Error, Id, Name, Result, Timestamp, counted};

use crate::farm::{DATABASE_STORE, FILES_STORE};
use crate::map::Map;
use crate::object_settings::{KEYS, check_retention, require_keys_kept, with_new_key};
use crate::policies::users_of;
use crate::{Session, place};

/// BLOBs of a place that becomes a store of which it is asked whether they can be read.
const LOOKED_AT: usize = 16;

/// A BLOB store to be added.
#[derive(Clone, Debug, Default)]
pub struct NewStore {
    /// Unique name.
    pub name: String,
    /// Kind of its provider: `directory`, or one of the kinds of object storage.
    pub kind: String,
    /// Where it is: a directory (relative to the data directory), or bucket and prefix.
    pub location: String,
    /// Settings of its provider by name.
    pub settings: BTreeMap<String, String>,
    /// Credentials and keys by name; they are kept sealed.
    pub secrets: BTreeMap<String, String>,
    /// Whether BLOBs are encrypted before they are stored, with a key that is made now.
    pub encrypt: bool,
}

/// Whether a BLOB store takes new BLOBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreState {
    /// It does, where a policy says so.
    Active,
    /// What lies in it stays readable.
    ReadOnly,
    /// The same, and what lies in it is on its way to other stores.
    Draining,
}

impl StoreState {
    /// The stored and public word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::ReadOnly => "read-only",
            Self::Draining => "draining",
        }
    }
}

impl Session {
    /// Adds a BLOB store after opening it, which leaves the farm's mark in it. It takes BLOBs as soon as a policy names it.
    /// Answers with its identifier.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `Invalid` for a bad name or setting; `Conflict` when the
    /// name is taken or the place belongs to another farm or store; `Unavailable` when it does not answer.
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
        let row = self.store_row(self.repository.next_id(), &name, &new).await?;
        refuse_known(&self.map().await?.stores.iter().map(|(row, _)| row.clone()).collect::<Vec<_>>(), &row)?;
        match row.kind.as_str() {
            "directory" => self.require_place_of_its_own(&row).await?,
            _ => self.require_prefix_of_its_own(&row).await?,
        }
        // Opening shows whether the place can be used, before the farm relies on it.
        let opened = self.repository.inner.open_store(&row, true).await?;
        let own = async {
            opened.held().await.map_err(of_another_copy)?;
            self.require_bucket_of_its_own(&row, &opened).await?;
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
            repetition.keep(transaction, row.id)?;
            Ok(row.id)
        };
        let added = self.repository.inner.configuration.write(insert).await?;
        self.repository.refresh_map().await?;
        Ok(added)
    }

    /// Changes settings and credentials of a store while it is in use: what is given replaces what was there, an empty
    /// text removes it. The next access uses them.
    ///
    /// Errors: those of [`Self::add_store`]; `NotFound`; `Conflict` with code `built_in` for the content databases. With settings that do not work nothing is changed.
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
        let old = self.map().await?.store_named(name)?.clone();
        if old.id == DATABASE_STORE {
            return Err(Error::conflict(format!(
                "the BLOB store \"{name}\" keeps BLOBs in the content databases and has no settings"
            ))
            .with_code("built_in"));
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
        let new = NewStore {
            name: old.name.clone(),
            kind: old.kind.clone(),
            location: old.location.clone(),
            settings: new_settings,
            secrets: new_secrets,
            encrypt: false,
        };
        let row = self.store_row(old.id, &Name::new(old.name.clone())?, &new).await?;
        let opened = self.repository.inner.open_store(&row, false).await?;
        // With the same address it is the same place, and other stores need not answer for it.
        let own = match settings.contains_key("endpoint") {
            true => self.require_bucket_of_its_own(&row, &opened).await,
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
            // A key that another change has made in the meantime must not get lost: BLOBs may be encrypted with it.
            if now.is_none_or(|now| now.settings != old.settings || now.secret != old.secret) {
                return Err(Error::conflict(format!(
                    "the BLOB store \"{}\" was changed by somebody else at the same time: try again",
                    row.name
                )));
            }
            farm::set_store_place(transaction, &row)?;
            event::record(transaction, Timestamp::now(), actor, "store.change", &row.name, &detail)
        };
        self.repository.inner.configuration.write(change).await?;
        self.repository.refresh_map().await
    }

    /// Gives a store a new encryption key for the BLOBs that come from now on. Those that are there stay readable by the keys
    /// that they were encrypted with.
    ///
    /// Errors: those of [`Self::change_store`]; `Conflict` for a store without encryption.
    pub async fn rotate_store_key(&self, name: &str) -> Result<()> {
        self.require_farm_administrator("change BLOB stores")?;
        let row = self.map().await?.store_named(name)?.clone();
        let (_, secrets) = self.repository.inner.store_settings(&row).await?;
        let keys = secrets.get(KEYS).ok_or_else(|| {
            Error::conflict(format!(
                "BLOBs in the store \"{name}\" are not encrypted, so that there is no key to rotate"
            ))
        })?;
        let fresh = BTreeMap::from([(KEYS.to_owned(), with_new_key(Some(keys))?)]);
        self.change_store(name, &BTreeMap::new(), &fresh).await
    }

    /// Writes, reads, lists and deletes a probe in a store, and tells how long each took.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `NotFound`; `Unavailable` when the store cannot be opened.
    /// What goes wrong with the probe is in the report.
    pub async fn test_store(&self, name: &str) -> Result<ProbeReport> {
        self.require_farm_administrator("test BLOB stores")?;
        self.repository.refresh_map().await?;
        let map = self.repository.map().await?;
        let row = map.store_named(name)?;
        if row.id == DATABASE_STORE {
            return Ok(map.database_named(None)?.own_store.test().await);
        }
        // Opened here, so that what prevents it is told.
        let store = self.repository.inner.open_store(row, false).await?;
        let report = store.test().await;
        store.close().await;
        Ok(report)
    }

    /// Makes the directory or bucket of a store that is lost for good a store again, an empty one.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `NotFound`; `Conflict` when the store is there, or is that of the databases
    /// themselves.
    pub async fn make_store_anew(&self, name: &str) -> Result<()> {
        self.require_farm_administrator("change BLOB stores")?;
        let row = self.map().await?.store_named(name)?.clone();
        if row.id == DATABASE_STORE {
            return Err(Error::conflict(format!(
                "the store \"{name}\" is the content databases: they are restored, not made anew"
            )));
        }
        match self.repository.inner.open_store(&row, false).await {
            Err(error) if error.code() == "store_absent" => {}
            Err(error) => return Err(error),
            Ok(store) => {
                store.close().await;
                return Err(Error::conflict(format!("the BLOB store \"{name}\" is there: nothing was changed")));
            }
        }
        self.repository.inner.open_store(&row, true).await?.close().await;
        let (actor, subject) = (self.principal.id, row.name.clone());
        let note = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            event::record(transaction, Timestamp::now(), actor, "store.make_anew", &subject, &row.location)
        };
        self.repository.inner.configuration.write(note).await?;
        self.repository.refresh_map().await
    }

    /// Takes a store back that another restoration of this farm holds, which can write to it no more when this answers, after six seconds.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `NotFound`; `Conflict` when nobody else holds it; why it does not answer.
    pub async fn take_store_over(&self, name: &str) -> Result<()> {
        self.require_farm_administrator("take BLOB stores over")?;
        let row = self.map().await?.store_named(name)?.clone();
        let store = self.repository.inner.open_store(&row, false).await?;
        let holder = self.repository.inner.holder.clone();
        let before = store.hand_over(holder.clone()).await;
        store.close().await;
        if before? == holder {
            return Err(Error::conflict(format!("nobody else holds the BLOB store \"{name}\": nothing was changed")));
        }
        let (actor, subject) = (self.principal.id, row.name.clone());
        let note = move |transaction: &mut Transaction<'_>| {
            event::record(transaction, Timestamp::now(), actor, "store.take_over", &subject, &row.location)
        };
        self.repository.inner.configuration.write(note).await?;
        tokio::time::sleep(HANDED_OVER).await;
        Ok(())
    }

    /// Opens a store up for new BLOBs, or closes it.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `NotFound`; `Conflict` when a policy still sends new BLOBs
    /// to a store that is to be closed, naming the policies.
    pub async fn set_store_state(&self, name: &str, state: StoreState) -> Result<()> {
        self.require_farm_administrator("change BLOB stores")?;
        self.repository.refresh_map().await?;
        let map = self.repository.map().await?;
        let row = map.store_named(name)?;
        if state != StoreState::Active {
            if row.id == DATABASE_STORE {
                return Err(Error::conflict(
                    "the content databases always take what is smaller than the minimum size of their policy: set the minimum \
                     size to 0 to keep new BLOBs out of them",
                )
                .with_code("store_in_use"));
            }
            let users = users_of(&map, row.id);
            if !users.is_empty() {
                return Err(Error::conflict(format!(
                    "new BLOBs go to \"{name}\" by the policy of {}: name another store there first",
                    users.join(", ")
                ))
                .with_code("store_in_use"));
            }
        }
        let (id, subject, actor) = (row.id, row.name.clone(), self.principal.id);
        if state == StoreState::Active {
            // A removal that was cut short closed it.
            reopen_store(&map, id).await?;
        }
        let change = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            farm::set_store_state(transaction, id, state.as_str())?;
            event::record(transaction, Timestamp::now(), actor, "store.state", &subject, state.as_str())
        };
        self.repository.inner.configuration.write(change).await?;
        self.repository.refresh_map().await
    }

    /// Makes the farm forget a store. Its bytes are left where they are.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `NotFound`; `Conflict` while it is active, while documents
    /// refer to BLOBs in it, and, unless `force` is set, while BLOBs lie in it that nothing refers to.
    pub async fn remove_store(&self, name: &str, force: bool) -> Result<()> {
        self.require_farm_administrator("remove BLOB stores")?;
        self.repository.refresh_map().await?;
        let map = self.repository.map().await?;
        let row = map.store_named(name)?.clone();
        if row.id == DATABASE_STORE || row.id == FILES_STORE {
            return Err(Error::conflict(format!("the store \"{name}\" belongs to every farm and cannot be removed"))
                .with_code("store_in_use"));
        }
        if row.state == "active" {
            return Err(Error::conflict(format!(
                "\"{name}\" still takes new BLOBs: make it read-only or drain it first"
            ))
            .with_code("store_in_use"));
        }
        map.require_all()?;
        let id = row.id;
        match self.forget_store(&map, row, force).await {
            Ok(store) => {
                self.repository.refresh_map().await?;
                if let Some(store) = store {
                    store.close().await;
                }
                Ok(())
            }
            // It may be gone.
            Err(error) if error.code() == "outcome_unknown" => Err(error),
            Err(error) => {
                reopen_store(&map, id).await?;
                Err(error)
            }
        }
    }

    /// Forgets a store to which nothing refers, and to which no upload that is under way can refer any more. Returns it, if it is open.
    async fn forget_store(&self, map: &Map, row: StoreRow, force: bool) -> Result<Option<BlobStore>> {
        let (id, name) = (row.id, row.name.clone());
        for content in &map.databases {
            content.database.write(move |transaction| reclaim::close_store(transaction, id)).await?;
            content.database.write(reclaim::wait_for_references).await?;
            let totals = content.database.read_long(blob::totals).await?;
            if let Some((_, count, _)) = totals.iter().find(|(known, ..)| *known == id) {
                return Err(Error::conflict(format!(
                    "\"{name}\" still holds {} of the content database \"{}\": drain it first",
                    counted(crate::view::size(*count), "BLOB"),
                    content.row.name
                ))
                .with_code("store_in_use"));
            }
        }
        let store = map.stores.iter().find(|(known, _)| known.id == row.id).and_then(|(_, store)| store.clone());
        if !force {
            let store = store.as_ref().ok_or_else(|| {
                Error::unavailable(format!("\"{name}\" does not answer, so that nobody knows whether BLOBs are in it"))
            })?;
            if let Some(entry) = store.enumerate(None, 1).await?.entries.first() {
                return Err(Error::conflict(format!(
                    "BLOBs that nothing refers to are in \"{name}\", such as {}: collect them first, or force the removal and \
                     leave them where they are",
                    entry.digest
                ))
                .with_code("store_not_empty"));
            }
        }
        for content in &map.databases {
            content.database.write(move |transaction| reclaim::remove_store(transaction, id)).await?;
        }
        let actor = self.principal.id;
        let remove = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            farm::delete_store(transaction, row.id)?;
            event::record(transaction, Timestamp::now(), actor, "store.remove", &row.name, &row.location)
        };
        self.repository.inner.configuration.write(remove).await?;
        Ok(store)
    }

    async fn store_row(&self, id: Id, name: &Name, new: &NewStore) -> Result<StoreRow> {
        check_retention(&new.settings)?;
        let secret = match new.secrets.is_empty() {
            true => None,
            false => Some(self.repository.inner.seal_secrets(id, &new.secrets).await?),
        };
        Ok(StoreRow {
            id,
            name: name.as_str().to_owned(),
            kind: new.kind.clone(),
            state: StoreState::Active.as_str().to_owned(),
            location: new.location.clone(),
            settings: crate::provider::settings_text(&new.settings)?,
            secret,
        })
    }
}

/// Has the content databases take references to a store again.
async fn reopen_store(map: &Map, id: Id) -> Result<()> {
    for content in &map.databases {
        content.database.write_vital(move |transaction| reclaim::reopen_store(transaction, id)).await?;
    }
    Ok(())
}

/// Refuses a place with BLOBs that are encrypted by a key which the store was not given: nobody could read them.
async fn require_keys(row: &StoreRow, store: &BlobStore) -> Result<()> {
    for entry in store.enumerate(None, LOOKED_AT).await?.entries {
        let read = async { store.open(entry.digest, entry.size, None).await?.next_chunk().await };
        match read.await {
            Err(error) if error.code() == "store_key_missing" => {
                return Err(Error::conflict(format!(
                    "there are BLOBs in {} already, and {}, 64 hexadecimal digits, by --secret {KEYS}=KEY, or - for KEY to read it from the \
                     standard input; without it, choose another place",
                    row.location,
                    error.message()
                ))
                .with_code("store_key_needed"));
            }
            // A check tells of everything else.
            _ => {}
        }
    }
    Ok(())
}

/// Says of a place that another restoration of the farm holds that it cannot be added here.
fn of_another_copy(error: Error) -> Error {
    match error.code() {
        "store_taken_over" => Error::conflict(
            "the place is a BLOB store of another restoration of this farm, which alone may write to it: choose an empty place, or \
             remove what is there when nobody needs it any more",
        )
        .with_code("store_taken_over"),
        _ => error,
    }
}

/// Refuses a name or place that the farm has already.
fn refuse_known(known: &[StoreRow], new: &StoreRow) -> Result<()> {
    let folded = model::fold(&new.name);
    if known.iter().any(|row| model::fold(&row.name) == folded) {
        return Err(Error::conflict(format!("there is a BLOB store \"{}\" already", new.name)).with_code("name_taken"));
    }
    // A directory is one place whatever its settings are.
    let same = |row: &&StoreRow| {
        row.kind == new.kind
            && row.location == new.location
            && (row.kind == "directory" || row.settings == new.settings)
    };
    match known.iter().find(same) {
        Some(row) => Err(place::taken(new, row)),
        None => Ok(()),
    }
}
