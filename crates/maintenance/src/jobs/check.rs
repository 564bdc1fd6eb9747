//! The check: re-reads BLOBs at a chosen rate and follows references. What is missing or damaged stays on record until it is
//! whole again, restored, or its loss accepted.
//!
//! Goes through each store in the order of digests, so that it can go on where it was, and asks the same census as collection.

use blobs::{BlobHasher, BlobStore, Entry};
use database::content::blob::{self, BlobRow};
use database::content::fault::{self, FaultRow};
use database::{Reader, Transaction};
use model::{Digest, Error, ErrorKind, Id, Result, Timestamp, counted};
use repository::{CheckWork, DATABASE_STORE, Storage, StorageDatabase};
use serde::{Deserialize, Serialize};

use super::collect::unknown;
use super::throttle::Throttle;
use super::ticket::{Flow, Ticket};

/// BLOBs of one page of a listing, and references of one page of the census.
const PAGE: usize = 500;

/// Where a check goes on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cursor {
    /// Whether stores are done and references are followed.
    references: bool,
    /// The store or database that is being worked on.
    place: i64,
    /// The last BLOB that was re-read there.
    digest: String,
    /// The last reference that was followed there.
    after: i64,
}

/// One store as its databases see it.
struct Place {
    id: Id,
    /// What a cursor calls it: each database has a store of its own under the same identifier.
    key: i64,
    store: BlobStore,
    databases: Vec<StorageDatabase>,
}

pub(super) async fn run(ticket: &Ticket, work: &CheckWork) -> Flow<String> {
    let storage = ticket.storage().refreshed().await?;
    let mut throttle = Throttle::new(&storage, work.rate);
    let cursor: Cursor = serde_json::from_value(ticket.figures().cursor).unwrap_or_default();
    let places = places(ticket, &storage, work)?;
    let mut total = 0;
    for place in &places {
        total += place.store.usage().await?.content_bytes;
    }
    ticket.note(|figures| {
        figures.phase = "re-reading BLOBs".to_owned();
        figures.total_bytes = total;
    });
    if !cursor.references {
        let mut is_before = cursor.place != 0;
        for place in &places {
            if is_before && place.key != cursor.place {
                continue;
            }
            let after = if is_before { cursor.digest.parse().ok() } else { None };
            is_before = false;
            reread(ticket, &mut throttle, place, after).await?;
        }
    }
    ticket.note(|figures| figures.phase = "following references".to_owned());
    let mut is_before = cursor.references && cursor.place != 0;
    for database in storage.databases()? {
        if is_before && database.id.get() != cursor.place {
            continue;
        }
        let after = if is_before { Id::new(cursor.after) } else { Id::NONE };
        is_before = false;
        follow(ticket, &mut throttle, &places, &database, after).await?;
    }
    ticket.note(|figures| {
        figures.phase = String::new();
        figures.cursor = serde_json::Value::Null;
    });
    let figures = ticket.figures();
    let of = |name: &str| figures.results.get(name).copied().unwrap_or(0);
    let faults = match of("faults") {
        0 => "all are there and undamaged".to_owned(),
        1 => "1 is missing or damaged".to_owned(),
        count => format!("{count} are missing or damaged"),
    };
    let (items, references) = (counted(figures.items, "BLOB"), counted(of("references"), "reference"));
    Ok(format!("{items} re-read, {references} followed: {faults}"))
}

fn places(ticket: &Ticket, storage: &Storage, work: &CheckWork) -> Result<Vec<Place>> {
    let databases = storage.databases()?;
    let mut places = Vec::new();
    for (row, store) in storage.stores() {
        if work.store.as_ref().is_some_and(|name| *name != row.name) {
            continue;
        }
        match store {
            Some(store) => {
                places.push(Place { id: row.id, key: row.id.get(), store: store.clone(), databases: databases.clone() })
            }
            None if row.id == DATABASE_STORE => places.extend(databases.iter().map(|database| Place {
                id: row.id,
                key: database.id.get(),
                store: database.own_store.clone(),
                databases: vec![database.clone()],
            })),
            None => {
                let error = Error::unavailable("it is not attached or does not answer, so that it was left out");
                ticket.fail(format!("store {}", row.name), &error);
            }
        }
    }
    Ok(places)
}

/// Re-reads every BLOB of a store behind `after`.
async fn reread(ticket: &Ticket, throttle: &mut Throttle, place: &Place, mut after: Option<Digest>) -> Flow<()> {
    loop {
        ticket.go_on()?;
        let page = place.store.enumerate(after, PAGE).await?;
        let mut needed = page.entries.clone();
        let orphans = unknown(&place.databases, place.id, needed.clone()).await?;
        needed.retain(|entry| orphans.iter().all(|orphan| orphan.digest != entry.digest));
        for entry in &page.entries {
            let outcome = read_whole(&place.store, entry).await?;
            ticket.note(|figures| {
                figures.items += 1;
                figures.bytes += entry.size;
            });
            if needed.iter().any(|known| known.digest == entry.digest) {
                record(ticket, place.id, &place.databases, entry.digest, outcome).await?;
            } else if let Some((_, detail)) = outcome {
                ticket.count("damaged_orphans", 1);
                ticket.fail(entry.digest.to_string(), &Error::corrupt(format!("no document needs it: {detail}")));
            } else {
                ticket.count("unreferenced_blobs", 1);
                ticket.count("unreferenced_bytes", entry.size);
            }
            throttle.after(ticket, entry.size).await?;
        }
        let Some(next) = page.next else { return Ok(()) };
        after = Some(next);
        let cursor = Cursor { place: place.key, digest: next.to_string(), ..Cursor::default() };
        ticket.note(|figures| figures.cursor = serde_json::to_value(cursor).unwrap_or_default());
    }
}

/// A fault's state and its details; none when the BLOB is whole.
type Outcome = Option<(&'static str, String)>;

async fn read_whole(store: &BlobStore, entry: &Entry) -> Result<Outcome> {
    let read = async {
        let mut reader = store.open(entry.digest, entry.size, None).await?;
        let mut hasher = BlobHasher::new();
        while let Some(bytes) = reader.next_chunk().await? {
            hasher.update(&bytes);
        }
        match hasher.finish() == entry.digest {
            true => Ok(()),
            false => Err(Error::corrupt("its bytes do not have its digest")),
        }
    };
    outcome(read.await)
}

/// Only what a store says for certain about one BLOB is a fault; other errors end the check.
fn outcome(read: Result<()>) -> Result<Outcome> {
    match read {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some(("missing", error.message().to_owned()))),
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Some(("damaged", error.message().to_owned()))),
        Err(error) => Err(error),
    }
}

/// Opens what the references of a database lead to, in the stores that are checked.
async fn follow(
    ticket: &Ticket,
    throttle: &mut Throttle,
    places: &[Place],
    database: &StorageDatabase,
    mut after: Id,
) -> Flow<()> {
    loop {
        ticket.go_on()?;
        let read = move |reader: &mut Reader<'_>| blob::after(reader, after, PAGE);
        let page: Vec<BlobRow> = database.database.read_long(read).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.id;
        for row in page {
            let place = places
                .iter()
                .find(|place| place.id == row.store_id && place.databases.iter().any(|known| known.id == database.id));
            let Some(place) = place else { continue };
            ticket.count("references", 1);
            let opened = place.store.confirm(row.digest, row.size.max(0) as u64).await;
            if let Some(found) = outcome(opened)? {
                // What is damaged was found, and counted, when it was re-read.
                if found.0 == "damaged" && is_known(database, place.id, row.digest).await? {
                    continue;
                }
                let only = std::slice::from_ref(database);
                record(ticket, place.id, only, row.digest, Some(found)).await?;
            }
        }
        let cursor = Cursor { references: true, place: database.id.get(), after: after.get(), ..Cursor::default() };
        ticket.note(|figures| figures.cursor = serde_json::to_value(cursor).unwrap_or_default());
        throttle.after(ticket, 0).await?;
    }
}

/// Whether a database has a fault of this BLOB in this store on record.
async fn is_known(database: &StorageDatabase, store: Id, digest: Digest) -> Result<bool> {
    let known = database.database.read(move |reader| fault::find(reader, &digest)).await?;
    Ok(known.iter().any(|row| row.store_id == store))
}

/// Writes a fault into the databases that need the BLOB, or takes the record of one that is mended.
async fn record(
    ticket: &Ticket,
    store: Id,
    databases: &[StorageDatabase],
    digest: Digest,
    outcome: Outcome,
) -> Result<()> {
    for database in databases {
        let known = is_known(database, store, digest).await?;
        match &outcome {
            None if known => {
                let mended = move |transaction: &mut Transaction<'_>| fault::remove(transaction, store, &digest);
                database.database.write_vital(mended).await?;
            }
            None => {}
            Some((state, detail)) => {
                let row = FaultRow {
                    store_id: store,
                    digest,
                    state: (*state).to_owned(),
                    detail: detail.clone(),
                    found_at: Timestamp::now(),
                    accepted_at: None,
                    accepted_by: None,
                };
                let write = move |transaction: &mut Transaction<'_>| match blob::is_in(transaction, &digest, store)? {
                    true => fault::put(transaction, &row).map(|()| true),
                    false => Ok(false),
                };
                if database.database.write_vital(write).await? {
                    ticket.count("faults", 1);
                    metrics::counter!("strongroom_blob_faults_total").increment(1);
                }
            }
        }
    }
    Ok(())
}
