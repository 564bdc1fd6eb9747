//! The open farm, as shared by all sessions.

use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

use async_recursion::async_recursion as boxed;
use blobs::DirectoryOptions;
use database::configuration::farm::{self, ContentDatabaseRow};
use database::content::{node, revision, version};
use database::{Database, Location, Reader};
use model::{Error, Id, IdSource, Result, id_time};
use search::programs::{ProgramSettings, Programs};
use search::sandbox::Sandbox;
use tokio::sync::OnceCell;

use crate::farm::activity::Activity;
use crate::farm::busy::UserLimits;
use crate::farm::registry::RegistryCell;
use crate::farm::seal::KEY;
use crate::locations::data_directory::DataDirectory;
use crate::people::identities::Identities;
use crate::search::indexes::SearchIndexes;
use crate::session::access::AccessCache;
use crate::session::path_cache::ChainCache;
use crate::storage::usage_cache::UsageCaches;
use crate::uploads::running::Unfinished;

/// An open farm. Cheap to clone.
#[derive(Clone)]
pub struct Repository {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) directory: DataDirectory,
    pub(crate) farm_id: Id,
    /// Identifier of this start of the process.
    pub(crate) process_id: Id,
    /// Identifier of the restore that produced this farm; `None` when it was never restored.
    pub(crate) restore_id: Option<String>,
    pub(crate) ids: Arc<IdSource>,
    pub(crate) configuration: Database,
    pub(crate) registry: RegistryCell,
    pub(crate) access: AccessCache,
    pub(crate) chains: ChainCache,
    pub(crate) identities: Identities,
    pub(crate) blobs: DirectoryOptions,
    pub(crate) gauges: UsageCaches,
    /// Set when this process serves requests, and may keep caches on the disk.
    pub(crate) serving: bool,
    pub(crate) accesses: crate::storage::process_state::ReadTracker,
    pub(crate) activity: Activity,
    pub(crate) verifications: crate::storage::process_state::Verifications,
    pub(crate) unfinished: Unfinished,
    /// Retention of deleted items in the recycle bins, in days.
    pub(crate) recycle_days: AtomicU32,
    pub(crate) looks: crate::farm::clock::ClockObservations,
    pub(crate) looked_for_forgotten: crate::storage::process_state::UnknownStoreChecks,
    /// Limits on long traversals of listings.
    pub(crate) listing_limits: UserLimits,
    pub(crate) recorded_downloads: crate::content::recorded_downloads::RecordedDownloads,
    pub(crate) pending_link_files: crate::content::pending_link_files::PendingLinkFiles,
    /// The farm's key for sealing page cursors, once it was needed.
    pub(crate) cursor_key: OnceCell<[u8; KEY]>,
    /// Child processes in which documents are opened, in a process that does so.
    pub(crate) programs: OnceLock<Programs>,
    /// Full-text indexes, in a process that keeps them.
    pub(crate) search: SearchIndexes,
}

/// Limit on the long traversals of listings that one user may have running; each keeps a processor busy.
pub(super) const MAX_RUNNING_WALKS: usize = 2;
/// Limit on the traversals of one user that are running or waiting for a permit.
pub(super) const MAX_QUEUED_WALKS: usize = 20;
/// Size of one grant of identifiers, in milliseconds of identifier time: 4,096 identifiers for each.
pub(super) const GRANTED: i64 = 2 * 60 * 1000;
/// Interval at which the supply of identifiers is checked.
const IDENTIFIER_POLL_INTERVAL: std::time::Duration = std::time::Duration::from_secs(20);

impl Repository {
    /// Sets the child processes in which documents are opened, without the external programs. Only the first call of
    /// this method or [`Self::open_documents_with`] has an effect.
    pub fn open_documents_in(&self, sandbox: Sandbox) {
        self.open_documents_with(Programs::new(sandbox, ProgramSettings::default()));
    }

    /// Sets the child processes in which documents are opened, and the external programs that read them.
    pub fn open_documents_with(&self, programs: Programs) {
        self.inner.programs.get_or_init(|| programs);
    }

    /// Returns the directory below which programs that read documents for the search indexes may write.
    pub fn programs_scratch(&self) -> PathBuf {
        self.inner.directory.search_scratch()
    }

    /// Returns the external programs that read documents.
    ///
    /// # Errors
    /// `Unavailable` in a process that opens no documents.
    pub fn programs(&self) -> Result<&Programs> {
        self.inner.programs.get().ok_or_else(|| Error::unavailable("this process does not open documents"))
    }

    /// Returns the child processes in which documents are opened.
    ///
    /// # Errors
    /// `Unavailable` in a process that opens no documents.
    pub fn sandbox(&self) -> Result<&Sandbox> {
        self.programs().map(Programs::sandbox)
    }

    /// The identifier of the farm.
    pub fn farm_id(&self) -> Id {
        self.inner.farm_id
    }

    /// Closes databases and stores. Acknowledged writes are on disk already.
    #[boxed]
    pub async fn close(&self) {
        if let Ok(registry) = self.registry().await {
            registry.close().await;
        }
        let (range, unused) = self.inner.ids.unused();
        let give_back =
            move |transaction: &mut database::Transaction<'_>| farm::return_identifiers(transaction, &range, unused);
        if let Err(error) = self.inner.configuration.write_vital(give_back).await {
            tracing::debug!(error = error.report(), "the remaining identifiers stay unused");
        }
        self.inner.configuration.close().await;
    }

    /// Skips all identifiers that the content databases already hold, as in a farm whose clock was once ahead.
    pub(super) async fn skip_used_identifiers(&self) -> Result<()> {
        let (mut newest, registry) = (0, self.registry().await?);
        for content in &registry.databases {
            let read = |reader: &mut Reader<'_>| {
                Ok([version::newest_id(reader)?, node::newest_id(reader)?, revision::newest_id(reader)?])
            };
            match content.database.read(read).await {
                Ok(ids) => newest = newest.max(ids.into_iter().flatten().map(Id::time).max().unwrap_or(0)),
                // Operations that need the database report the error.
                Err(error) => tracing::debug!(
                    error = error.report(),
                    "the newest identifier of a content database cannot be read"
                ),
            }
        }
        if newest >= self.inner.ids.unused().1 {
            let grant = move |transaction: &mut database::Transaction<'_>| {
                farm::grant_identifiers(transaction, None, newest + 1, GRANTED)
            };
            self.inner.ids.grant(self.inner.configuration.write_vital(grant).await?);
        }
        Ok(())
    }

    /// Keeps obtaining new identifiers before the present ones run out, for as long as the farm is open.
    pub(super) fn replenish_identifiers(&self) {
        let weak = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(IDENTIFIER_POLL_INTERVAL);
            tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                tick.tick().await;
                let Some(inner) = weak.upgrade() else { return };
                let Some(mine) = inner.ids.needs() else { continue };
                let grant = move |transaction: &mut database::Transaction<'_>| {
                    farm::grant_identifiers(transaction, Some(mine.clone()), id_time(), GRANTED)
                };
                match inner.configuration.write_vital(grant).await {
                    Ok(range) => inner.ids.grant(range),
                    Err(error) => tracing::warn!(error = error.report(), "no new identifiers were granted"),
                }
            }
        });
    }

    pub(crate) fn next_id(&self) -> Id {
        self.inner.ids.next()
    }
}

impl Inner {
    /// Returns the location of a content database; a relative path is below the data directory.
    pub(crate) fn place_of(&self, row: &ContentDatabaseRow) -> Result<Location> {
        Ok(match Location::parse(&row.location)? {
            Location::Sqlite(path) => Location::Sqlite(self.directory.join(path)),
            location => location,
        })
    }
}
