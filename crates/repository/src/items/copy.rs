//! Copying: creates new items that refer to the same bytes.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::node::{self, NodeRow};
use database::content::{property, record, tree, version};
use model::{Error, Id, Name, NodeKind, Result, Right, Timestamp, VersionNumber, Versioning};

use crate::columns::carried::Carried;
use crate::columns::recompute;
use crate::documents::{charge, library_of};
use crate::items::attachments::{Arrival, admit};
use crate::items::item::Item;
use crate::items::tree::{above, held_parent, refuse_depth};
use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::session::locate::Located;
use crate::{Session, Target};

use super::moving::check_places;

impl Session {
    /// Copies a folder or document into a library or folder of the same site collection, under `name` if given. A taken
    /// name gets a number. The copy has the version that the caller sees, inherits the permissions of its destination,
    /// and omits items that the caller may not open.
    #[boxed]
    pub async fn copy_to(&self, target: &Target, to: &Target, name: Option<&Name>) -> Result<Item> {
        let located = self.locate(target).await?.viewed()?;
        let place = self.locate(to).await?;
        check_places(&located, place.unchecked())?;
        let place = place.to(Right::Add)?;
        let guard = self.guard([&*located, &place])?;
        let name = match name {
            Some(name) => name.clone(),
            None => Name::new(located.node().name.clone())?,
        };
        let detail = format!("{} → {}/{name}", located.path(), place.path());
        let (to, source) = (place.node().id, Located::clone(&located));
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            if let Some(created) = guard.repetition.find(transaction)? {
                return guard.item(transaction, created);
            }
            let mut source = source.clone();
            source.access = checked.access.clone();
            let parent = held_parent(transaction, to)?;
            guard.require_unlocked(transaction, checked, &parent)?;
            admit(transaction, guard, &parent, Arrival::New)?;
            let id = source.node().id;
            let above = above(transaction, &parent)?;
            refuse_depth(transaction, &above, id)?;
            let name = super::tree::free_name(transaction, to, &name)?;
            let mut copier = Copier::new(transaction, guard, &source, &parent)?;
            for row in tree::subtree(transaction, id)? {
                let top = (row.id == id).then_some(&name);
                copier.copy(transaction, &row, top)?;
            }
            let quota = checked.collection.quota_bytes;
            charge(transaction, guard, quota, checked.collection.id, copier.bytes, copier.documents)?;
            let top = copier.finish(transaction)?;
            guard.record(transaction, top, "item.copy", detail.as_str())?;
            guard.repetition.store_result(transaction, top)?;
            guard.item(transaction, top)
        };
        guard.write(write).await.map_err(name_conflict)
    }
}

pub(super) struct Copier<'a> {
    guard: &'a Guard,
    source: &'a Located,
    destination: &'a NodeRow,
    first: VersionNumber,
    /// Columns and content types of the library of the copies, if that is another one than that of the source.
    carried: Option<Carried>,
    /// True once a copy got values in another library.
    has_values: bool,
    now: Timestamp,
    /// Copies of the containers copied so far, by the original's identifier.
    containers: HashMap<Id, NodeRow>,
    top: Option<Id>,
    pub(super) bytes: i64,
    pub(super) documents: i64,
}

impl<'a> Copier<'a> {
    pub(super) fn new(
        transaction: &mut Transaction<'_>,
        guard: &'a Guard,
        source: &'a Located,
        destination: &'a NodeRow,
    ) -> Result<Self> {
        let settings = library_of(transaction, destination)?;
        let first = match settings.versioning {
            Versioning::MajorMinor => VersionNumber::new(0, 1),
            Versioning::None | Versioning::Major => VersionNumber::new(1, 0),
        };
        let from = source.node().library_id;
        let is_same = from == destination.library_id;
        let carried = if is_same { None } else { Some(Carried::between(transaction, from, destination)?) };
        Ok(Self {
            guard,
            source,
            destination,
            first,
            carried,
            has_values: false,
            now: Timestamp::now(),
            containers: HashMap::new(),
            top: None,
            bytes: 0,
            documents: 0,
        })
    }

    pub(super) fn copy(&mut self, transaction: &mut Transaction<'_>, row: &NodeRow, top: Option<&Name>) -> Result<()> {
        let parent = match top {
            Some(_) => Some(self.destination),
            None => self.containers.get(&row.parent_id),
        };
        let (Some(parent), true) = (parent, self.source.access.may_view(row.scope_id)) else { return Ok(()) };
        let name = match top {
            Some(name) => name.clone(),
            None => Name::new(row.name.clone())?,
        };
        let id = self.guard.next_id();
        let mut copy = NodeRow::new(id, parent, row.kind, &name, self.guard.caller(), self.now);
        copy.content_type_id = match &self.carried {
            None => row.content_type_id,
            Some(carried) => carried.content_type(row.content_type_id),
        };
        if row.kind == NodeKind::Document {
            let Some(visible) = self.source.visible_version(row) else { return Ok(()) };
            let mut stored = version::find(transaction, visible)?
                .ok_or_else(|| Error::corrupt(format!("a version of \"{}\" is missing", row.name)))?;
            stored.id = self.guard.next_id();
            stored.node_id = id;
            stored.number = self.first;
            stored.working = false;
            stored.created_at = self.now;
            stored.created_by = self.guard.caller();
            stored.comment = String::new();
            version::insert(transaction, &stored)?;
            copy.size = stored.size;
            copy.media_type = stored.media_type;
            copy.version_id = Some(stored.id);
            copy.published_id = Some(stored.id).filter(|_| self.first.is_major());
            copy.number = self.first;
            copy.modified_at = stored.modified_at;
            self.bytes += stored.size;
            self.documents += 1;
        }
        node::insert(transaction, &copy)?;
        match &self.carried {
            None => record::copy(transaction, row.id, &copy)?,
            Some(carried) => {
                if let Some(fields) = record::find(transaction, row.id)? {
                    let fields = carried.copied(&fields)?;
                    if !fields.is_empty() {
                        record::insert_many(transaction, &[(&copy, &fields)])?;
                        self.has_values = true;
                    }
                }
            }
        }
        property::copy(transaction, row.id, id)?;
        if top.is_some() {
            self.top = Some(id);
        }
        if row.kind.is_container() {
            self.containers.insert(row.id, copy);
        }
        Ok(())
    }

    /// Computes the calculated fields of copies that came into another library, and returns the copy of the source.
    ///
    /// # Errors
    /// `NotFound` if the source was not copied, because the caller may not open it any more.
    pub(super) fn finish(&self, transaction: &mut Transaction<'_>) -> Result<Id> {
        let top = self.top.ok_or_else(crate::session::errors::no_item)?;
        if self.has_values {
            recompute::arrived(transaction, top)?;
        }
        Ok(top)
    }
}
