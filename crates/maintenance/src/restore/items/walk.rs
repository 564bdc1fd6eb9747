//! Top-down traversal of the items to restore.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node::NodeRow;
use database::content::sorted::{self, RowFilter, SortOrder as Along};
use database::content::version::VersionRow;
use database::content::{listing, record, version};
use model::{Code, ColumnValue, Digest, Error, ErrorKind, Id, Name, NodeKind, NodePath, Result};
use repository::{
    HashedBytes, ImportContent, ImportFolder, NewFolder, Ownership, RestoreOutcome, RestoredDocument, ReturningVersion,
    Target,
};

use super::context::{TOLD, Walk};
use super::destination::{Columns, Place};
use super::places::split_parent;
use crate::backup::format::index::Entry;
use crate::backup::format::vault::MAX_IN_MEMORY;

const PAGE: usize = 200;

impl Walk<'_> {
    /// Restores the item at `path`. A `suffix` is added to its name when it is restored beside the existing item.
    #[boxed]
    pub async fn top(&mut self, path: &NodePath, row: &NodeRow, suffix: Option<&str>) -> Result<()> {
        let to = match suffix {
            Some(suffix) => beside(path, row.kind, suffix)?,
            None => path.clone(),
        };
        self.summary.path = to.to_string();
        match row.kind {
            NodeKind::Site => {
                self.site(&to, row).await?;
                self.fill().await
            }
            NodeKind::Library | NodeKind::List => {
                let place = self.library(&to, row).await?;
                self.places.push(place);
                self.fill().await
            }
            NodeKind::Row => Err(Error::invalid(
                "a single row cannot be restored from a backup: restore its list beside the present one",
            )),
            NodeKind::Folder | NodeKind::Document => {
                let (parent, name) = split_parent(&to)?;
                let columns = self.columns_above(path, &to).await?;
                let folder = self.folder_at(&parent).await?;
                self.require_same_row(path, &parent).await?;
                let mut row = row.clone();
                row.name = name.as_str().to_owned();
                if row.kind == NodeKind::Folder {
                    return self.folders(&folder, vec![row], &columns).await;
                }
                self.documents(&folder, vec![row], &columns, suffix.is_some()).await
            }
        }
    }

    /// Returns the column mapping of the library that contains a path.
    async fn columns_above(&mut self, path: &NodePath, to: &NodePath) -> Result<Columns> {
        let (mut from, mut above) = (path.clone(), to.clone());
        loop {
            ((from, _), (above, _)) = (split_parent(&from)?, split_parent(&above)?);
            let row = self.source.find(&from).await?;
            match row.kind {
                NodeKind::Library => {
                    let mut place = self.library(&above, &row).await?;
                    self.complete(&mut place).await?;
                    return Ok(place.columns);
                }
                // The columns of a list are not for attachments.
                NodeKind::List => return Ok(Columns::default()),
                _ => {}
            }
        }
    }

    /// Returns the folder at a path, and creates it if it is missing.
    async fn folder_at(&self, path: &NodePath) -> Result<ImportFolder> {
        match self.session.import_folder(&Target::Path(path.clone())).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.code() == Code::WrongKind => {
                return match self.session.import_attachments(&Target::Path(path.clone())).await {
                    Err(other) if other.code() == Code::WrongKind => Err(error),
                    row => row,
                };
            }
            found => return found,
        }
        let (parent, name) = split_parent(path)?;
        let above = Box::pin(self.folder_at(&parent)).await?;
        let new = NewFolder { name, ownership: None, grants: None };
        let made = self.session.import_folders(&above, vec![new]).await?.pop();
        made.unwrap_or_else(|| Err(Error::unavailable("a folder was not created")))
    }

    /// Refuses a row as a destination that is not the one which had the attachment at `path`: numbers are given anew in
    /// a list that was made again.
    async fn require_same_row(&self, path: &NodePath, parent: &NodePath) -> Result<()> {
        let (above, _) = split_parent(path)?;
        let row = self.source.find(&above).await?;
        let present = self.session.item(&Target::Path(parent.clone())).await?;
        match row.kind != NodeKind::Row || present.id == row.id {
            true => Ok(()),
            false => Err(Error::conflict(format!(
                "\"{parent}\" is another row than the one of the backup, which was deleted: restore its list"
            ))),
        }
    }

    /// Creates a site and everything below it that holds content, without the content.
    async fn site(&mut self, path: &NodePath, row: &NodeRow) -> Result<()> {
        self.make_site(path, row).await?;
        let mut after = String::new();
        loop {
            let page = self.containers(row.id, &after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after.clone_from(&last.folded);
            for below in page {
                let place = path.join(&Name::new(below.name.as_str())?);
                if below.kind == NodeKind::Site {
                    Box::pin(self.site(&place, &below)).await?;
                } else {
                    let place = self.library(&place, &below).await?;
                    self.places.push(place);
                }
            }
        }
    }

    /// Brings the content of all places back: first the rows of lists, whose entries others name.
    async fn fill(&mut self) -> Result<()> {
        let mut places = std::mem::take(&mut self.places);
        for place in &mut places {
            self.complete(place).await?;
        }
        self.lookups.name_lists(&places);
        let (lists, libraries): (Vec<Place>, Vec<Place>) =
            places.into_iter().partition(|place| place.row.kind == NodeKind::List);
        self.lists(lists).await?;
        for Place { path, row, columns, .. } in libraries {
            let folder = self.session.import_folder(&Target::Path(path)).await?;
            self.below(&folder, row.id, &columns).await?;
        }
        Ok(())
    }

    async fn containers(&self, parent: Id, after: &str) -> Result<Vec<NodeRow>> {
        let after = after.to_owned();
        let read = move |reader: &mut Reader<'_>| listing::containers(reader, parent, &after, false, PAGE);
        self.source.database.read_long(read).await
    }

    /// Restores everything below a library or folder of the set.
    async fn below(&mut self, folder: &ImportFolder, parent: Id, columns: &Columns) -> Result<()> {
        let mut after = String::new();
        loop {
            let from = after.clone();
            let read = move |reader: &mut Reader<'_>| {
                sorted::leaves(reader, parent, &Along::Name(&from), false, &RowFilter::default(), PAGE)
            };
            let page = self.source.database.read_long(read).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.folded);
            self.documents(folder, page, columns, false).await?;
        }
        let mut after = String::new();
        loop {
            let page = self.containers(parent, &after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after.clone_from(&last.folded);
            self.folders(folder, page, columns).await?;
        }
    }

    async fn folders(&mut self, parent: &ImportFolder, rows: Vec<NodeRow>, columns: &Columns) -> Result<()> {
        let mut new = Vec::with_capacity(rows.len());
        for row in &rows {
            let ownership = Some(ownership(row));
            let grants = self.mapped_grants(row, &format!("{}/{}", parent.path(), row.name)).await?;
            new.push(NewFolder { name: Name::new(row.name.as_str())?, ownership, grants });
        }
        let made = self.session.import_folders(parent, new).await?;
        for (made, row) in made.into_iter().zip(rows) {
            match made {
                Ok(folder) => Box::pin(self.below(&folder, row.id, columns)).await?,
                Err(error) => self.fault(parent.path(), &row.name, &error)?,
            }
        }
        Ok(())
    }

    pub(super) async fn documents(
        &mut self,
        folder: &ImportFolder,
        rows: Vec<NodeRow>,
        columns: &Columns,
        beside: bool,
    ) -> Result<()> {
        let mut histories = Vec::with_capacity(rows.len());
        for row in rows {
            let versions = self.history(&row).await?;
            self.progress.count(1, versions.iter().map(|version| version.size.max(0) as u64).sum());
            histories.push((row, versions));
        }
        let digests = histories.iter().flat_map(|(_, versions)| versions.iter().map(|version| version.digest));
        let entries = self.source.entries(digests.collect()).await?;
        for (row, versions) in histories {
            let name = row.name.clone();
            let back = self.document(folder, row, &versions, &entries, columns, beside).await;
            self.progress.add_files(1);
            match back {
                Ok(()) => {}
                Err(error) => self.fault(folder.path(), &name, &error)?,
            }
        }
        Ok(())
    }

    /// Returns all versions of a document, oldest first, without working copies.
    async fn history(&self, row: &NodeRow) -> Result<Vec<VersionRow>> {
        let (id, mut before, mut all) = (row.id, None, Vec::new());
        loop {
            let read = move |reader: &mut Reader<'_>| version::list(reader, id, before, PAGE);
            let page = self.source.database.read_long(read).await?;
            before = page.last().map(|version| version.id);
            all.extend(page.into_iter().filter(|version| !version.working));
            if before.is_none() {
                all.reverse();
                return Ok(all);
            }
        }
    }

    async fn document(
        &mut self,
        folder: &ImportFolder,
        row: NodeRow,
        versions: &[VersionRow],
        entries: &HashMap<Digest, Entry>,
        columns: &Columns,
        beside: bool,
    ) -> Result<()> {
        let Some(latest) = versions.last() else { return Ok(()) };
        let name = Name::new(row.name.as_str())?;
        let mut place = format!("{}/{name}", folder.path());
        let (mut returning, mut without) = (Vec::with_capacity(versions.len()), Vec::new());
        let mut bytes = 0;
        for version in versions {
            let content = match self.content(folder, &name, version, entries).await {
                Err(error) if version.id != latest.id && self.source.is_lost(&error, &version.digest) => {
                    without.push(version.number);
                    continue;
                }
                content => content?,
            };
            bytes += version.size.max(0) as u64;
            returning.push(ReturningVersion {
                number: version.number,
                content,
                media_type: version.media_type.clone(),
                comment: version.comment.clone(),
                created_at: version.created_at,
                created_by: version.created_by,
                modified_at: version.modified_at,
            });
        }
        let (id, count) = (row.id, returning.len() as u64);
        let values = self.source.database.read_long(move |reader: &mut Reader<'_>| record::values(reader, id)).await?;
        let values = values.into_iter().filter_map(|(column, value)| self.value(columns, column, &value));
        let values: Vec<(Id, ColumnValue)> = values.collect();
        let published =
            versions.iter().find(|version| Some(version.id) == row.published_id).map(|version| version.number);
        let document = RestoredDocument {
            folder: folder.clone(),
            name,
            beside,
            versions: returning,
            published,
            created_at: row.created_at,
            created_by: row.created_by,
            modified_at: if Some(latest.id) == row.version_id { row.modified_at } else { latest.modified_at },
            modified_by: row.modified_by,
            content_type: row.content_type_id.and_then(|id| columns.types.get(&id).copied()),
            values,
            grants: self.mapped_grants(&row, &place).await?,
        };
        let returned = self.session.restore_document(document).await?;
        // If the name is taken, the document has been given another one.
        if let (RestoreOutcome::Created(id), true) = (returned, beside)
            && let Ok(item) = self.session.item(&id.into()).await
        {
            place = item.path.to_string();
            self.summary.path.clone_from(&place);
        }
        for number in without {
            self.note(format!("\"{place}\" is back without version {number}, whose loss was accepted"));
        }
        match returned {
            RestoreOutcome::Created(_) => {
                self.summary.created += 1;
                self.summary.versions += count;
                self.summary.bytes += bytes;
            }
            RestoreOutcome::NewVersion(_) => {
                self.summary.replaced += 1;
                self.summary.versions += 1;
                self.summary.bytes += latest.size.max(0) as u64;
            }
            RestoreOutcome::Same(_) => self.summary.unchanged += 1,
        }
        Ok(())
    }

    async fn content(
        &self,
        folder: &ImportFolder,
        name: &Name,
        version: &VersionRow,
        entries: &HashMap<Digest, Entry>,
    ) -> Result<ImportContent> {
        let size = version.size.max(0) as u64;
        if let Some(standing) = folder.existing_content(name, version.digest, size).await? {
            self.progress.add_bytes(size);
            return Ok(standing);
        }
        let mut content = self.source.content(version, entries).await?;
        self.progress.add_bytes(size);
        if size <= MAX_IN_MEMORY {
            let bytes = content.all().await?;
            if ::blobs::digest_of(&bytes) != version.digest {
                return Err(Error::corrupt(format!(
                    "the bytes of version {} do not match their digest",
                    version.number
                )));
            }
            return folder.store_bytes(name, HashedBytes::new(version.digest, bytes)).await;
        }
        let mut writer = folder.writer(name, size).await?;
        while let Some(piece) = content.next().await? {
            writer.write(piece).await?;
        }
        writer.finish().await
    }

    /// Records the fault of a single item. Errors that affect all items end the restore.
    pub(super) fn fault(&mut self, folder: &str, name: &str, error: &Error) -> Result<()> {
        if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Exhausted) {
            return Err(Error::new(error.kind(), error.message().to_owned()));
        }
        if self.summary.faults.len() < TOLD {
            self.summary.faults.push(format!("{folder}/{name}: {}", error.message()));
        }
        Ok(())
    }
}

fn ownership(row: &NodeRow) -> Ownership {
    Ownership {
        created_by: row.created_by,
        created_at: row.created_at,
        modified_by: row.modified_by,
        modified_at: row.modified_at,
    }
}

/// Returns the path with a suffix on its name, before the extension of a document.
fn beside(path: &NodePath, kind: NodeKind, suffix: &str) -> Result<NodePath> {
    let (parent, name) = split_parent(path)?;
    let text = name.as_str();
    let (stem, extension) = match text.rfind('.') {
        Some(dot) if dot > 0 && kind == NodeKind::Document => text.split_at(dot),
        _ => (text, ""),
    };
    let room = model::MAX_NAME_CHARS.saturating_sub(suffix.chars().count() + extension.chars().count());
    let stem: String = stem.chars().take(room).collect();
    Ok(parent.join(&Name::new(format!("{stem}{suffix}{extension}"))?))
}
