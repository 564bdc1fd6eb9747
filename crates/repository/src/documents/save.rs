//! The transaction that turns stored bytes into a document or into a new version of one.

use database::Transaction;
use database::content::name_lookup::CreationContext;
use database::content::node::{self, NodeRow};
use database::content::version::{self, VersionRow};
use model::{Code, Digest, Error, Id, LibrarySettings, Name, NodeKind, Result, Right, Timestamp, VersionNumber};

use crate::columns::fields;
use crate::content::link_use::LinkUse;
use crate::items::attachments::{Arrival, admit};
use crate::items::item::etag;
use crate::items::tree::{free_name, held_parent, lock_in};
use crate::session::errors::{name_taken_hidden, no_folder, taken};
use crate::session::guard::{Checked, Child, Guard};
use crate::session::idempotency::Key;
use crate::session::target::join;

use super::pending_blob::PendingBlob;
use super::rules::{Preconditions, charge, next_number, outside_libraries};
use super::succession::{Succession, record_replaced, succeed};

/// Outcomes stored with an idempotency key.
const CREATED: &str = "created";
const REPLACED: &str = "replaced";

/// Action when a document with the upload's name exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Makes the upload its next version.
    #[default]
    Replace,
    /// Refuses the upload.
    Fail,
    /// Stores the upload under a free name such as `Plan (2).pdf`.
    KeepBoth,
}

/// Authors and times of an item as found at the source of an import.
#[derive(Clone, Copy, Debug)]
pub struct Ownership {
    /// The creator.
    pub created_by: Id,
    /// Creation time.
    pub created_at: Timestamp,
    /// The user who last changed it.
    pub modified_by: Id,
    /// Time of the last change.
    pub modified_at: Timestamp,
}

/// Options of an upload.
#[derive(Clone, Debug, Default)]
pub struct UploadOptions {
    /// Media type given by the client; used when the name's extension is not known.
    pub media_type: Option<String>,
    /// Time of the content's last change; the current time when absent.
    pub modified_at: Option<Timestamp>,
    /// The author's comment on this version.
    pub comment: String,
    /// Preconditions of the change.
    pub preconditions: Preconditions,
    /// Action when a document has the name already.
    pub on_conflict: OnConflict,
    /// Creates missing folders on the path.
    pub create_parents: bool,
    /// In a library with drafts: publishes this version at once.
    pub publish: bool,
    /// Authors and times to keep. Needs the right to manage the site.
    pub ownership: Option<Ownership>,
    /// Set when the upload may be one step of a program's save. The upload then replaces an empty current version that
    /// the same user stored, and the only version of a file with a name that programs use for files of their own
    /// (`is_application_file`).
    pub one_save: bool,
    /// Idempotency key chosen by the client: requests with the same key store at most once.
    pub idempotency_key: Option<String>,
}

/// Result of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The document.
    pub id: Id,
    /// Its name; differs from the requested name when both documents were kept.
    pub name: String,
    /// Path in the farm.
    pub path: String,
    /// The stored version.
    pub version_id: Id,
    /// The version's number.
    pub number: VersionNumber,
    /// Size in bytes.
    pub size: u64,
    /// Digest of the bytes.
    pub digest: Digest,
    /// True if the document is new.
    pub created: bool,
}

impl Saved {
    /// Returns the strong entity tag, without quotes.
    pub fn etag(&self) -> String {
        etag(self.version_id)
    }
}

/// Everything that the transaction needs. Its attempts share one plan.
#[derive(Clone)]
pub(crate) struct SavePlan {
    pub(crate) guard: Guard,
    pub(crate) parent: Id,
    pub(crate) parent_path: String,
    pub(crate) folders: Vec<Name>,
    pub(crate) name: Name,
    /// The target document, when the upload names it by identifier.
    pub(crate) document: Option<Id>,
    pub(crate) media_type: String,
    pub(crate) options: UploadOptions,
    pub(crate) pending: PendingBlob,
    /// The link through which the bytes came; `None` for those of a user.
    pub(crate) link: Option<LinkUse>,
}

/// The folder in which a transaction creates documents; found and authorised once.
pub(crate) struct DestinationFolder {
    pub(crate) checked: Checked,
    pub(crate) parent: NodeRow,
    pub(crate) settings: LibrarySettings,
    /// Path of the parent in the farm.
    pub(crate) path: String,
    pub(crate) now: Timestamp,
}

/// Amounts that a transaction adds to the counters of its site collection.
#[derive(Default)]
pub(crate) struct UsageDelta {
    bytes: i64,
    documents: i64,
}

impl UsageDelta {
    /// Adds the amounts to the counters, and refuses bytes beyond the quota.
    pub(crate) fn charge(&self, transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked) -> Result<()> {
        let collection = &checked.collection;
        charge(transaction, guard, collection.quota_bytes, collection.id, self.bytes, self.documents)
    }
}

impl SavePlan {
    /// Creates the document or version.
    pub(crate) fn run(
        &self,
        transaction: &mut Transaction<'_>,
        checked: Checked,
        context: CreationContext,
    ) -> Result<Saved> {
        let key = self.key();
        if let Some(key) = &key
            && let Some(result) = key.find(transaction)?
        {
            return self.repeated(transaction, &result);
        }
        let now = Timestamp::now();
        let mut parent = context.parent.ok_or_else(no_folder)?;
        let mut path = self.parent_path.clone();
        for folder in &self.folders {
            parent = self.open_or_create_folder(transaction, &checked, &parent, folder, now)?;
            path = join(&path, &parent.name);
        }
        // With no folders in between and no document named by identifier, `context` already holds the item that has the
        // name.
        let present = match self.document {
            None if self.folders.is_empty() => context.child,
            _ => self.present(transaction, parent.id)?,
        };
        let present = present.map_or(Child::Free, |row| checked.classify(row));
        let settings = context.settings.ok_or_else(outside_libraries)?;
        let destination = DestinationFolder { settings, checked, parent, path, now };
        let mut usage = UsageDelta::default();
        if let Some(link) = self.link {
            link.count(transaction)?;
        }
        let saved = self.put_over(transaction, &destination, present, &mut usage)?;
        if let Some(link) = self.link {
            link.record(transaction, &self.guard, saved.id, "link.upload", &saved.path)?;
        }
        usage.charge(transaction, &self.guard, &destination.checked)?;
        if let Some(key) = &key {
            let outcome = if saved.created { CREATED } else { REPLACED };
            key.store(transaction, &format!("{} {outcome}", saved.version_id))?;
        }
        Ok(saved)
    }

    /// Creates the document or version in a folder that was found before. The caller charges the amounts in `usage`.
    pub(crate) fn put(
        &self,
        transaction: &mut Transaction<'_>,
        destination: &DestinationFolder,
        usage: &mut UsageDelta,
    ) -> Result<Saved> {
        let present = self.present(transaction, destination.parent.id)?;
        let present = present.map_or(Child::Free, |row| destination.checked.classify(row));
        self.put_over(transaction, destination, present, usage)
    }

    /// Returns the item named by identifier, or else the item that has the name.
    #[expect(clippy::disallowed_methods, reason = "both callers sort out what it found")]
    fn present(&self, transaction: &mut Transaction<'_>, parent: Id) -> Result<Option<NodeRow>> {
        match self.document {
            Some(id) => lock_in(transaction, id, parent).map(Some),
            None => node::find_child(transaction, parent, &self.name.folded()),
        }
    }

    fn put_over(
        &self,
        transaction: &mut Transaction<'_>,
        destination: &DestinationFolder,
        present: Child,
        usage: &mut UsageDelta,
    ) -> Result<Saved> {
        let keeps_both = self.options.on_conflict == OnConflict::KeepBoth;
        match present {
            Child::Free => self.create(transaction, destination, false, usage),
            Child::Known(_) | Child::Hidden if keeps_both => self.create(transaction, destination, true, usage),
            Child::Known(present) if present.kind == NodeKind::Document => {
                self.replace(transaction, destination, present.id, usage)
            }
            taken => taken.require_free(&self.name).and(Err(no_folder())),
        }
    }

    /// Returns the folder of this name, and creates it if it is missing.
    fn open_or_create_folder(
        &self,
        transaction: &mut Transaction<'_>,
        checked: &Checked,
        parent: &NodeRow,
        name: &Name,
        now: Timestamp,
    ) -> Result<NodeRow> {
        match checked.child(transaction, parent.id, name)? {
            Child::Free => {}
            Child::Known(present) if present.kind.holds_documents() => {
                if !checked.access.rights(present.scope_id).has(Right::Add) {
                    return Err(Error::lacking(Right::Add, name.as_str()));
                }
                return held_parent(transaction, present.id);
            }
            taken => taken.require_free(name)?,
        }
        self.guard.require_unlocked(transaction, checked, parent)?;
        let folder = NodeRow::new(self.guard.next_id(), parent, NodeKind::Folder, name, self.guard.caller(), now);
        node::insert(transaction, &folder)?;
        self.guard.record(transaction, folder.id, "folder.create", name.as_str())?;
        Ok(folder)
    }

    fn create(
        &self,
        transaction: &mut Transaction<'_>,
        destination: &DestinationFolder,
        is_taken: bool,
        usage: &mut UsageDelta,
    ) -> Result<Saved> {
        let DestinationFolder { checked, parent, settings, path, now } = destination;
        let now = *now;
        self.guard.require_unlocked(transaction, checked, parent)?;
        admit(transaction, &self.guard, parent, Arrival::New)?;
        if !is_taken {
            self.options.preconditions.check(None)?;
        }
        let name = if is_taken { free_name(transaction, parent.id, &self.name)? } else { self.name.clone() };
        let mut row = NodeRow::new(self.guard.next_id(), parent, NodeKind::Document, &name, self.guard.caller(), now);
        let first = if self.options.publish { VersionNumber::new(1, 0) } else { next_number(settings, row.number) };
        checked.require_publish(settings, &row, first)?;
        let stored = self.version(transaction, &row, first, false, now)?;
        self.set_latest(&mut row, &stored, now);
        if let Some(ownership) = self.options.ownership {
            row.created_by = ownership.created_by;
            row.created_at = ownership.created_at;
        }
        node::insert(transaction, &row)?;
        if parent.kind != NodeKind::Row {
            fields::give_defaults(transaction, &self.guard, &row)?;
        }
        usage.bytes += stored.size;
        usage.documents += 1;
        let path = join(path, name.as_str());
        self.guard.record(transaction, row.id, "document.create", path.as_str())?;
        Ok(self.saved(&row, &stored, path, true))
    }

    fn replace(
        &self,
        transaction: &mut Transaction<'_>,
        destination: &DestinationFolder,
        id: Id,
        usage: &mut UsageDelta,
    ) -> Result<Saved> {
        let DestinationFolder { checked, settings, path, now, .. } = destination;
        let now = *now;
        let mut row = node::lock(transaction, id)?.ok_or_else(crate::session::errors::no_item)?;
        let path = join(path, &row.name);
        if !checked.knows(&row) {
            return Err(name_taken_hidden(&self.name));
        }
        if !checked.access.rights(row.scope_id).has(Right::Edit) {
            return Err(Error::lacking(Right::Edit, &row.name));
        }
        if self.options.on_conflict == OnConflict::Fail {
            return Err(taken(&row.name, row.kind));
        }
        self.guard.require_free(transaction, checked, &row)?;
        let held = row.holder_id == Some(self.guard.caller());
        let present = if held { row.working_id.or(row.version_id) } else { row.version_id };
        self.options.preconditions.check(present)?;
        let how = Succession {
            settings,
            skips_checkout: self.options.ownership.is_some(),
            publish: self.options.publish,
            one_save: self.options.one_save,
            replaces_current: false,
        };
        let (stored, freed) =
            succeed(transaction, &self.guard, checked, &how, &mut row, |transaction, row, number, working| {
                let stored = self.version(transaction, row, number, working, now)?;
                if !working {
                    self.set_latest(row, &stored, now);
                }
                Ok(stored)
            })?;
        usage.bytes += stored.size - freed;
        record_replaced(transaction, &self.guard, &how, &path, &stored)?;
        Ok(self.saved(&row, &stored, path, false))
    }

    fn version(
        &self,
        transaction: &mut Transaction<'_>,
        row: &NodeRow,
        number: VersionNumber,
        working: bool,
        now: Timestamp,
    ) -> Result<VersionRow> {
        let reference = self.pending.reference(transaction, self.guard.next_id(), now)?;
        let author = self.options.ownership.map_or(self.guard.caller(), |ownership| ownership.modified_by);
        let stored = VersionRow {
            id: self.guard.next_id(),
            node_id: row.id,
            blob_id: reference.id,
            number,
            working,
            size: self.pending.size(),
            media_type: self.media_type.clone(),
            created_at: now,
            created_by: author,
            modified_at: self.modified_at(now),
            comment: self.options.comment.clone(),
            digest: reference.digest,
            store_id: reference.store_id,
            locator: reference.locator,
        };
        version::insert(transaction, &stored)?;
        Ok(stored)
    }

    fn modified_at(&self, now: Timestamp) -> Timestamp {
        self.options.ownership.map(|ownership| ownership.modified_at).or(self.options.modified_at).unwrap_or(now)
    }

    /// Makes `stored` the latest version in the row.
    fn set_latest(&self, row: &mut NodeRow, stored: &VersionRow, now: Timestamp) {
        row.size = stored.size;
        row.media_type.clone_from(&stored.media_type);
        row.version_id = Some(stored.id);
        row.number = stored.number;
        if stored.number.is_major() {
            row.published_id = Some(stored.id);
        }
        row.modified_at = self.modified_at(now);
        row.modified_by = stored.created_by;
    }

    fn saved(&self, row: &NodeRow, stored: &VersionRow, path: String, created: bool) -> Saved {
        Saved {
            id: row.id,
            name: row.name.clone(),
            path,
            version_id: stored.id,
            number: stored.number,
            size: model::unsigned(stored.size),
            digest: stored.digest,
            created,
        }
    }

    fn key(&self) -> Option<Key> {
        let key = self.options.idempotency_key.as_ref()?;
        Some(Key::new(self.guard.caller(), key, self.request()))
    }

    fn request(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.pending.digest().as_bytes());
        // Hashes the folder's path, not its identifier: a folder missing at the first request exists at the repetition.
        hasher.update(self.parent_path.as_bytes());
        for name in self.folders.iter().chain([&self.name]) {
            hasher.update(b"/").update(name.as_str().as_bytes());
        }
        Digest::new(*hasher.finalize().as_bytes())
    }

    /// Returns the outcome of an earlier request with the same key, from its stored result.
    fn repeated(&self, transaction: &mut Transaction<'_>, result: &str) -> Result<Saved> {
        let (version, outcome) = result.split_once(' ').ok_or_else(|| {
            Error::corrupt("the stored result of an earlier request with this idempotency key cannot be read")
        })?;
        let version: Id = version.parse()?;
        let stored = version::find(transaction, version)?;
        let row = match &stored {
            Some(stored) => node::find(transaction, stored.node_id)?,
            None => None,
        };
        match (stored, row) {
            (Some(stored), Some(row)) => {
                let path = join(&self.parent_path, &row.name);
                Ok(self.saved(&row, &stored, path, outcome == CREATED))
            }
            _ => Err(Error::conflict("the document that was stored with this idempotency key has been deleted since")
                .with_code(Code::IdempotencyKeyReused)),
        }
    }
}
