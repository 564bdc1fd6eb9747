//! Making copies in the transaction that copies: first who becomes whose copy, then settings and columns, then items.

use std::collections::HashMap;
use std::ops::Range;

use database::Transaction;
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::version::{self, VersionRow};
use database::content::{property, record, site};
use model::{Code, Error, Id, Name, NodeKind, Result, Timestamp, VersionNumber, Versioning};

use crate::columns::carried::Carried;
use crate::columns::copy_definitions::copy_definitions;
use crate::columns::{ColumnSet, recompute};
use crate::documents::library_of;
use crate::look::options::SiteOptions;
use crate::session::guard::Guard;
use crate::session::locate::Located;

/// Number of items that are read and written together.
const GROUP: usize = 100;
/// Limits on the bytes of values and properties that one copy writes, and on their index entries.
const MAX_BYTES: usize = 64 << 20;
const MAX_ENTRIES: usize = 1_000_000;

/// Makes the copies of one item and of what is below it.
pub(crate) struct Copier<'a> {
    guard: &'a Guard,
    source: &'a Located,
    destination: &'a NodeRow,
    now: Timestamp,
    /// How contents are copied, by the library or list that they were in.
    plans: HashMap<Id, LibraryPlan>,
    /// Identifiers of all copies, by those of their originals.
    copies: HashMap<Id, Id>,
    /// Copies of what can have something below it, by the identifiers of their originals.
    parents: HashMap<Id, NodeRow>,
    /// Slots for the columns of copied libraries and lists.
    slots: Range<i64>,
    work: Work,
    pub(crate) bytes: i64,
    pub(crate) documents: i64,
}

/// Amount of data that one copy writes besides the items. It is limited, because other changes wait for the copy.
#[derive(Default)]
struct Work {
    /// Bytes of values and properties.
    bytes: usize,
    /// Index entries.
    entries: usize,
}

impl Work {
    /// Adds to it, and refuses what takes too long.
    ///
    /// # Errors
    /// `Exhausted` with code `copy_too_large`.
    fn add(&mut self, bytes: usize, entries: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.entries = self.entries.saturating_add(entries);
        match self.bytes <= MAX_BYTES && self.entries <= MAX_ENTRIES {
            true => Ok(()),
            false => Err(Error::exhausted("it has too many values to be copied at once: copy it in parts")
                .with_code(Code::CopyTooLarge)),
        }
    }
}

/// An item with its copy.
struct Copy<'r> {
    original: &'r NodeRow,
    copy: NodeRow,
}

/// How the contents of one library or list are copied.
struct LibraryPlan {
    /// Number of the version of a copy.
    first_version: VersionNumber,
    /// Set if published versions stay published, although the destination keeps drafts.
    keeps_published: bool,
    /// Columns and content types, if the library is another one than before.
    carried: Option<Carried>,
    /// Slots of columns without duplicates, if the library is the same: copies have no values in them.
    left_out: Vec<i64>,
    /// True once a copy got other values than its original.
    has_values: bool,
}

impl<'a> Copier<'a> {
    /// Creates what copies `source`, which is in the library or list `from`, into `destination`.
    pub(crate) fn new(
        transaction: &mut Transaction<'_>,
        guard: &'a Guard,
        source: &'a Located,
        from: Id,
        destination: &'a NodeRow,
    ) -> Result<Self> {
        let mut plans = HashMap::new();
        if destination.kind != NodeKind::Site {
            let is_same = from == destination.library_id;
            let (carried, left_out) = match is_same {
                true => (None, ColumnSet::unique_slots(transaction, from)?),
                false => (Some(Carried::between(transaction, from, destination)?), Vec::new()),
            };
            let settings = library_of(transaction, destination)?;
            let first_version = first_version(settings.versioning);
            let plan = LibraryPlan { first_version, keeps_published: false, carried, left_out, has_values: false };
            plans.insert(from, plan);
        }
        Ok(Self {
            guard,
            source,
            destination,
            now: Timestamp::now(),
            plans,
            copies: HashMap::new(),
            parents: HashMap::new(),
            slots: 0..0,
            work: Work::default(),
            bytes: 0,
            documents: 0,
        })
    }

    /// Sets the slots of the columns that it may copy.
    pub(crate) fn with_slots(self, slots: Range<i64>) -> Self {
        Self { slots, ..self }
    }

    /// Copies items, of which the first is above all others, under a name. Returns the copy of the first.
    ///
    /// # Errors
    /// `NotFound` if the first was not copied, because the caller may not open it any more.
    pub(crate) fn copy(&mut self, transaction: &mut Transaction<'_>, rows: &[NodeRow], name: &Name) -> Result<Id> {
        let (top, below) = rows.split_first().ok_or_else(crate::session::errors::no_item)?;
        let mut copies = Vec::with_capacity(rows.len());
        copies.extend(self.plan(top, self.destination, name)?);
        copies.extend(self.plan_below(below)?);
        self.store(transaction, &copies)?;
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
        let copies = self.plan_below(below)?;
        self.store(transaction, &copies)
    }

    fn plan_below<'r>(&mut self, rows: &'r [NodeRow]) -> Result<Vec<Copy<'r>>> {
        let mut copies = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(parent) = self.parents.get(&row.parent_id).cloned() {
                copies.extend(self.plan(row, &parent, &Name::new(row.name.clone())?)?);
            }
        }
        Ok(copies)
    }

    /// Returns an item with its copy; `None` if the caller may not open it.
    fn plan<'r>(&mut self, row: &'r NodeRow, parent: &NodeRow, name: &Name) -> Result<Option<Copy<'r>>> {
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
        Ok(Some(Copy { original: row, copy }))
    }

    fn store(&mut self, transaction: &mut Transaction<'_>, copies: &[Copy<'_>]) -> Result<()> {
        // Sites, libraries and lists come first, because values are stored by the columns of their library.
        let (contents, holders): (Vec<_>, Vec<_>) = copies.iter().partition(|one| one.original.kind.has_values());
        node::insert_many(transaction, &holders.iter().map(|one| one.copy.clone()).collect::<Vec<_>>())?;
        for Copy { original, copy } in holders {
            if original.kind.defines_columns() {
                self.define(transaction, original, copy)?;
            } else {
                self.copy_look(transaction, original, copy)?;
            }
        }
        for of_library in contents.chunk_by(|one, other| one.original.library_id == other.original.library_id) {
            for some in of_library.chunks(GROUP) {
                self.store_some(transaction, some)?;
            }
        }
        for Copy { original, copy } in copies {
            // Calculated values may depend on entries that the copy does not name.
            let is_stale = |plan: &LibraryPlan| match original.kind.defines_columns() {
                true => plan.carried.as_ref().is_some_and(Carried::names_copied_entries),
                false => plan.has_values && copy.parent_id == self.destination.id,
            };
            if self.plans.get(&original.library_id).is_some_and(is_stale) {
                match original.library_id == copy.library_id {
                    true => recompute::changed(transaction, copy.id)?,
                    false => recompute::arrived(transaction, copy.id)?,
                }
            }
        }
        Ok(())
    }

    /// Copies the settings, columns and views of a library or list.
    fn define(&mut self, transaction: &mut Transaction<'_>, row: &NodeRow, copy: &NodeRow) -> Result<()> {
        let carried = copy_definitions(transaction, self.guard, row.id, copy.id, &self.copies, &mut self.slots)?;
        let settings = library_of(transaction, copy)?;
        let plan = LibraryPlan {
            first_version: first_version(settings.versioning),
            keeps_published: settings.may_publish(self.source.access.rights(copy.scope_id)),
            carried: Some(carried),
            left_out: Vec::new(),
            has_values: false,
        };
        self.plans.insert(row.id, plan);
        Ok(())
    }

    /// Copies navigation, accent, logo and home page of a site.
    fn copy_look(&self, transaction: &mut Transaction<'_>, row: &NodeRow, copy: &NodeRow) -> Result<()> {
        let Some(mut stored) = site::find(transaction, row.id)? else { return Ok(()) };
        let mut options = SiteOptions::of(Some(&stored))?.for_copy(&self.copies);
        if let Some((media_type, bytes)) = site::logo(transaction, row.id)?.filter(|_| options.logo.is_some()) {
            options.logo = Some(self.guard.next_id());
            site::put_logo(transaction, copy.id, &media_type, &bytes)?;
        }
        stored.options = options.to_text()?;
        site::put(transaction, copy.id, &stored)
    }

    /// Stores the copies of folders, documents and rows of one library or list.
    fn store_some(&mut self, transaction: &mut Transaction<'_>, some: &[&Copy<'_>]) -> Result<()> {
        let Some(Copy { original: first, .. }) = some.first() else { return Ok(()) };
        let ids: Vec<Id> = some.iter().map(|one| one.original.id).collect();
        let mut copies: Vec<NodeRow> = some.iter().map(|one| one.copy.clone()).collect();
        let plan = self.plans.get(&first.library_id);
        let plan = plan.ok_or_else(|| Error::corrupt("an item is in another library than what is above it"))?;
        let visible: Vec<Id> = some.iter().filter_map(|one| self.visible_version(one.original)).collect();
        let found = version::find_many(transaction, &visible)?;
        let mut versions: HashMap<Id, VersionRow> = found.into_iter().map(|found| (found.id, found)).collect();
        let mut stored = Vec::with_capacity(versions.len());
        for (row, copy) in some.iter().map(|one| one.original).zip(&mut copies) {
            copy.content_type_id = match &plan.carried {
                None => row.content_type_id,
                Some(carried) => carried.content_type(row.content_type_id),
            };
            let Some(visible) = self.visible_version(row) else { continue };
            let mut content = versions
                .remove(&visible)
                .ok_or_else(|| Error::corrupt(format!("a version of \"{}\" is missing", row.name)))?;
            let is_published = plan.keeps_published && row.published_id == Some(visible);
            content.id = self.guard.next_id();
            content.node_id = copy.id;
            content.number = if is_published { VersionNumber::new(1, 0) } else { plan.first_version };
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
        let stored = store_values(transaction, &ids, &copies, plan, &self.copies)?;
        let have_values = stored.bytes > 0 && (plan.carried.is_some() || !plan.left_out.is_empty());
        self.work.add(stored.bytes, stored.entries)?;
        if let Some(plan) = self.plans.get_mut(&first.library_id) {
            plan.has_values |= have_values;
        }
        // Most items have no properties: this tells those that do.
        for (id, bytes) in property::sizes(transaction, &ids)? {
            self.work.add(usize::try_from(bytes).unwrap_or(usize::MAX), 0)?;
            property::copy(transaction, id, self.copies[&id])?;
        }
        Ok(())
    }

    fn visible_version(&self, row: &NodeRow) -> Option<Id> {
        self.source.visible_version(row).filter(|_| row.kind == NodeKind::Document)
    }
}

/// Stores the values of copies of items, and returns how much that was.
fn store_values(
    transaction: &mut Transaction<'_>,
    originals: &[Id],
    copies: &[NodeRow],
    plan: &LibraryPlan,
    all: &HashMap<Id, Id>,
) -> Result<Work> {
    let mut known: HashMap<Id, Fields> = record::find_many(transaction, originals)?.into_iter().collect();
    let mut rows = Vec::new();
    let mut others = Vec::new();
    for (original, copy) in originals.iter().zip(copies) {
        // A row has index entries for empty fields, too.
        let fields = known.remove(original);
        let Some(mut fields) = fields.or_else(|| (copy.kind == NodeKind::Row).then(Fields::default)) else { continue };
        plan.left_out.iter().for_each(|slot| fields.set(*slot, None));
        if let Some(carried) = &plan.carried {
            fields = carried.copied(&fields, all)?;
        }
        match copy.kind {
            NodeKind::Row => rows.push((copy, fields)),
            _ if fields.is_empty() => {}
            _ => others.push((copy, fields)),
        }
    }
    let mut work = Work::default();
    for some in [&rows, &others] {
        work.bytes += some.iter().map(|(_, fields)| fields.stored_bytes()).sum::<usize>();
        let records: Vec<_> = some.iter().map(|(copy, fields)| (*copy, fields)).collect();
        work.entries += record::insert_many(transaction, &records)?;
    }
    Ok(work)
}

fn first_version(versioning: Versioning) -> VersionNumber {
    match versioning {
        Versioning::MajorMinor => VersionNumber::new(0, 1),
        Versioning::None | Versioning::Major => VersionNumber::new(1, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_has_an_end() {
        let refused = |result: Result<()>| result.is_err_and(|error| error.code() == Code::CopyTooLarge);
        let mut work = Work::default();
        work.add(MAX_BYTES, MAX_ENTRIES).unwrap();
        assert!(refused(work.add(0, 1)));
        assert!(refused(Work::default().add(MAX_BYTES + 1, 0)));
        assert!(refused(Work { bytes: 1, entries: 0 }.add(usize::MAX, 0)));
    }
}
