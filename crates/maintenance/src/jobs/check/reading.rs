//! Re-reading of the BLOBs of a store. The faults of each page are recorded and counted before the position advances,
//! so that the page is not read again.

use std::collections::HashSet;

use blobs::{BlobStore, Entry};
use database::content::fault;
use database::{Database, Transaction};
use futures_util::stream::{self, StreamExt};
use model::{Digest, ErrorKind, Id, Result};
use repository::DATABASE_STORE;

use super::super::collect::unneeded;
use super::super::running_job::JobResult;
use super::super::throttle::Throttle;
use super::{AT_ONCE, Check, CheckedStore, Cursor, Fault, PAGE};

/// A BLOB that was read.
struct Read {
    entry: Entry,
    fault: Fault,
    /// Set when a content database refers to the BLOB.
    is_needed: bool,
}

impl Check<'_> {
    pub(super) async fn reread_all(
        &self,
        places: &[CheckedStore],
        throttle: &mut Throttle,
        cursor: &Cursor,
    ) -> JobResult<()> {
        let mut is_before = cursor.place != 0;
        for place in places {
            if is_before && place.key != cursor.place {
                continue;
            }
            let after = if is_before { cursor.digest.parse().ok() } else { None };
            is_before = false;
            if let Some(store) = self.responsive(place) {
                self.reread(place, store, throttle, after).await?;
                self.look_over(place, store).await?;
            }
        }
        Ok(())
    }

    /// Re-reads every BLOB of a store after `after`.
    async fn reread(
        &self,
        place: &CheckedStore,
        store: &BlobStore,
        throttle: &mut Throttle,
        mut after: Option<Digest>,
    ) -> JobResult<()> {
        loop {
            self.job.check_stop()?;
            let page = match store.enumerate(after, PAGE).await {
                Ok(page) => page,
                Err(error) => {
                    self.leave_out(place, &error);
                    return Ok(());
                }
            };
            let Some(last) = page.entries.last().map(|entry| entry.digest) else { return Ok(()) };
            let orphans = unneeded(&self.storage, &place.databases, place.id, page.entries.clone()).await?;
            let orphans: HashSet<Digest> = orphans.iter().map(|entry| entry.digest).collect();
            let (mut read, mut unread) = (Vec::new(), Vec::new());
            let ask = |entry: Entry| async move { (entry, store.reread(entry).await) };
            let mut asked = stream::iter(page.entries).map(ask).buffered(AT_ONCE);
            while let Some((entry, said)) = asked.next().await {
                match self.classify(place, said) {
                    Ok(fault) => read.push(Read { entry, fault, is_needed: !orphans.contains(&entry.digest) }),
                    Err(error) => unread.push((entry, error)),
                }
                if self.responsive(place).is_none() {
                    break;
                }
                throttle.after(self.job, entry.size).await?;
            }
            drop(asked);
            self.record(place, after, &read).await?;
            self.count_read(place, &read);
            if self.responsive(place).is_none() {
                return Ok(());
            }
            for (entry, error) in unread.iter().filter(|(entry, _)| !orphans.contains(&entry.digest)) {
                self.count("unchecked", 1);
                self.job.fail(entry.digest.to_string(), error);
            }
            self.go_on_at(Cursor { place: place.key, digest: last.to_string(), ..Cursor::default() });
            let Some(next) = page.next else { return Ok(()) };
            after = Some(next);
        }
    }

    /// Reports garbled bytes outside of BLOBs. Nothing is lost through them, but another reader of the files would fail
    /// on them.
    async fn look_over(&self, place: &CheckedStore, store: &BlobStore) -> Result<()> {
        let garbled = match store.look_over().await {
            // A store that has become unavailable is reported and left out by the functions that read BLOBs.
            Err(error) if error.kind() == ErrorKind::Unavailable => return Ok(()),
            looked => looked?,
        };
        for place_in_store in &garbled {
            tracing::warn!(store = place.name, place = place_in_store, "garbled bytes outside of BLOBs");
        }
        self.count("garbled_places", garbled.len() as u64);
        Ok(())
    }

    /// Records the faults of the BLOBs read after `after`, and clears the records of BLOBs that are intact again.
    async fn record(&self, place: &CheckedStore, after: Option<Digest>, read: &[Read]) -> Result<()> {
        let Some(last) = read.last().map(|read| read.entry.digest) else { return Ok(()) };
        for database in &place.databases {
            let known = recorded(&database.database, place.id, after, last).await?;
            for Read { entry, fault, .. } in read.iter().filter(|read| read.is_needed) {
                match fault {
                    Some((state, detail)) => {
                        self.storage.note_fault(database, place.id, entry.digest, *state, detail).await?;
                    }
                    None if known.contains(&entry.digest) => {
                        let (store, digest) = (place.id, entry.digest);
                        let mended =
                            move |transaction: &mut Transaction<'_>| fault::remove(transaction, store, &digest);
                        database.database.write_vital(mended).await?;
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    fn count_read(&self, place: &CheckedStore, read: &[Read]) {
        let (mut faults, mut unneeded, mut unneeded_bytes, mut damaged, mut bytes) = (0, 0, 0, 0, 0);
        for Read { entry, fault, is_needed } in read {
            bytes += entry.size;
            match fault {
                Some(_) if *is_needed => faults += 1,
                Some((state, detail)) => {
                    damaged += 1;
                    // No known document needs the BLOB.
                    tracing::warn!(
                        store = place.name,
                        digest = %entry.digest,
                        state = state.as_str(),
                        detail,
                        "a BLOB that no document needs is missing or damaged"
                    );
                }
                None if !is_needed => (unneeded, unneeded_bytes) = (unneeded + 1, unneeded_bytes + entry.size),
                None => {}
            }
        }
        metrics::counter!("strongroom_blob_faults_total").increment(faults);
        self.job.count("faults", faults);
        // A BLOB stored inside a database is needed by that database only.
        let [blobs, of_bytes, not_whole] = match self.is_incomplete && place.id != DATABASE_STORE {
            false => ["unreferenced_blobs", "unreferenced_bytes", "damaged_unreferenced"],
            true => ["undecided_blobs", "undecided_bytes", "damaged_undecided"],
        };
        self.count(blobs, unneeded);
        self.count(of_bytes, unneeded_bytes);
        self.count(not_whole, damaged);
        self.job.update_progress(|progress| {
            progress.items += read.len() as u64;
            progress.bytes += bytes;
        });
    }
}

/// Returns the BLOBs above `after` and up to `last` that a database has on record as missing or damaged in a store.
async fn recorded(database: &Database, store: Id, after: Option<Digest>, last: Digest) -> Result<HashSet<Digest>> {
    let (mut known, mut after) = (HashSet::new(), after.map(fault::after_all));
    loop {
        let page = database.read(move |reader| fault::list(reader, after, PAGE)).await?;
        let of_store = page.iter().filter(|row| row.store_id == store && row.digest <= last);
        known.extend(of_store.map(|row| row.digest));
        match page.last() {
            Some(row) if row.digest <= last => after = Some((row.digest, row.store_id)),
            _ => return Ok(known),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::Schema;
    use database::content::fault::FaultRow;
    use database::testing::each_engine;
    use model::{FaultState, Timestamp};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_fault_behind_the_end_of_a_page_is_known() {
        each_engine(Schema::Content, |database| async move {
            // The page ends between the faults of one BLOB in two stores.
            let digest = |number: usize| {
                let mut bytes = [0; 32];
                bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
                Digest::new(bytes)
            };
            let write = move |transaction: &mut Transaction<'_>| {
                let others = (1..PAGE).map(|number| (number, 1));
                for (number, store) in others.chain([(PAGE, 1), (PAGE, 2), (PAGE + 1, 2)]) {
                    fault::put(transaction, &row(digest(number), store))?;
                }
                Ok(())
            };
            database.write(write).await.unwrap();
            let second = Id::new(2);
            let known = recorded(&database, second, None, digest(PAGE)).await.unwrap();
            assert_eq!(known, HashSet::from([digest(PAGE)]));
            let known = recorded(&database, second, Some(digest(PAGE)), digest(PAGE + 1)).await.unwrap();
            assert_eq!(known, HashSet::from([digest(PAGE + 1)]));
        })
        .await;
    }

    fn row(digest: Digest, store: i64) -> FaultRow {
        FaultRow {
            store_id: Id::new(store),
            digest,
            state: FaultState::Missing,
            detail: String::new(),
            found_at: Timestamp::from_micros(1),
            accepted_at: None,
            accepted_by: None,
        }
    }
}
