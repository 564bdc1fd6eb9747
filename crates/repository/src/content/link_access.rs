//! Access for the holder of a link: its target, downloads, and files to send. Everything happens with the rights of the
//! link's creator, and concerns published versions only.

use std::collections::HashMap;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use database::content::share_link::{self, ShareLinkRow};
use database::content::{node, version};
use database::{Reader, Transaction};
use model::{Code, Error, ErrorKind, Id, Name, NodeKind, Result, Right, Timestamp, VersionNumber};

use crate::content::link_use::{LinkUse, ended};
use crate::content::pending_link_files::PendingLinkFile;
use crate::content::sharing::as_ended;
use crate::documents::{Content, Destination, OnConflict, Upload, UploadOptions, VersionChoice};
use crate::farm::registry::ContentDatabase;
use crate::items::Sort;
use crate::items::item::Item;
use crate::people::{CLOCK_TOLERANCE, Client, link_hash};
use crate::session::known::Known;
use crate::storage::redaction::without_store_details;
use crate::{Repository, Session, Target};

/// Limit on the entries of a folder that the holder of a link sees.
const MAX_ENTRIES: usize = 1_000;
/// Limit on the pages of a folder that are looked through for them.
const MAX_PAGES: usize = 10;

/// Target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkContent {
    /// The published version of a document.
    Document {
        /// Its size in bytes.
        size: u64,
        /// Its media type.
        media_type: String,
    },
    /// A folder or library whose published documents can be downloaded.
    Folder,
    /// A folder or library to which files can be sent.
    Uploads,
}

/// Description of a link for its holder, before the password.
#[derive(Clone, Debug)]
pub struct OpenedLink {
    /// Name of the document, folder or library.
    pub name: String,
    /// Its target.
    pub content: LinkContent,
    /// Message of the creator to the recipients; may be empty.
    pub message: String,
    /// Set when a password is needed.
    pub has_password: bool,
    /// True if the number of downloads is limited.
    pub is_counted: bool,
    /// End of the link's life.
    pub expires_at: Timestamp,
}

/// An entry of a folder, as the holder of a link sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEntry {
    /// Identifier.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// Size of the published version in bytes; `None` for a folder.
    pub size: Option<u64>,
    /// Time of the published version, or of the last change of a folder.
    pub modified_at: Timestamp,
}

/// The contents of a folder, as the holder of a link sees them.
#[derive(Clone, Debug)]
pub struct LinkListing {
    /// The folders from that of the link to this one, each with its name.
    pub way: Vec<(Id, String)>,
    /// Folders and published documents, by name.
    pub entries: Vec<LinkEntry>,
    /// True if there are more, which are not shown.
    pub is_cut: bool,
}

/// Link, secret and password that a holder presents.
#[derive(Clone)]
pub struct LinkProof {
    /// The link.
    pub link: Id,
    /// Its secret.
    pub secret: String,
    /// The password as typed; empty for none.
    pub password: String,
    /// The holder's client.
    pub client: Client,
}

/// A valid link, with a session of the link's creator.
struct ValidLink {
    row: ShareLinkRow,
    creator: Session,
    content: Arc<ContentDatabase>,
    kind: NodeKind,
    /// The published version; `None` for a folder or library.
    number: Option<VersionNumber>,
}

/// A link that takes files, with the proof that its holder knows the password.
pub struct UploadLink(ValidLink);

impl Repository {
    /// Returns what a link leads to, for anyone who has the link.
    ///
    /// # Errors
    /// `NotFound` with code `link_ended`, for whatever reason the link is invalid.
    #[boxed]
    pub async fn open_link(&self, id: Id, secret: &str) -> Result<OpenedLink> {
        let live = self.valid_link(id, secret).await?;
        let item = live.creator.item(&Target::Id(live.row.node_id)).await.map_err(as_ended)?;
        let content = match live.number {
            Some(number) => {
                let node = live.row.node_id;
                let find = move |reader: &mut Reader<'_>| version::find_number(reader, node, number);
                let found = live.content.database.read(find).await?.ok_or_else(ended)?;
                LinkContent::Document { size: model::unsigned(found.size), media_type: found.media_type }
            }
            None if live.row.takes_uploads => LinkContent::Uploads,
            None => LinkContent::Folder,
        };
        Ok(OpenedLink {
            name: item.name,
            content,
            message: live.row.message,
            has_password: !live.row.password.is_empty(),
            is_counted: live.row.most_downloads.is_some(),
            expires_at: live.row.expires_at,
        })
    }

    /// Returns the contents of the folder of a link, or of the folder `at` below it.
    ///
    /// # Errors
    /// Those of [`Repository::download_link`] apart from its last.
    #[boxed]
    pub async fn link_folder(&self, proof: &LinkProof, at: Option<Id>) -> Result<LinkListing> {
        let live = self.proved(proof).await?;
        if live.kind == NodeKind::Document || live.row.takes_uploads {
            return Err(ended());
        }
        let way = live.way_to(at.unwrap_or(live.row.node_id)).await?;
        let Some(place) = way.last().filter(|place| place.kind != NodeKind::Document) else { return Err(ended()) };
        let target = Target::Id(place.id);
        let (mut entries, mut after, mut pages) = (Vec::new(), None, 0);
        // What the visitor may not see must not show, also not in the number of entries.
        let is_cut = loop {
            let listed = live.creator.list(&target, Sort::Name, false, after.take(), MAX_ENTRIES).await;
            let (_, page) = listed.map_err(as_ended)?;
            entries.extend(live.shown(page.items).await?);
            (after, pages) = (page.next, pages + 1);
            if entries.len() > MAX_ENTRIES || after.is_none() || pages == MAX_PAGES {
                break entries.len() > MAX_ENTRIES || after.is_some();
            }
        };
        entries.truncate(MAX_ENTRIES);
        Ok(LinkListing { way: way.into_iter().map(|item| (item.id, item.name)).collect(), entries, is_cut })
    }

    /// Opens the document of a link, or a document in its folder, and counts the download. It is recorded; without a
    /// limit on downloads not again within ten minutes for the same network.
    ///
    /// # Errors
    /// `NotFound` with code `link_ended`; `Forbidden` with code `wrong_link_password`; `Exhausted` with code
    /// `too_many_attempts`; those of [`Session::open`]; `Corrupt` when the content is on record as missing or damaged.
    /// A failed download is not counted.
    #[boxed]
    pub async fn download_link(&self, proof: &LinkProof, document: Option<Id>) -> Result<Content> {
        self.open_by_link(proof, document, true).await
    }

    /// Opens the document of a link for a page that shows it. This is recorded as a download is, and not counted.
    ///
    /// # Errors
    /// Those of [`Repository::download_link`]; `NotFound` with code `link_ended` for a link with a limit on downloads.
    #[boxed]
    pub async fn view_link(&self, proof: &LinkProof) -> Result<Content> {
        self.open_by_link(proof, None, false).await
    }

    async fn open_by_link(&self, proof: &LinkProof, document: Option<Id>, counts: bool) -> Result<Content> {
        let live = self.proved(proof).await?;
        if !counts && live.row.most_downloads.is_some() {
            return Err(ended());
        }
        let (node, number) = match (live.number, document) {
            (Some(number), None) => (live.row.node_id, number),
            (None, Some(document)) if !live.row.takes_uploads => {
                live.way_to(document).await?;
                (document, live.published_number(document).await?)
            }
            _ => return Err(ended()),
        };
        let target = Target::Id(node);
        let opened = live.creator.open(&target, VersionChoice::Number(number)).await;
        let mut opened = opened.map_err(|error| without_store_details(as_ended(error), false))?;
        opened.hide_store_locations();
        // Checked before the download is counted, because content on record as faulty cannot be delivered.
        opened.refuse_known_fault().await.map_err(|error| without_store_details(as_ended(error), false))?;
        let by = LinkUse { link: live.row.id, address: proof.client.address };
        // Each use of a link with a limit has its record.
        let is_limited = live.row.most_downloads.is_some();
        let records = is_limited || !self.inner.recorded_downloads.has(by.link, node, by.address);
        if counts || records {
            live.note_download(by, &target, counts, records).await?;
        }
        if records {
            self.inner.recorded_downloads.add(by.link, node, by.address);
        }
        Ok(opened)
    }

    /// Opens a link that takes files.
    ///
    /// # Errors
    /// Those of [`Repository::link_folder`].
    #[boxed]
    pub async fn upload_link(&self, proof: &LinkProof) -> Result<UploadLink> {
        let live = self.proved(proof).await?;
        if live.row.takes_uploads { Ok(UploadLink(live)) } else { Err(ended()) }
    }

    /// Returns a link if it is valid and the password is that of the link.
    async fn proved(&self, proof: &LinkProof) -> Result<ValidLink> {
        let live = self.valid_link(proof.link, &proof.secret).await?;
        let stored = &live.row.password;
        if !stored.is_empty() && !self.try_link_password(proof.link, stored, &proof.password, &proof.client).await? {
            return Err(Error::forbidden("this is not the password of the link").with_code(Code::WrongLinkPassword));
        }
        Ok(live)
    }

    /// Returns a link if it exists, has not ended and its site allows links. Does not ask for the password.
    async fn valid_link(&self, id: Id, secret: &str) -> Result<ValidLink> {
        let digest = link_hash(secret).ok_or_else(ended)?;
        let registry = self.registry_at(0).await?;
        for content in &registry.databases {
            let found = content.database.read(move |reader| {
                let Some(row) = share_link::find(reader, id)? else { return Ok(None) };
                let Some(node) = node::find(reader, row.node_id)? else { return Ok(None) };
                if share_link::rule(reader, node.collection_id)?.is_none() {
                    return Ok(None);
                }
                if node.kind != NodeKind::Document {
                    return Ok(Some((row, node.kind, None)));
                }
                let number = match node.published_id {
                    Some(published) => version::find(reader, published)?.map(|version| version.number),
                    None => None,
                };
                Ok(number.map(|number| (row, node.kind, Some(number))))
            });
            let Some((row, kind, number)) = found.await? else { continue };
            // Both are hashes of 256 random bits, so the duration of the comparison reveals nothing about the secret.
            let same = row.digest.as_bytes() == &digest;
            let spent = row.most_downloads.is_some_and(|most| row.downloads >= most);
            let now = Timestamp::now();
            // A link that was made while the clock was ahead would last too long.
            let is_early = row.created_at > now.after(CLOCK_TOLERANCE);
            if !same || spent || is_early || row.expires_at <= now {
                return Err(ended());
            }
            let creator = self.principal(row.created_by).await.map_err(as_ended)?;
            let creator = self.as_caller(creator).for_visitors();
            return Ok(ValidLink { row, creator, content: content.clone(), kind, number });
        }
        if !registry.absent.is_empty() {
            let text = "the document of this link may be in a part of the site that is not available at the moment: \
                try again later";
            return Err(Error::unavailable(text).with_code(Code::DatabaseAway));
        }
        Err(ended())
    }
}

impl ValidLink {
    /// Returns the items from that of the link to one below it, all of which the creator may edit.
    async fn way_to(&self, item: Id) -> Result<Vec<Item>> {
        let mut way = self.creator.item_with_ancestors(&Target::Id(item)).await.map_err(as_ended)?;
        let start = way.iter().position(|above| above.id == self.row.node_id).ok_or_else(ended)?;
        let way = way.split_off(start);
        if way.iter().all(|item| item.rights.has(Right::Edit)) { Ok(way) } else { Err(ended()) }
    }

    /// Returns the published documents among these items, each with size and time of its published version.
    async fn published(&self, items: &[Item]) -> Result<HashMap<Id, (u64, Timestamp)>> {
        let documents = items.iter().filter(|item| item.kind == NodeKind::Document);
        let ids: Vec<Id> = documents.map(|item| item.id).collect();
        let find = move |reader: &mut Reader<'_>| {
            let nodes = node::find_many(reader, &ids)?;
            let published = nodes.iter().filter_map(|node| node.published_id);
            let versions = version::find_many(reader, &published.collect::<Vec<_>>())?;
            Ok(versions.iter().map(|row| (row.node_id, (model::unsigned(row.size), row.created_at))).collect())
        };
        self.content.database.read(find).await
    }

    /// Returns what a visitor sees of these items: folders, and the published versions of documents.
    async fn shown(&self, items: Vec<Item>) -> Result<Vec<LinkEntry>> {
        let published = self.published(&items).await?;
        // The creator cannot make links to items that they may only view.
        let may_share = |item: &Item| item.rights.has(Right::Edit);
        let entry = |item: Item| match item.kind {
            NodeKind::Folder => {
                Some(LinkEntry { id: item.id, name: item.name, size: None, modified_at: item.modified_at })
            }
            NodeKind::Document => {
                let (size, modified_at) = published.get(&item.id)?;
                Some(LinkEntry { id: item.id, name: item.name, size: Some(*size), modified_at: *modified_at })
            }
            _ => None,
        };
        Ok(items.into_iter().filter(may_share).filter_map(entry).collect())
    }

    async fn published_number(&self, document: Id) -> Result<VersionNumber> {
        let find = move |reader: &mut Reader<'_>| {
            let published = node::find(reader, document)?.and_then(|node| node.published_id);
            match published {
                Some(id) => version::find(reader, id),
                None => Ok(None),
            }
        };
        let found = self.content.database.read(find).await?;
        found.filter(|version| version.node_id == document).map(|version| version.number).ok_or_else(ended)
    }

    /// Counts a download, records it, or both.
    async fn note_download(&self, by: LinkUse, target: &Target, counts: bool, records: bool) -> Result<()> {
        let located = self.creator.locate(target).await.and_then(Known::viewed).map_err(as_ended)?;
        let guard = self.creator.guard([&*located]).map_err(as_ended)?;
        let (node, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>| {
            if counts {
                by.count(transaction)?;
            }
            match records {
                true => by.record(transaction, &guard, node, "link.use", &path),
                false => Ok(()),
            }
        };
        self.content.database.write_vital(write).await
    }
}

impl UploadLink {
    /// Begins to store a file in the folder of the link, under a free name.
    ///
    /// # Errors
    /// `NotFound` with code `link_ended` if the link takes no further files. Other errors are about the file, or have
    /// the code `link_takes_no_files`; they name nothing of the folder.
    #[boxed]
    pub async fn begin(&self, name: Name, options: UploadOptions, client: &Client) -> Result<LinkUpload> {
        let live = &self.0;
        let destination = Destination::Child { parent: live.row.node_id, name };
        let options = UploadOptions { on_conflict: OnConflict::KeepBoth, ..options };
        let repository = &live.creator.repository;
        let left = live.row.most_downloads.map(|most| most - live.row.downloads);
        let pending = repository.inner.pending_link_files.begin(live.row.id, left);
        let pending = pending.ok_or_else(|| for_sender(Error::exhausted("the link takes no more files at a time")))?;
        let begun = live.creator.begin_upload(&destination, options, None).await.map_err(for_sender)?;
        let by = LinkUse { link: live.row.id, address: client.address };
        let upload = begun.through(by, live.creator.turns_of, repository);
        Ok(LinkUpload { upload, _pending: pending })
    }
}

/// A file that is being sent through a link. Dropping it stores nothing and counts nothing.
pub struct LinkUpload {
    upload: Upload,
    _pending: PendingLinkFile,
}

impl LinkUpload {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// Those of [`UploadLink::begin`].
    #[boxed]
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.upload.write(bytes).await.map_err(for_sender)
    }

    /// Stores the file. The same transaction counts and records the use of the link.
    ///
    /// # Errors
    /// Those of [`UploadLink::begin`].
    #[boxed]
    pub async fn finish(self) -> Result<()> {
        self.upload.finish().await.map(drop).map_err(for_sender)
    }
}

/// Returns an error as the sender of a file may see it: without names of people, places and stores.
fn for_sender(error: Error) -> Error {
    match (error.kind(), error.code()) {
        (ErrorKind::NotFound | ErrorKind::Forbidden, _) => ended(),
        (ErrorKind::Invalid, _) => error,
        (kind, _) => {
            let text = "files cannot be taken here at the moment: try again later, or tell the sender of the link";
            let kind = if kind == ErrorKind::Unavailable { kind } else { ErrorKind::Conflict };
            Error::new(kind, text).with_code(Code::LinkTakesNoFiles).with_source(error)
        }
    }
}
