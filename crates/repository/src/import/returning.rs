//! Restores documents with their whole history: all versions with their numbers, authors, times and comments, columns
//! and permissions.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use blobs::BlobStore;
use database::content::node::{self, NodeRow};
use database::content::scope;
use database::content::version::{self, VersionRow};
use database::content::{collection, tree};
use database::{Database, Transaction};
use model::{
    Code, ColumnValue, Error, Id, LibrarySettings, Name, NodeKind, Result, Right, Timestamp, VersionNumber, Versioning,
};

use crate::columns::fields::store_known;
use crate::documents::{PendingBlob, charge, library_of, needs_confirmation, next_number, release_versions, trim};
use crate::items::attachments::{Arrival, admit, is_attachment};
use crate::items::tree::{free_name, held_parent};
use crate::session::errors::{name_conflict, require_free};
use crate::session::guard::{Checked, Child, Guard};
use crate::storage::database_store::DatabaseStore;
use crate::{RoleGrant, Session};

use super::documents::ImportContent;
use super::folder::ImportFolder;

/// One version of a document to be restored.
pub struct ReturningVersion {
    /// Its number.
    pub number: VersionNumber,
    /// Its bytes.
    pub content: ImportContent,
    /// Media type.
    pub media_type: String,
    /// Comment by its author.
    pub comment: String,
    /// Time at which it was stored.
    pub created_at: Timestamp,
    /// User who created it.
    pub created_by: Id,
    /// Time of the content's last change.
    pub modified_at: Timestamp,
}

/// A document to be restored.
pub struct RestoredDocument {
    /// Destination folder.
    pub folder: ImportFolder,
    /// Name.
    pub name: Name,
    /// True to restore the document beside the item that has its name now, under a free name. Otherwise its latest
    /// version becomes the next version of that item.
    pub beside: bool,
    /// Its versions, oldest first; at least one.
    pub versions: Vec<ReturningVersion>,
    /// The version shown to readers who may not see drafts.
    pub published: Option<VersionNumber>,
    /// Creation time.
    pub created_at: Timestamp,
    /// User who created it.
    pub created_by: Id,
    /// Time of the last change.
    pub modified_at: Timestamp,
    /// User who changed it.
    pub modified_by: Id,
    /// Its content type in the destination library.
    pub content_type: Option<Id>,
    /// Its values in columns of the destination library.
    pub values: Vec<(Id, ColumnValue)>,
    /// Permissions of its own; it inherits when absent.
    pub grants: Option<Vec<RoleGrant>>,
}

/// Result of restoring a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreOutcome {
    /// The document was created with all its versions.
    Created(Id),
    /// The existing document received the latest version as its next one.
    NewVersion(Id),
    /// The existing document has the same bytes.
    Same(Id),
}

impl Session {
    /// Restores a document. Needs the rights to add documents and to manage the site and, for permissions of its own,
    /// the right to manage permissions. Grants no role that allows more than the caller may do.
    #[boxed]
    pub async fn restore_document(&self, document: RestoredDocument) -> Result<RestoreOutcome> {
        if document.versions.is_empty() {
            return Err(Error::invalid("a document that is restored needs a version"));
        }
        if let Some(grants) = &document.grants {
            self.check_returning(&document.folder, grants).await?;
        }
        let content = document.folder.inner.content.clone();
        let document = Arc::new(document);
        let write = || {
            let document = document.clone();
            let guard = document.folder.inner.guard.clone().exclusive_when(document.grants.is_some());
            guard.write(move |transaction, guard, checked| document.run(transaction, guard, checked))
        };
        let mut outcome = write().await;
        if outcome.as_ref().is_err_and(needs_confirmation) {
            for version in &document.versions {
                version.content.0.ensure_referenced(&document.folder.inner.guard, &content).await?;
            }
            outcome = write().await;
        }
        outcome.map_err(name_conflict)
    }

    async fn check_returning(&self, folder: &ImportFolder, grants: &[RoleGrant]) -> Result<()> {
        let located = self.locate(&folder.id().into()).await?.to(Right::ManagePermissions)?;
        for RoleGrant { role, .. } in grants {
            let role = located.registry.roles.get(role).ok_or_else(|| Error::not_found("there is no such role"))?;
            if !located.rights().contains(role.rights) {
                return Err(crate::content::permissions::role_exceeds_rights(&role.name));
            }
        }
        Ok(())
    }

    /// Returns the BLOB store inside a content database that is not part of the farm, such as a copy from a backup.
    ///
    /// # Errors
    /// `Forbidden` for callers who are not farm administrators.
    pub fn store_within(&self, database: &Database) -> Result<BlobStore> {
        self.require_farm_administrator("read a content database from a backup")?;
        let provider = DatabaseStore::new(database.clone(), self.repository.inner.ids.clone());
        Ok(BlobStore::from_provider(Arc::new(provider)))
    }
}

impl RestoredDocument {
    fn run(&self, transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked) -> Result<RestoreOutcome> {
        let inner = &self.folder.inner;
        let parent = held_parent(transaction, inner.id)?;
        let settings = library_of(transaction, &parent)?;
        let (returned, bytes, documents) = match checked.child(transaction, parent.id, &self.name)? {
            Child::Known(present) if !self.beside && present.kind == NodeKind::Document => {
                if !checked.access.rights(present.scope_id).has(Right::Edit) {
                    return Err(Error::lacking(Right::Edit, &present.name));
                }
                self.add_version_to(transaction, &present, &settings)?
            }
            found => {
                if !self.beside {
                    found.require_free(&self.name)?;
                }
                self.create(transaction, &parent, &settings)?
            }
        };
        let quota = checked.collection.quota_bytes;
        charge(transaction, guard, quota, checked.collection.id, bytes, documents)?;
        Ok(returned)
    }

    fn create(
        &self,
        transaction: &mut Transaction<'_>,
        parent: &NodeRow,
        settings: &LibrarySettings,
    ) -> Result<(RestoreOutcome, i64, i64)> {
        let (guard, now) = (&self.folder.inner.guard, Timestamp::now());
        admit(transaction, guard, parent, Arrival::Back)?;
        let name = free_name(transaction, parent.id, &self.name)?;
        let mut row = NodeRow::new(guard.next_id(), parent, NodeKind::Document, &name, self.created_by, now);
        let first = if settings.versioning == Versioning::None { self.versions.len() - 1 } else { 0 };
        let mut bytes = 0;
        for from in self.versions.iter().skip(first) {
            let stored = self.version(transaction, row.id, from, now)?;
            bytes += stored.size;
            row.size = stored.size;
            row.media_type.clone_from(&stored.media_type);
            row.version_id = Some(stored.id);
            row.number = stored.number;
            if self.published == Some(stored.number) {
                row.published_id = Some(stored.id);
            }
        }
        row.created_at = self.created_at;
        row.modified_at = self.modified_at;
        row.modified_by = self.modified_by;
        row.content_type_id = self.content_type;
        node::insert(transaction, &row)?;
        bytes -= trim(transaction, &row, settings)?;
        self.put_values(transaction, &row)?;
        if let Some(grants) = &self.grants {
            let own = guard.next_id();
            scope::insert(transaction, own, parent.collection_id, row.id)?;
            for grant in grants {
                scope::grant(transaction, own, &grant.row(guard.caller(), now))?;
            }
            tree::set_scope(transaction, row.id, parent.scope_id, own)?;
            collection::change_tree(transaction, parent.collection_id)?;
        }
        self.record(transaction, row.id, "document.create", &name)?;
        Ok((RestoreOutcome::Created(row.id), bytes, 1))
    }

    /// Makes the latest version the next version of the existing document, unless that has the same bytes.
    fn add_version_to(
        &self,
        transaction: &mut Transaction<'_>,
        present: &NodeRow,
        settings: &LibrarySettings,
    ) -> Result<(RestoreOutcome, i64, i64)> {
        let (guard, now) = (&self.folder.inner.guard, Timestamp::now());
        let Some(latest) = self.versions.last() else { return Ok((RestoreOutcome::Same(present.id), 0, 0)) };
        let mut row = node::lock(transaction, present.id)?.ok_or_else(crate::session::errors::no_item)?;
        require_free(&row, guard.caller(), None)?;
        if row.holder_id.is_some() {
            let text = format!("check \"{}\" in, or discard the check-out, before it is restored", row.name);
            return Err(Error::conflict(text).with_code(Code::CheckedOut));
        }
        let before = match row.version_id {
            Some(id) => version::find(transaction, id)?,
            None => None,
        };
        if self.put_values(transaction, &row)? {
            self.record(transaction, row.id, "item.columns", &Name::new(row.name.as_str())?)?;
        }
        if before.as_ref().is_some_and(|before| before.digest == latest.content.0.digest()) {
            return Ok((RestoreOutcome::Same(row.id), 0, 0));
        }
        let mut stored = self.version(transaction, row.id, latest, now)?;
        stored.number = if latest.number.is_major() && settings.versioning != Versioning::None {
            row.number.next_major()
        } else {
            next_number(settings, row.number)
        };
        let comment = format!("Restored from a backup: version {}", latest.number);
        version::renumber(transaction, stored.id, stored.number, &comment)?;
        row.size = stored.size;
        row.media_type.clone_from(&stored.media_type);
        row.version_id = Some(stored.id);
        row.number = stored.number;
        if stored.number.is_major() {
            row.published_id = Some(stored.id);
        }
        (row.modified_at, row.modified_by) = (self.modified_at, guard.caller());
        node::update_content(transaction, &row)?;
        let mut freed = 0;
        if let Some(before) = before.filter(|_| settings.versioning == Versioning::None) {
            freed += release_versions(transaction, &[(before.id, before.size)])?;
        }
        freed += trim(transaction, &row, settings)?;
        let name = Name::new(row.name.as_str())?;
        self.record(transaction, row.id, "document.replace", &name)?;
        Ok((RestoreOutcome::NewVersion(row.id), stored.size - freed, 0))
    }

    fn version(
        &self,
        transaction: &mut Transaction<'_>,
        node: Id,
        from: &ReturningVersion,
        now: Timestamp,
    ) -> Result<VersionRow> {
        let guard = &self.folder.inner.guard;
        let pending: &PendingBlob = &from.content.0;
        let reference = pending.reference(transaction, guard.next_id(), now)?;
        let stored = VersionRow {
            id: guard.next_id(),
            node_id: node,
            blob_id: reference.id,
            number: from.number,
            working: false,
            size: pending.size(),
            media_type: from.media_type.clone(),
            created_at: from.created_at,
            created_by: from.created_by,
            modified_at: from.modified_at,
            comment: from.comment.clone(),
            digest: reference.digest,
            store_id: reference.store_id,
            locator: reference.locator,
        };
        version::insert(transaction, &stored)?;
        Ok(stored)
    }

    /// Stores the values of the document, and returns whether it had others before.
    fn put_values(&self, transaction: &mut Transaction<'_>, document: &NodeRow) -> Result<bool> {
        match is_attachment(transaction, document)? {
            true => Ok(false),
            false => store_known(transaction, document, &self.values),
        }
    }

    fn record(&self, transaction: &mut Transaction<'_>, node: Id, action: &str, name: &Name) -> Result<()> {
        let inner = &self.folder.inner;
        let path = crate::session::target::join(&inner.path, name.as_str());
        inner.guard.record(transaction, node, action, format!("{path} (from a backup)"))
    }
}
