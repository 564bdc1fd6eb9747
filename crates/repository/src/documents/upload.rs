//! Receives a document's bytes in bounded memory, then saves them.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use blobs::BlobWriter;
use bytes::{Bytes, BytesMut};
use database::Reader;
use database::content::node::{self, NodeRow};
use database::content::{collection, library};
use model::{Code, Digest, Error, ErrorKind, Id, Name, NodeKind, NodePath, Result, Right, Versioning};

use crate::content::link_use::LinkUse;
use crate::farm::registry::ContentDatabase;
use crate::session::caller::ReadDuration;
use crate::session::errors::{name_conflict, name_taken_hidden, nothing_at, require_free, taken};
use crate::session::guard::{Guard, require_publisher};
use crate::session::idempotency;
use crate::session::known::Known;
use crate::session::locate::{Located, check_depth};
use crate::session::lookup::FolderLookup;
use crate::storage::placement::{StorageChoice, pin_if_existing};
use crate::storage::redaction::without_store_details;
use crate::uploads::unfinished::Claim;
use crate::{Repository, Session, Target};

use super::pending_blob::{MAX_ATTEMPTS, PendingBlob};
use super::rules::{over_quota, require_comment};
use super::save::{OnConflict, SavePlan, Saved, UploadOptions};

/// Destination of an upload.
#[derive(Clone, Debug)]
pub enum Destination {
    /// The document at this path, new or existing.
    Path(NodePath),
    /// The document with this name in a library or folder, new or existing.
    Child {
        /// Library or folder.
        parent: Id,
        /// The document's name.
        name: Name,
    },
    /// The next version of an existing document.
    Document(Id),
}

/// An upload in progress. Dropping it stores nothing.
pub struct Upload {
    content: Arc<ContentDatabase>,
    target: CheckedDestination,
    options: UploadOptions,
    placement: StorageChoice,
    announced: Option<u64>,
    /// The quota of the site collection, if there is one and the length was not announced.
    quota: Option<Quota>,
    buffer: BytesMut,
    /// Store that the bytes are written to; `None` while they are held in memory for the transaction.
    writer: Option<(Id, BlobWriter)>,
    /// The upload's share of the caller's unfinished uploads; `None` when its bytes are counted already.
    claim: Option<Claim>,
    /// True if the uploader may see store locations.
    is_insider: bool,
    /// The link through which the bytes come; `None` for those of a user.
    link: Option<LinkUse>,
}

/// Quota of a site collection, and its use when the upload began.
struct Quota {
    quota: i64,
    used: i64,
    shows_used: bool,
}

impl Quota {
    /// Refuses bytes beyond the quota.
    fn require(&self, bytes: u64) -> Result<()> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if self.used.saturating_add(bytes) > self.quota {
            return Err(over_quota(self.shows_used.then_some(self.used), self.quota, bytes));
        }
        Ok(())
    }
}

/// Destination found for an upload: the existing folder, the folders missing below it, and the item that has the name.
struct ResolvedDestination {
    located: Located,
    name: Name,
    folders: Vec<Name>,
    present: Option<NodeRow>,
}

/// Destination of the upload, and the conditions that the transaction checks again.
struct CheckedDestination {
    guard: Guard,
    parent: Id,
    parent_path: String,
    folders: Vec<Name>,
    name: Name,
    document: Option<Id>,
}

impl Session {
    /// Begins an upload. Decides whether the caller may store there before a byte is read.
    ///
    /// `announced` is the length in bytes, if the client gave it. The upload then fails unless exactly that many bytes
    /// arrive.
    ///
    /// # Errors
    /// `Forbidden`, `NotFound`, `Conflict` (a precondition, a name that is taken), `Locked` (another user's check-out,
    /// with the holder's name), `Exhausted` (quota).
    #[boxed]
    pub async fn begin_upload(
        &self,
        destination: &Destination,
        options: UploadOptions,
        announced: Option<u64>,
    ) -> Result<Upload> {
        require_comment(&options.comment)?;
        let ResolvedDestination { located, name, folders, present } = match destination {
            Destination::Path(path) => self.resolve_path(path, options.create_parents).await?,
            Destination::Child { parent, name } => self.look_into(&(*parent).into(), name.clone()).await?,
            Destination::Document(id) => self.present(*id).await?,
        };
        let node = located.node();
        if node.kind == NodeKind::Row && !folders.is_empty() {
            return Err(Error::conflict("a row has documents only, and no folders").with_code(Code::WrongKind));
        }
        if !node.kind.takes_documents() {
            if let Some(library) = folders.first().filter(|_| node.kind == NodeKind::Site) {
                let text = format!(
                    "there is no library \"{library}\" in the site \"{}\", or you may not see it: create it first",
                    node.name
                );
                return Err(Error::conflict(text).with_code(Code::WrongKind));
            }
            return Err(Error::conflict(format!(
                "\"{}\" is a {}: documents go into libraries",
                node.name,
                node.kind.as_str()
            ))
            .with_code(Code::WrongKind));
        }
        check_depth(&located, folders.len(), &name)?;
        let repeats = self.repeats(&located, &options).await?;
        let guard = self.check_destination(&located, &name, present, &options, repeats).await?;
        let mut quota = if repeats { None } else { self.quota(&located).await? };
        if let (Some(quota), Some(announced)) = (&quota, announced) {
            quota.require(announced)?;
        }
        quota = quota.filter(|_| announced.is_none());
        if options.ownership.is_some() {
            located.require(Right::ManageSite)?;
        }
        located.content.database.require_room()?;
        let library = located.node().library_id;
        let placement =
            StorageChoice::decide(&located.registry, &located.content, located.collection.id, library, name.as_str())
                .map_err(|error| without_store_details(error, self.principal.farm_administrator))?;
        let target = CheckedDestination {
            guard,
            parent: located.node().id,
            parent_path: located.path(),
            folders,
            name,
            document: if let Destination::Document(id) = destination { Some(*id) } else { None },
        };
        Ok(Upload {
            placement,
            content: located.content.clone(),
            target,
            options,
            announced,
            quota,
            buffer: BytesMut::new(),
            writer: None,
            claim: Some(self.repository.claim(self.principal.id)),
            is_insider: self.principal.farm_administrator,
            link: None,
        })
    }

    /// Stores a document from memory.
    #[boxed]
    pub async fn upload_bytes(&self, destination: &Destination, options: UploadOptions, bytes: Bytes) -> Result<Saved> {
        let mut upload = self.begin_upload(destination, options, Some(bytes.len() as u64)).await?;
        upload.write(bytes).await?;
        upload.finish().await
    }

    /// Returns the deepest existing folder on the path, and the folders missing below it.
    async fn resolve_path(&self, path: &NodePath, create_parents: bool) -> Result<ResolvedDestination> {
        let (parent, name) =
            path.split_last().ok_or_else(|| Error::invalid("the path does not contain the name of a document"))?;
        if let Some(FolderLookup { folder, child }) = self.look_up_cached(path).await?
            && folder.may_know(folder.node())
        {
            return Ok(ResolvedDestination {
                located: folder,
                name: name.clone(),
                folders: Vec::new(),
                present: child.item,
            });
        }
        let mut missing = Vec::new();
        let mut existing = parent;
        loop {
            match self.look_into(&Target::Path(existing.clone()), name.clone()).await {
                Ok(found) if missing.is_empty() => return Ok(found),
                Ok(found) if create_parents => {
                    missing.reverse();
                    return Ok(ResolvedDestination { folders: missing, present: None, ..found });
                }
                Ok(_) => {
                    let folder = &missing[missing.len() - 1];
                    return Err(
                        Error::not_found(format!("there is no folder \"{folder}\"")).with_code(Code::ParentMissing)
                    );
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    // The error names the path that the caller gave, not the missing folder above it: the caller knows
                    // that name already.
                    let (above, last) = existing.split_last().ok_or_else(|| nothing_at(path))?;
                    missing.push(last.clone());
                    existing = above;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns a folder, and the item that has the name in it.
    #[expect(clippy::disallowed_methods, reason = "`check_destination` sorts out what it found")]
    async fn look_into(&self, folder: &Target, name: Name) -> Result<ResolvedDestination> {
        let folded = name.folded();
        let find = move |reader: &mut Reader<'_>, known: &Known| node::find_child(reader, known.id(), &folded);
        let (known, present) = self.inspect_known(ReadDuration::Short, folder, find).await?;
        Ok(ResolvedDestination { located: known.unchecked().clone(), name, folders: Vec::new(), present })
    }

    /// Returns an existing document in the form in which a look-up by name in its folder returns it.
    async fn present(&self, id: Id) -> Result<ResolvedDestination> {
        let mut located = self.locate(&id.into()).await?.unchecked().clone();
        located.require_kind(NodeKind::Document)?;
        let present = located.chain.pop().map(Arc::unwrap_or_clone);
        let name = present.as_ref().map(|node| Name::new(node.name.clone())).transpose()?;
        let name = name.ok_or_else(crate::session::errors::no_item)?;
        Ok(ResolvedDestination { located, name, folders: Vec::new(), present })
    }

    /// Checks the rights for replacing the existing document or for adding one. Returns the guard with which the
    /// transaction checks them again.
    ///
    /// Never reveals more of an existing item than the caller may know. To a caller who may not add, a hidden item's
    /// name looks free. A caller who may add learns only that the name is taken.
    async fn check_destination(
        &self,
        located: &Located,
        name: &Name,
        present: Option<NodeRow>,
        options: &UploadOptions,
        repeats: bool,
    ) -> Result<Guard> {
        let known = present.as_ref().filter(|row| located.may_know(row));
        let Some(present) = known.filter(|_| options.on_conflict != OnConflict::KeepBoth) else {
            let guard = self.guard([&located.to(Right::Add)?])?;
            self.require_publish(located, options).await?;
            if !repeats {
                self.require_attachable(located).await?;
                options.preconditions.check(None)?;
            }
            self.require_place_unlocked(located).await?;
            if present.is_some() && options.on_conflict != OnConflict::KeepBoth {
                return Err(name_taken_hidden(name));
            }
            return Ok(guard);
        };
        if present.kind != NodeKind::Document || (options.on_conflict == OnConflict::Fail && !repeats) {
            located.require(Right::Add)?;
            return Err(taken(&present.name, present.kind));
        }
        let mut item = located.clone();
        item.chain.push(Arc::new(present.clone()));
        let guard = self.guard([&item.to(Right::Edit)?])?;
        self.require_publish(&item, options).await?;
        if let Some(holder) = present.holder_id {
            let name = self.name_of(holder).await?;
            require_free(present, self.principal.id, name.as_deref())?;
        }
        if !repeats {
            options.preconditions.check(located.visible_version(present))?;
        }
        self.require_unlocked(&item).await?;
        Ok(guard)
    }

    /// Refuses to publish in a library that keeps drafts without the right to do so, before a byte is read.
    async fn require_publish(&self, item: &Located, options: &UploadOptions) -> Result<()> {
        if !options.publish {
            return Ok(());
        }
        let library = item.node().library_id;
        let settings = item.content.database.read(move |reader| library::find(reader, library)).await?;
        match settings {
            Some(settings) if settings.versioning == Versioning::MajorMinor => {
                require_publisher(&settings, item.rights(), &item.node().name)
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the upload's idempotency key was used before. The bytes decide at the end whether it is the same
    /// request.
    async fn repeats(&self, located: &Located, options: &UploadOptions) -> Result<bool> {
        let Some(key) = &options.idempotency_key else { return Ok(false) };
        let (caller, key) = (self.principal.id, key.clone());
        located.content.database.read(move |reader| idempotency::is_used(reader, caller, &key)).await
    }

    /// Returns the quota of the site collection of an item, and how much of it is used.
    async fn quota(&self, located: &Located) -> Result<Option<Quota>> {
        let Some(quota) = located.collection.quota_bytes else { return Ok(None) };
        let id = located.collection.id;
        let (used, _) = located.content.database.read(move |reader| collection::usage(reader, id)).await?;
        Ok(Some(Quota { quota, used, shows_used: located.may_see_totals() }))
    }
}

/// Destination of an upload, for a caller that keeps the bytes meanwhile.
pub(crate) struct UploadDestination {
    pub(crate) content: Arc<ContentDatabase>,
    pub(crate) collection: Id,
    pub(crate) parent: Id,
    pub(crate) name: Name,
}

impl Upload {
    /// Returns the destination of this upload instead of storing it.
    pub(crate) fn destination(self) -> UploadDestination {
        let CheckedDestination { guard, parent, name, .. } = self.target;
        UploadDestination { content: self.content, collection: guard.collection(), parent, name }
    }

    /// Excludes the upload from the caller's unfinished uploads, because its bytes are counted there already.
    pub(crate) fn without_claim(self) -> Self {
        Self { claim: None, ..self }
    }

    /// Makes this an upload through a link. The transaction counts and records its use. Its bytes count for `visitors`
    /// and not for the link's creator, and its errors name no location of a store.
    pub(crate) fn through(self, link: LinkUse, visitors: Id, repository: &Repository) -> Self {
        Self { link: Some(link), claim: Some(repository.claim(visitors)), is_insider: false, ..self }
    }

    /// Takes the next bytes. Memory use is bounded whatever the document's size.
    ///
    /// # Errors
    /// `Invalid` with code `length_mismatch` when more bytes arrive than were announced; `Exhausted` when the caller
    /// has too many unfinished bytes, the quota is used up or the store is full; `Unavailable` when the store does not
    /// answer.
    #[boxed]
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        let received = self.received() + bytes.len() as u64;
        if let Some(quota) = &self.quota {
            quota.require(received)?;
        }
        if self.announced.is_some_and(|announced| received > announced) {
            return Err(Error::invalid("more bytes were received than announced").with_code(Code::LengthMismatch));
        }
        let is_insider = self.is_insider;
        let expected = self.announced.unwrap_or(0).max(received);
        if let Some(claim) = &mut self.claim {
            claim.extend_to(expected).await?;
        }
        if let Some((_, writer)) = &mut self.writer {
            return writer.write(bytes).await.map_err(|error| without_store_details(error, is_insider));
        }
        if expected < self.placement.inline_limit() {
            self.buffer.extend_from_slice(&bytes);
            return Ok(());
        }
        self.begin(bytes).await.map_err(|error| without_store_details(error, is_insider))
    }

    /// Starts writing to a store, beginning with the bytes held in memory so far.
    async fn begin(&mut self, bytes: Bytes) -> Result<()> {
        let (id, store) = self.placement.store_for(self.announced);
        let mut writer = store.writer(self.announced).await?;
        if !self.buffer.is_empty() {
            writer.write(self.buffer.split().freeze()).await?;
        }
        writer.write(bytes).await?;
        self.writer = Some((id, writer));
        Ok(())
    }

    /// Returns the number of bytes received so far.
    pub fn received(&self) -> u64 {
        self.buffer.len() as u64 + self.writer.as_ref().map_or(0, |(_, writer)| writer.written())
    }

    /// Stores the document. On return, content and metadata are on stable storage.
    ///
    /// # Errors
    /// `Invalid` with code `length_mismatch` when fewer bytes arrived than were announced. Changes since the upload
    /// began (permissions, a check-out, a precondition, quota) cause a refusal here.
    #[boxed]
    pub async fn finish(self) -> Result<Saved> {
        if let Some(announced) = self.announced.filter(|announced| *announced != self.received()) {
            let received = self.received();
            return Err(Error::invalid(format!(
                "only {received} of {announced} announced bytes were received: send the document again"
            ))
            .with_code(Code::LengthMismatch));
        }
        let pending = match self.writer {
            Some((id, writer)) => {
                let stored = writer.finish().await.map_err(|error| without_store_details(error, self.is_insider))?;
                let (_, store) = self.placement.store_for(self.announced);
                pin_if_existing(&self.content, (id, store), &stored, self.target.guard.next_id()).await?;
                PendingBlob::external(id, store.clone(), stored)
            }
            None => {
                let bytes = self.buffer.freeze();
                let digest = Digest::new(*blake3::hash(&bytes).as_bytes());
                PendingBlob::inline(self.target.guard.next_id(), digest, bytes)
            }
        };
        let plan = SavePlan {
            media_type: media_type(&self.target.name, self.options.media_type.as_deref()),
            guard: self.target.guard,
            parent: self.target.parent,
            parent_path: self.target.parent_path,
            folders: self.target.folders,
            name: self.target.name,
            document: self.target.document,
            options: self.options,
            pending,
            link: self.link,
        };
        let plan = Arc::new(plan);
        let mut attempt = 1;
        let saved = loop {
            let (plan, held) = (Arc::clone(&plan), &plan);
            let (guard, parent, name) = (plan.guard.clone(), plan.parent, plan.name.folded());
            let write =
                guard.write_child(parent, name, move |transaction, checked, seen| plan.run(transaction, checked, seen));
            match write.await {
                // A concurrent writer created the same folder or document. It exists now, so look again. Each attempt
                // finds one more folder.
                Err(error) if error.code() == Code::UniqueViolation && attempt < MAX_ATTEMPTS => attempt += 1,
                Err(error) if held.pending.may_retry(&error, attempt, &held.guard, &self.content).await? => {
                    attempt += 1
                }
                saved => break saved.map_err(name_conflict)?,
            }
        };
        metrics::counter!("strongroom_uploads_total").increment(1);
        metrics::counter!("strongroom_upload_bytes_total").increment(saved.size);
        Ok(saved)
    }
}

/// Returns the media type: by the name's extension, else the client's if it is well formed, else
/// `application/octet-stream`.
pub(crate) fn media_type(name: &Name, client: Option<&str>) -> String {
    if let Some(known) = mime_guess::from_path(name.as_str()).first_raw() {
        return known.to_owned();
    }
    let well_formed = |text: &&str| {
        text.len() <= 127
            && text.split('/').count() == 2
            && text.chars().all(|c| c.is_ascii_graphic() && !"\"<>,".contains(c))
    };
    client.filter(well_formed).unwrap_or("application/octet-stream").to_owned()
}
