//! The farm's own row, its settings, its content databases and its BLOB stores.

use model::{Error, Id, IdRange, Result, StoreKind, StoreState, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND_FARM = "SELECT id, directory_version FROM farm";
    CREATED_AT = "SELECT created_at FROM farm";
    INSERT_FARM = "INSERT INTO farm (id, created_at, server_count, directory_version) VALUES ($1, $2, 0, 1)";
    COUNT_SERVER = "UPDATE farm SET server_count = server_count + 1";
    LOCK_FARM = "UPDATE farm SET server_count = server_count";
    SERVER_COUNT = "SELECT server_count FROM farm";
    CHANGE_DIRECTORY = "UPDATE farm SET directory_version = directory_version + 1";
    FIND_SETTING = "SELECT value FROM setting WHERE name = $1";
    PUT_SETTING = "INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value =
        excluded.value";
    DELETE_SETTING = "DELETE FROM setting WHERE name = $1";
    LIST_DATABASES = "SELECT id, name, location, active_store_id, minimum_size FROM content_database ORDER BY id";
    INSERT_DATABASE = "INSERT INTO content_database (id, name, location, active_store_id, minimum_size, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    UPDATE_POLICY = "UPDATE content_database SET active_store_id = $2, minimum_size = $3 WHERE id = $1";
    LIST_STORES = "SELECT id, name, kind, state, location, settings, secret FROM blob_store ORDER BY id";
    INSERT_STORE = "INSERT INTO blob_store (id, name, kind, state, location, settings, secret, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    SET_STORE_STATE = "UPDATE blob_store SET state = $2 WHERE id = $1";
    SET_STORE_PLACE = "UPDATE blob_store SET location = $2, settings = $3, secret = $4 WHERE id = $1";
    DELETE_STORE = "DELETE FROM blob_store WHERE id = $1";
}

/// The farm's own row.
#[derive(Clone, Debug)]
pub struct FarmRow {
    /// Identifier of the farm. BLOB stores carry it in their owner marker.
    pub id: Id,
    /// Raised with every change of accounts, groups, members or roles.
    pub directory_version: i64,
}

/// A content database that is registered in the farm.
#[derive(Clone, Debug)]
pub struct ContentDatabaseRow {
    /// Identifier.
    pub id: Id,
    /// Unique name.
    pub name: String,
    /// Location: a path (relative to the data directory) or a PostgreSQL URL.
    pub location: String,
    /// Store for new BLOBs.
    pub active_store_id: Id,
    /// BLOBs smaller than this many bytes stay in the database.
    pub minimum_size: i64,
}

/// A BLOB store that is registered in the farm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreRow {
    /// Identifier.
    pub id: Id,
    /// Unique name.
    pub name: String,
    /// Kind of the provider.
    pub kind: StoreKind,
    /// State with regard to new BLOBs.
    pub state: StoreState,
    /// Location; empty for the database kind.
    pub location: String,
    /// Settings of the provider, as JSON.
    pub settings: String,
    /// The secret settings of the provider, sealed.
    pub secret: Option<Vec<u8>>,
}

/// The farm's row; `None` if the farm has not been created yet.
pub fn find(reader: &mut Reader<'_>) -> Result<Option<FarmRow>> {
    reader.find(FIND_FARM, &[], |row| Ok(FarmRow { id: row.get(0)?, directory_version: row.get(1)? }))
}

/// Time when the farm was created.
pub fn created_at(reader: &mut Reader<'_>) -> Result<Option<Timestamp>> {
    reader.find(CREATED_AT, &[], |row| row.get(0))
}

/// Creates the farm's row.
pub fn insert(transaction: &mut Transaction<'_>, id: Id, now: Timestamp) -> Result<()> {
    transaction.execute(INSERT_FARM, &params![id, now]).map(drop)
}

/// Counts a server start and returns its number. No earlier start had that number.
pub fn next_server(transaction: &mut Transaction<'_>) -> Result<i64> {
    transaction.execute(COUNT_SERVER, &[])?;
    Ok(transaction.find(SERVER_COUNT, &[], |row| row.get(0))?.unwrap_or(0))
}

/// Setting: the millisecond up to which identifiers have been granted.
const IDENTIFIERS: &str = "identifiers-granted";

/// Ten years in milliseconds.
const FAR: i64 = 10 * 365 * 24 * 3600 * 1000;

/// Grants a range of identifiers that no other caller has. If the caller's range `mine` is the last one granted, that
/// range is extended. Otherwise the new range begins at `present` or later, after all others.
pub fn grant_identifiers(
    transaction: &mut Transaction<'_>,
    mine: Option<IdRange>,
    present: i64,
    length: i64,
) -> Result<IdRange> {
    // Serialises the callers, across servers too.
    transaction.execute(LOCK_FARM, &[])?;
    let granted = granted_identifiers(transaction)?;
    // A clock that is this far ahead is ignored, because the identifiers last for only 69 years.
    let present = if granted > 0 && present > granted.saturating_add(FAR) { granted } else { present };
    let start = match mine {
        Some(mine) if mine.end == granted => mine.start,
        _ => present.max(granted),
    };
    let end = present.max(granted).saturating_add(length);
    put_setting(transaction, IDENTIFIERS, &end.to_string())?;
    Ok(start..end)
}

/// Gives back the unused part of a range, provided that no later range has been granted.
pub fn return_identifiers(transaction: &mut Transaction<'_>, mine: &IdRange, unused: i64) -> Result<()> {
    transaction.execute(LOCK_FARM, &[])?;
    if granted_identifiers(transaction)? != mine.end {
        return Ok(());
    }
    put_setting(transaction, IDENTIFIERS, &unused.to_string())
}

fn granted_identifiers(reader: &mut Reader<'_>) -> Result<i64> {
    let Some(text) = setting(reader, IDENTIFIERS)? else { return Ok(0) };
    text.parse().map_err(|_| Error::corrupt(format!("the farm's setting {IDENTIFIERS} is not a number: {text}")))
}

/// Setting: the farm's record of its clock.
const CLOCK: &str = "clock";

/// The farm's record of its clock.
pub fn clock(reader: &mut Reader<'_>) -> Result<Option<String>> {
    setting(reader, CLOCK)
}

/// Stores the farm's record of its clock.
pub fn note_clock(transaction: &mut Transaction<'_>, text: &str) -> Result<()> {
    put_setting(transaction, CLOCK, text)
}

/// Raises the directory version, that of accounts, groups, members and roles.
pub fn change_directory(transaction: &mut Transaction<'_>) -> Result<()> {
    transaction.execute(CHANGE_DIRECTORY, &[]).map(drop)
}

/// The value of a setting.
pub fn setting(reader: &mut Reader<'_>, name: &str) -> Result<Option<String>> {
    reader.find(FIND_SETTING, &params![name], |row| row.get(0))
}

/// Sets a setting.
pub fn put_setting(transaction: &mut Transaction<'_>, name: &str, value: &str) -> Result<()> {
    transaction.execute(PUT_SETTING, &params![name, value]).map(drop)
}

/// Setting: the farm's own BLOB directory has been created. It must never be recreated automatically.
const FILES_MADE: &str = "files-made";

/// Returns whether the farm's own BLOB directory was ever created.
pub fn has_made_files(reader: &mut Reader<'_>) -> Result<bool> {
    Ok(setting(reader, FILES_MADE)?.is_some())
}

/// Records that the farm's own BLOB directory was created.
pub fn note_made_files(transaction: &mut Transaction<'_>) -> Result<()> {
    put_setting(transaction, FILES_MADE, "yes")
}

/// Setting: the farm's first content database, until it has been created. A database that this setting does not name is
/// never recreated.
const TO_MAKE: &str = "content-database-to-make";

/// The content database that the first start has yet to create.
pub fn pending_database(reader: &mut Reader<'_>) -> Result<Option<Id>> {
    setting(reader, TO_MAKE)?.map(|id| id.parse()).transpose()
}

/// Records which content database the first start has to create.
pub fn set_pending_database(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    put_setting(transaction, TO_MAKE, &id.to_string())
}

/// Records that the first content database has been created.
pub fn clear_pending_database(transaction: &mut Transaction<'_>) -> Result<()> {
    transaction.execute(DELETE_SETTING, &params![TO_MAKE]).map(drop)
}

/// Setting: distinguishes this farm from others that were restored from the same backups.
const HOLDER: &str = "holder";

/// Identifies which restore of the farm this is. BLOB stores name it as their holder. `None` if the farm was never
/// restored.
pub fn holder(reader: &mut Reader<'_>) -> Result<Option<String>> {
    setting(reader, HOLDER)
}

/// Records which restore of the farm this is.
pub fn set_holder(transaction: &mut Transaction<'_>, holder: &str) -> Result<()> {
    put_setting(transaction, HOLDER, holder)
}

/// Prefix of the setting that identifies the current removal of a store. The identifier of the store follows.
const REMOVAL: &str = "removal-of-store-";

/// The removal of a BLOB store that is in progress or was interrupted. Only this removal may delete the store's row.
pub fn removal(reader: &mut Reader<'_>, store: Id) -> Result<Option<Id>> {
    setting(reader, &format!("{REMOVAL}{store}"))?.map(|id| id.parse()).transpose()
}

/// Begins a removal of a store. An earlier removal of the same store can no longer complete.
pub fn begin_removal(transaction: &mut Transaction<'_>, store: Id, removal: Id) -> Result<()> {
    put_setting(transaction, &format!("{REMOVAL}{store}"), &removal.to_string())
}

/// Makes sure that no removal of the store that is in progress can complete.
pub fn end_removal(transaction: &mut Transaction<'_>, store: Id) -> Result<()> {
    transaction.execute(DELETE_SETTING, &params![format!("{REMOVAL}{store}")]).map(drop)
}

/// All content databases, oldest first.
pub fn databases(reader: &mut Reader<'_>) -> Result<Vec<ContentDatabaseRow>> {
    reader.query(LIST_DATABASES, &[], |row| {
        Ok(ContentDatabaseRow {
            id: row.get(0)?,
            name: row.get(1)?,
            location: row.get(2)?,
            active_store_id: row.get(3)?,
            minimum_size: row.get(4)?,
        })
    })
}

/// Registers a content database.
pub fn insert_database(transaction: &mut Transaction<'_>, row: &ContentDatabaseRow, now: Timestamp) -> Result<()> {
    let values = params![row.id, &row.name, &row.location, row.active_store_id, row.minimum_size, now];
    transaction.execute(INSERT_DATABASE, &values).map(drop)
}

/// Changes the store and the minimum size for new BLOBs of a content database.
pub fn update_policy(transaction: &mut Transaction<'_>, id: Id, active_store: Id, minimum_size: i64) -> Result<u64> {
    transaction.execute(UPDATE_POLICY, &params![id, active_store, minimum_size])
}

/// All BLOB stores, oldest first.
pub fn stores(reader: &mut Reader<'_>) -> Result<Vec<StoreRow>> {
    reader.query(LIST_STORES, &[], |row| {
        Ok(StoreRow {
            id: row.get(0)?,
            name: row.get(1)?,
            kind: row.get(2)?,
            state: row.get(3)?,
            location: row.get(4)?,
            settings: row.get(5)?,
            secret: row.get(6)?,
        })
    })
}

/// Registers a BLOB store.
pub fn insert_store(transaction: &mut Transaction<'_>, row: &StoreRow, now: Timestamp) -> Result<()> {
    let (settings, secret) = (&row.settings, row.secret.as_deref());
    let values = params![row.id, &row.name, row.kind, row.state, &row.location, settings, secret, now];
    transaction.execute(INSERT_STORE, &values).map(drop)
}

/// Changes the state of a BLOB store, which decides whether it takes new BLOBs. Returns false if the store is no longer
/// registered.
pub fn set_store_state(transaction: &mut Transaction<'_>, id: Id, state: StoreState) -> Result<bool> {
    Ok(transaction.execute(SET_STORE_STATE, &params![id, state])? == 1)
}

/// Changes the location of a BLOB store and how it is reached.
pub fn set_store_place(transaction: &mut Transaction<'_>, row: &StoreRow) -> Result<()> {
    let values = params![row.id, &row.location, &row.settings, row.secret.as_deref()];
    transaction.execute(SET_STORE_PLACE, &values).map(drop)
}

/// Deletes the row of a BLOB store, together with the record of its removal.
pub fn delete_store(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    end_removal(transaction, id)?;
    transaction.execute(DELETE_STORE, &params![id]).map(drop)
}
