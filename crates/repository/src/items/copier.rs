//! Making copies in the transaction that copies: first who becomes whose copy, then settings and columns, then items.

use std::collections::HashMap;

use database::Transaction;
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::version::{self, VersionRow};
use database::content::{property, record, site};
use model::{Error, Id, Name, NodeKind, Result, Timestamp, VersionNumber, Versioning};

use crate::columns::carried::Carried;
use crate::columns::copied::copy_definitions;
use crate::columns::recompute;
use crate::documents::library_of;
use crate::look::options::SiteOptions;
use crate::session::guard::Guard;
use crate::session::locate::Located;

/// Number of items that are read and written together.
const GROUP: usize = 100;

/// Makes the copies of one item and of what is below it.
pub(crate) struct Copier<'a> {
    guard: &'a Guard,
    source: &'a Located,
    destination: &'a NodeRow,
    now: Timestamp,
    /// How contents arrive, by the library or list that they were in.
    arrivals: HashMap<Id, Arrival>,
    /// Identifiers of all copies, by those of their originals.
    copies: HashMap<Id, Id>,
    /// Copies of what can have something below it, by the identifiers of their originals.
    parents: HashMap<Id, NodeRow>,
    pub(crate) bytes: i64,
    pub(crate) documents: i64,
}

/// How the contents of a library or list arrive at their destination.
struct Arrival {
    /// Number of the first version.
    first: VersionNumber,
    /// Set if published versions arrive as such, although the destination keeps drafts.
    publishes: bool,
    /// Columns and content types, if the library is another one than before.
    carried: Option<Carried>,
    /// True once a copy got values in another library.
    has_values: bool,
}

impl<'a> Copier<'a> {
    /// Creates what copies `source` into `destination`.
    pub(crate) fn new(
        transaction: &mut Transaction<'_>,
        guard: &'a Guard,
        source: &'a Located,
        destination: &'a NodeRow,
    ) -> Result<Self> {
        let mut arrivals = HashMap::new();
        if destination.kind != NodeKind::Site {
            let from = source.node().library_id;
            let is_same = from == destination.library_id;
            let carried = if is_same { None } else { Some(Carried::between(transaction, from, destination)?) };
            let settings = library_of(transaction, destination)?;
            let first = first_version(settings.versioning);
            arrivals.insert(from, Arrival { first, publishes: false, carried, has_values: false });
        }
        Ok(Self {
            guard,
            source,
            destination,
            now: Timestamp::now(),
            arrivals,
            copies: HashMap::new(),
            parents: HashMap::new(),
            bytes: 0,
            documents: 0,
        })
    }

    /// Copies items, of which the first is above all others, under a name. Returns the copy of the first.
    ///
    /// # Errors
    /// `NotFound` if the first was not copied, because the caller may not open it any more.
    pub(crate) fn copy(&mut self, transaction: &mut Transaction<'_>, rows: &[NodeRow], name: &Name) -> Result<Id> {
        let (top, below) = rows.split_first().ok_or_else(crate::session::errors::no_item)?;
        let mut pairs = Vec::with_capacity(rows.len());
        pairs.extend(self.plan(top, self.destination, name)?);
        pairs.extend(self.plan_below(below)?);
        self.store(transaction, &pairs)?;
        self.copies.get(&top.id).copied().ok_or_else(crate::session::errors::no_item)
    }

    /// Copies what is below an item whose copy was made already.
    pub(crate) fn copy_below(
        &mut self,
        transaction: &mut Transaction<'_>,
        original: Id,
        copy: &NodeRow,
        below: &[NodeRow],
    ) -> Result<()> {
        self.copies.insert(original, copy.id);
        self.parents.insert(original, copy.clone());
        let pairs = self.plan_below(below)?;
        self.store(transaction, &pairs)
    }

    fn plan_below<'r>(&mut self, rows: &'r [NodeRow]) -> Result<Vec<(&'r NodeRow, NodeRow)>> {
        let mut pairs = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(parent) = self.parents.get(&row.parent_id).cloned() {
                pairs.extend(self.plan(row, &parent, &Name::new(row.name.clone())?)?);
            }
        }
        Ok(pairs)
    }

    /// Returns an item with its copy; `None` if the caller may not open it.
    fn plan<'r>(&mut self, row: &'r NodeRow, parent: &NodeRow, name: &Name) -> Result<Option<(&'r NodeRow, NodeRow)>> {
        let is_unseen = row.kind == NodeKind::Document && self.source.visible_version(row).is_none();
        if is_unseen || !self.source.access.may_view(row.scope_id) {
            return Ok(None);
        }
        let id = self.guard.next_id();
        let mut copy = NodeRow::new(id, parent, row.kind, name, self.guard.caller(), self.now);
        if row.kind == NodeKind::Row {
            copy.version_id = Some(self.guard.next_id());
            copy.published_id = copy.version_id;
            copy.number = VersionNumber::new(1, 0);
            copy.title.clone_from(&row.title);
            copy.modified_at = row.modified_at;
        }
        self.copies.insert(row.id, id);
        if row.kind != NodeKind::Document {
            self.parents.insert(row.id, copy.clone());
        }
        Ok(Some((row, copy)))
    }

    fn store(&mut self, transaction: &mut Transaction<'_>, pairs: &[(&NodeRow, NodeRow)]) -> Result<()> {
        // Documents after what they are in, and definitions before the values that need them.
        let (holders, contents): (Vec<_>, Vec<_>) = pairs.iter().partition(|(row, _)| !row.kind.has_values());
        node::insert_many(transaction, &holders.iter().map(|(_, copy)| copy.clone()).collect::<Vec<_>>())?;
        for (row, copy) in &holders {
            if row.kind.defines_columns() {
                self.define(transaction, row, copy)?;
            } else {
                self.copy_look(transaction, row, copy)?;
            }
        }
        for of_library in contents.chunk_by(|(one, _), (other, _)| one.library_id == other.library_id) {
            for some in of_library.chunks(GROUP) {
                self.store_some(transaction, some)?;
            }
        }
        for (row, copy) in pairs {
            // What was computed may depend on entries that the copy names no more.
            let is_stale = |arrival: &Arrival| match row.kind.defines_columns() {
                true => arrival.carried.as_ref().is_some_and(Carried::is_over_copies),
                false => arrival.has_values && copy.parent_id == self.destination.id,
            };
            if self.arrivals.get(&row.library_id).is_some_and(is_stale) {
                recompute::arrived(transaction, copy.id)?;
            }
        }
        Ok(())
    }

    /// Copies the settings, columns and views of a library or list.
    fn define(&mut self, transaction: &mut Transaction<'_>, row: &NodeRow, copy: &NodeRow) -> Result<()> {
        let carried = copy_definitions(transaction, self.guard, row.id, copy.id, &self.copies)?;
        let settings = library_of(transaction, copy)?;
        let arrival = Arrival {
            first: first_version(settings.versioning),
            publishes: settings.may_publish(self.source.access.rights(copy.scope_id)),
            carried: Some(carried),
            has_values: false,
        };
        self.arrivals.insert(row.id, arrival);
        Ok(())
    }

    /// Copies navigation, accent, logo and home page of a site.
    fn copy_look(&self, transaction: &mut Transaction<'_>, row: &NodeRow, copy: &NodeRow) -> Result<()> {
        let Some(mut stored) = site::find(transaction, row.id)? else { return Ok(()) };
        let mut options = SiteOptions::of(Some(&stored))?.over(&self.copies);
        if let Some((media_type, bytes)) = site::logo(transaction, row.id)?.filter(|_| options.logo.is_some()) {
            options.logo = Some(self.guard.next_id());
            site::put_logo(transaction, copy.id, &media_type, &bytes)?;
        }
        stored.options = options.to_text()?;
        site::put(transaction, copy.id, &stored)
    }

    /// Stores the copies of folders, documents and rows of one library or list.
    fn store_some(&mut self, transaction: &mut Transaction<'_>, pairs: &[&(&NodeRow, NodeRow)]) -> Result<()> {
        let Some((first, _)) = pairs.first() else { return Ok(()) };
        let ids: Vec<Id> = pairs.iter().map(|(row, _)| row.id).collect();
        let mut copies: Vec<NodeRow> = pairs.iter().map(|(_, copy)| copy.clone()).collect();
        let arrival = self.arrivals.get(&first.library_id);
        let arrival = arrival.ok_or_else(|| Error::corrupt("an item is in another library than what is above it"))?;
        let visible: Vec<Id> = pairs.iter().filter_map(|(row, _)| self.visible_version(row)).collect();
        let found = version::find_many(transaction, &visible)?;
        let mut versions: HashMap<Id, VersionRow> = found.into_iter().map(|found| (found.id, found)).collect();
        let mut stored = Vec::with_capacity(versions.len());
        for ((row, _), copy) in pairs.iter().zip(&mut copies) {
            copy.content_type_id = match &arrival.carried {
                None => row.content_type_id,
                Some(carried) => carried.content_type(row.content_type_id),
            };
            let Some(visible) = self.visible_version(row) else { continue };
            let mut content = versions
                .remove(&visible)
                .ok_or_else(|| Error::corrupt(format!("a version of \"{}\" is missing", row.name)))?;
            let is_published = arrival.publishes && row.published_id == Some(visible);
            content.id = self.guard.next_id();
            content.node_id = copy.id;
            content.number = if is_published { VersionNumber::new(1, 0) } else { arrival.first };
            content.working = false;
            content.created_at = self.now;
            content.created_by = self.guard.caller();
            content.comment = String::new();
            copy.size = content.size;
            copy.media_type.clone_from(&content.media_type);
            copy.version_id = Some(content.id);
            copy.published_id = copy.version_id.filter(|_| content.number.is_major());
            copy.number = content.number;
            copy.modified_at = content.modified_at;
            self.bytes += content.size;
            self.documents += 1;
            stored.push(content);
        }
        node::insert_many(transaction, &copies)?;
        for content in &stored {
            version::insert(transaction, content)?;
        }
        let carried = arrival.carried.as_ref();
        let have_values = store_values(transaction, &ids, &copies, carried, &self.copies)? && carried.is_some();
        if let Some(arrival) = self.arrivals.get_mut(&first.library_id) {
            arrival.has_values |= have_values;
        }
        for (id, _) in property::sizes(transaction, &ids)? {
            property::copy(transaction, id, self.copies[&id])?;
        }
        Ok(())
    }

    fn visible_version(&self, row: &NodeRow) -> Option<Id> {
        self.source.visible_version(row).filter(|_| row.kind == NodeKind::Document)
    }
}

/// Stores the values of copies of items, and returns whether there are any.
fn store_values(
    transaction: &mut Transaction<'_>,
    originals: &[Id],
    copies: &[NodeRow],
    carried: Option<&Carried>,
    all: &HashMap<Id, Id>,
) -> Result<bool> {
    let mut known: HashMap<Id, Fields> = record::find_many(transaction, originals)?.into_iter().collect();
    let mut rows = Vec::new();
    let mut others = Vec::new();
    for (original, copy) in originals.iter().zip(copies) {
        let Some(mut fields) = known.remove(original) else { continue };
        if let Some(carried) = carried {
            fields = carried.copied(&fields, all)?;
        }
        match copy.kind {
            NodeKind::Row => rows.push((copy, fields)),
            _ if fields.is_empty() => {}
            _ => others.push((copy, fields)),
        }
    }
    for some in [&rows, &others] {
        record::insert_many(transaction, &some.iter().map(|(copy, fields)| (*copy, fields)).collect::<Vec<_>>())?;
    }
    Ok(!rows.is_empty() || !others.is_empty())
}

fn first_version(versioning: Versioning) -> VersionNumber {
    match versioning {
        Versioning::MajorMinor => VersionNumber::new(0, 1),
        Versioning::None | Versioning::Major => VersionNumber::new(1, 0),
    }
}
