//! What the farm holds where, and whether all bytes that content databases refer to are there and undamaged.

use std::collections::BTreeMap;

use blobs::{Outcome, Usage};
use database::Transaction;
use database::configuration::farm::StoreRow;
use database::content::fault::{self, FaultRow};
use database::content::{blob, tree};
use model::{Digest, Error, ErrorKind, Id, Result, Right, Timestamp};

use crate::farm::DATABASE_STORE;
use crate::map::{ContentDatabase, Map};
use crate::view::size;
use crate::{Session, Target};

/// Rows of one page of the census.
const CENSUS_PAGE: usize = 1_000;
/// Documents named for each damaged BLOB.
const NAMED_DOCUMENTS: usize = 20;

/// A content database and what it refers to.
#[derive(Clone, Debug)]
pub struct DatabaseStatus {
    /// Name.
    pub name: String,
    /// `sqlite` or `postgres`.
    pub engine: &'static str,
    /// Bytes of the database itself.
    pub bytes: u64,
    /// BLOBs smaller than this stay in the database.
    pub minimum_size: u64,
    /// Name of the store that new BLOBs go to.
    pub active_store: String,
    /// For each store: its name, number of BLOBs referred to, their bytes.
    pub references: Vec<(String, u64, u64)>,
}

/// A BLOB store and what it holds.
#[derive(Clone, Debug)]
pub struct StoreStatus {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: String,
    /// Kind of its provider.
    pub kind: String,
    /// `active`, `read-only` or `draining`.
    pub state: String,
    /// Where it is.
    pub location: String,
    /// Settings of its provider by name. Credentials and keys are not among them.
    pub settings: BTreeMap<String, String>,
    /// Whether it has credentials or keys.
    pub has_secrets: bool,
    /// What it holds; none when it does not answer, or was not asked.
    pub usage: Option<Usage>,
}

/// A BLOB that is not as it must be.
#[derive(Clone, Debug)]
pub struct CheckedBlob {
    /// Identity, where it can be told.
    pub digest: Option<Digest>,
    /// The store.
    pub store: String,
    /// `missing`, `damaged`.
    pub state: &'static str,
    /// Where and what exactly.
    pub detail: String,
    /// Documents that need it: identifier and name.
    pub documents: Vec<(Id, String)>,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// BLOBs that were re-read.
    pub blobs: u64,
    /// Bytes that were re-read.
    pub bytes: u64,
    /// References that were followed.
    pub references: u64,
    /// BLOBs in stores that no content database refers to, and their bytes: uploads that never were acknowledged, and what
    /// was deleted. They do no harm.
    pub unreferenced: (u64, u64),
    /// What is not as it must be.
    pub faults: Vec<CheckedBlob>,
}

impl Session {
    /// Number of documents below an item and bytes of their latest versions; needs the right to manage the site, since it
    /// counts what the caller may not see too. Takes long for millions.
    pub async fn contents(&self, target: &Target) -> Result<(u64, u64)> {
        let located = self.locate(target).await?;
        located.require(Right::ManageSite)?;
        let id = located.node().id;
        let (documents, bytes) = located.content.database.read_long(move |reader| tree::contents(reader, id)).await?;
        Ok((size(documents), size(bytes)))
    }

    /// Content databases and stores of the farm.
    pub async fn storage_status(&self) -> Result<(Vec<DatabaseStatus>, Vec<StoreStatus>)> {
        self.require_farm_administrator("see its storage")?;
        let map = self.map().await?;
        let name_of = |id: Id| {
            let found = map.stores.iter().find(|(row, _)| row.id == id);
            found.map_or_else(|| id.to_string(), |(row, _)| row.name.clone())
        };
        let mut databases = Vec::new();
        for content in &map.databases {
            let totals = content.database.read_long(blob::totals).await?;
            databases.push(DatabaseStatus {
                name: content.row.name.clone(),
                engine: content.database.engine().as_str(),
                bytes: content.database.size_bytes().await?,
                minimum_size: size(content.row.minimum_size),
                active_store: name_of(content.row.active_store_id),
                references: totals.into_iter().map(|(id, n, bytes)| (name_of(id), size(n), size(bytes))).collect(),
            });
        }
        let mut stores = Vec::new();
        for (row, store) in &map.stores {
            let usage = match store {
                Some(store) => store.usage().await.ok(),
                None => self.database_store_usage().await.ok(),
            };
            stores.push(StoreStatus { usage, ..described(row)? });
        }
        Ok((databases, stores))
    }

    /// The stores of the farm, none of which is asked what it holds: that may take long.
    ///
    /// Errors: `Forbidden` for others than farm administrators.
    pub async fn stores(&self) -> Result<Vec<StoreStatus>> {
        self.require_farm_administrator("see its storage")?;
        self.repository.refresh_map().await?;
        self.repository.map().await?.stores.iter().map(|(row, _)| described(row)).collect()
    }

    async fn database_store_usage(&self) -> Result<Usage> {
        let mut sum = Usage::default();
        for content in &self.map().await?.databases {
            let usage = content.own_store.usage().await?;
            sum.blobs += usage.blobs;
            sum.content_bytes += usage.content_bytes;
            sum.disk_bytes += usage.disk_bytes;
        }
        Ok(sum)
    }

    /// Re-reads every BLOB of every store and follows every reference. `progress` hears of each BLOB: bytes read so far and
    /// bytes in all.
    pub async fn check_blobs(&self, mut progress: impl FnMut(u64, u64) + Send) -> Result<CheckReport> {
        self.require_farm_administrator("check BLOBs")?;
        let map = self.map().await?;
        let mut report = CheckReport::default();
        let mut total = self.database_store_usage().await?.content_bytes;
        for (_, store) in &map.stores {
            if let Some(store) = store {
                total += store.usage().await?.content_bytes;
            }
        }
        for (row, store) in &map.stores {
            match store {
                Some(store) => self.reread(&row.name, store, &mut report, &mut progress, total).await?,
                None => {
                    for content in &map.databases {
                        self.reread(&row.name, &content.own_store, &mut report, &mut progress, total).await?;
                    }
                }
            }
        }
        for content in &map.databases {
            self.follow(content, &mut report).await?;
        }
        self.count_unreferenced(&mut report).await?;
        for content in &map.databases {
            record_faults(content, &map, &report.faults).await?;
        }
        Ok(report)
    }

    async fn reread(
        &self,
        name: &str,
        store: &blobs::BlobStore,
        report: &mut CheckReport,
        progress: &mut (impl FnMut(u64, u64) + Send),
        total: u64,
    ) -> Result<()> {
        let mut findings = store.verify();
        while let Some(checked) = findings.next().await {
            let checked = checked?;
            report.blobs += 1;
            report.bytes += checked.size;
            progress(report.bytes, total);
            let (state, detail) = match checked.outcome {
                Outcome::Intact => continue,
                Outcome::Damaged { place, what } => ("damaged", format!("{place}: {what}")),
                Outcome::Missing { place } => ("missing", place),
            };
            let documents = self.documents_of(checked.digest).await?;
            report.faults.push(CheckedBlob {
                digest: checked.digest,
                store: name.to_owned(),
                state,
                detail,
                documents,
            });
        }
        Ok(())
    }

    async fn documents_of(&self, digest: Option<Digest>) -> Result<Vec<(Id, String)>> {
        let mut documents = Vec::new();
        if let Some(digest) = digest {
            for content in &self.map().await?.databases {
                let find =
                    move |reader: &mut database::Reader<'_>| blob::documents_of(reader, &digest, NAMED_DOCUMENTS);
                documents.extend(content.database.read_long(find).await?);
            }
        }
        Ok(documents)
    }

    /// Opens what every reference of a content database leads to.
    async fn follow(&self, content: &ContentDatabase, report: &mut CheckReport) -> Result<()> {
        let map = self.map().await?;
        let mut after = Id::NONE;
        loop {
            let page = content.database.read_long(move |reader| blob::after(reader, after, CENSUS_PAGE)).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.id;
            for row in page {
                report.references += 1;
                let opened = match map.store(row.store_id, content) {
                    Ok(store) => store.confirm(row.digest, size(row.size)).await,
                    Err(error) => Err(error),
                };
                let state = match &opened {
                    Ok(()) => continue,
                    Err(error) if error.kind() == ErrorKind::NotFound => "missing",
                    Err(error) if error.kind() == ErrorKind::Corrupt => "damaged",
                    Err(error) => return Err(Error::new(error.kind(), error.message().to_owned())),
                };
                if report.faults.iter().any(|fault| fault.digest == Some(row.digest)) {
                    continue;
                }
                let documents = self.documents_of(Some(row.digest)).await?;
                let store = map.stores.iter().find(|(store, _)| store.id == row.store_id);
                report.faults.push(CheckedBlob {
                    digest: Some(row.digest),
                    store: store.map_or_else(String::new, |(store, _)| store.name.clone()),
                    state,
                    detail: opened.err().map(|error| error.message().to_owned()).unwrap_or_default(),
                    documents,
                });
            }
        }
    }

    /// Counts BLOBs in shared stores that no content database refers to.
    async fn count_unreferenced(&self, report: &mut CheckReport) -> Result<()> {
        let map = self.map().await?;
        for (row, store) in &map.stores {
            let (Some(store), true) = (store, row.id != DATABASE_STORE) else { continue };
            let mut after = None;
            loop {
                let page = store.enumerate(after, CENSUS_PAGE).await?;
                for entry in page.entries {
                    let mut known = false;
                    for content in &map.databases {
                        let digest = entry.digest;
                        known |= content.database.read(move |reader| blob::find(reader, &digest)).await?.is_some();
                    }
                    if !known {
                        report.unreferenced.0 += 1;
                        report.unreferenced.1 += entry.size;
                    }
                }
                match page.next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
        }
        Ok(())
    }
}

/// Keeps what is wrong with BLOBs that a content database needs on record, and takes off it what is whole again.
async fn record_faults(content: &ContentDatabase, map: &Map, found: &[CheckedBlob]) -> Result<()> {
    let now = Timestamp::now();
    let mut rows = Vec::new();
    for fault in found {
        let (Some(digest), Ok(store)) = (fault.digest, map.store_named(&fault.store)) else { continue };
        rows.push(FaultRow {
            store_id: store.id,
            digest,
            state: fault.state.to_owned(),
            detail: fault.detail.clone(),
            found_at: now,
            accepted_at: None,
            accepted_by: None,
        });
    }
    let write = move |transaction: &mut Transaction<'_>| {
        let mut after = None;
        loop {
            let known = fault::list(transaction, after, CENSUS_PAGE)?;
            let Some(last) = known.last() else { break };
            after = Some(last.digest);
            for old in known {
                if !rows.iter().any(|row| row.digest == old.digest && row.store_id == old.store_id) {
                    fault::remove(transaction, old.store_id, &old.digest)?;
                }
            }
        }
        for row in &rows {
            if blob::is_in(transaction, &row.digest, row.store_id)? {
                fault::put(transaction, row)?;
            }
        }
        Ok(())
    };
    content.database.write_vital(write).await
}

/// A store that was not asked what it holds.
fn described(row: &StoreRow) -> Result<StoreStatus> {
    Ok(StoreStatus {
        id: row.id,
        name: row.name.clone(),
        kind: row.kind.clone(),
        state: row.state.clone(),
        location: row.location.clone(),
        settings: crate::provider::settings_from(row.settings.as_bytes(), &row.name)?,
        has_secrets: row.secret.is_some(),
        usage: None,
    })
}
