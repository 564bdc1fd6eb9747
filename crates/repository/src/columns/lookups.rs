//! Lookups: values that stand for entries of another list of the site collection. Nobody sees or sets an entry that
//! they may not open.

use std::collections::{HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use database::content::column::{self, ColumnRow};
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::record;
use database::{Reader, Transaction};
use model::{
    Code, ColumnKind, ColumnRole, ColumnValue, Error, ErrorKind, Id, Name, NodeKind, Result, Right, SortValue, fold,
};

use crate::items::caller_view::CallerView;
use crate::people::PrincipalName;
use crate::session::guard::Guard;
use crate::session::known::Viewed;
use crate::{Session, Target};

use super::set::ColumnSet;

/// Limit on the lookup columns of one library or list.
pub(crate) const MAX_LOOKUPS: usize = 8;
/// Limit on the entries with the same beginning of their titles that are compared. Further ones are not found.
const MAX_SAME: usize = 100;
/// Beginning of the text that stands for an entry by its identifier.
const BY_ID: &str = "id:";
/// Number of entries that one statement reads.
const AT_ONCE: usize = 500;

/// Names of what values stand for.
#[derive(Clone, Debug, Default)]
pub struct ValueNames {
    /// Users and groups.
    pub people: HashMap<Id, PrincipalName>,
    /// Entries that the caller may open, by identifier.
    pub entries: HashMap<Id, EntryName>,
}

impl ValueNames {
    /// Returns the text that stands for an entry and no other in forms and files: its title with its number. An entry
    /// that the caller may not open stands by its identifier, so that it stays when the text is sent back.
    pub fn typed_entry(&self, id: Id) -> String {
        self.entries.get(&id).map_or_else(|| format!("{BY_ID}{id}"), EntryName::typed)
    }
}

/// Name of an entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryName {
    /// Its title; its number if it has none that can be seen.
    pub title: String,
    /// Its number in the list.
    pub number: String,
}

impl EntryName {
    /// Returns the name of a row with a title and a number.
    pub fn new(title: Option<&str>, number: &str) -> Self {
        let title = title.map(str::trim).filter(|title| !title.is_empty()).unwrap_or(number);
        Self { title: title.to_owned(), number: number.to_owned() }
    }

    /// Returns the text that stands for this entry and no other in forms and files: its title with its number.
    pub fn typed(&self) -> String {
        format!("{} ({})", self.title, self.number)
    }
}

/// Entries that changes of one transaction may name.
#[derive(Default)]
pub(crate) struct FoundEntries {
    /// Lists and entries that were checked for earlier changes.
    found: HashSet<(Id, Id)>,
    view: Option<CallerView>,
}

impl FoundEntries {
    /// Returns the refusal of fields that name new entries, with code `invalid_value`, unless the caller may open all
    /// of them and their columns take them.
    pub(crate) fn refusal(
        &mut self,
        transaction: &mut Transaction<'_>,
        guard: &Guard,
        columns: &ColumnSet,
        before: &Fields,
        after: &Fields,
    ) -> Result<Option<Error>> {
        let mut named = Vec::new();
        for column in columns.rows() {
            let ColumnKind::Lookup(list) = *column.kind.single() else { continue };
            if !before.differs_from(after, column.slot) {
                continue;
            }
            let Some(value) = after.get(column.slot, &column.kind)? else { continue };
            // A damaged field has no entries that could stay.
            let kept = before.get(column.slot, &column.kind).ok().flatten();
            for one in value.each() {
                let ColumnValue::Lookup(entry) = one else { continue };
                // Of several entries, those stay that were there before.
                if kept.as_ref().is_some_and(|kept| kept.each().contains(one)) {
                    continue;
                }
                named.push((column, (list, *entry)));
            }
        }
        self.find(transaction, guard, named.iter().map(|(_, named)| *named))?;
        Ok(named.iter().find(|(_, named)| !self.found.contains(named)).map(|(column, _)| no_entry(column)))
    }

    /// Looks for entries of lists that the caller may open.
    fn find(
        &mut self,
        transaction: &mut Transaction<'_>,
        guard: &Guard,
        named: impl Iterator<Item = (Id, Id)>,
    ) -> Result<()> {
        let wanted: HashSet<(Id, Id)> = named.filter(|named| !self.found.contains(named)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let view = match &mut self.view {
            Some(view) => view,
            none => none.insert(CallerView::with(guard.finder()?)),
        };
        let ids: Vec<Id> = wanted.iter().map(|(_, entry)| *entry).collect();
        for some in ids.chunks(AT_ONCE) {
            for row in node::find_many(transaction, some)? {
                let named = (row.parent_id, row.id);
                if row.kind == NodeKind::Row && wanted.contains(&named) && view.show(transaction, &row)?.is_some() {
                    self.found.insert(named);
                }
            }
        }
        Ok(())
    }
}

fn no_entry(column: &ColumnRow) -> Error {
    Error::invalid(format!("{}: there is no such entry in the list of this column", column.name))
        .with_code(Code::InvalidValue)
}

impl Session {
    /// Returns the names of the people and entries in values of an item, or of the items in a list or library. Entries
    /// that the caller may not open are left out.
    #[boxed]
    pub async fn value_names(&self, place: &Target, values: &[&ColumnValue]) -> Result<ValueNames> {
        let (mut people, mut entries) = (Vec::new(), Vec::new());
        for value in values.iter().flat_map(|value| value.each()) {
            match value {
                ColumnValue::Person(id) => people.push(*id),
                ColumnValue::Lookup(id) => entries.push(*id),
                _ => {}
            }
        }
        Ok(ValueNames {
            people: self.principal_names(&people).await?,
            entries: self.entry_names(place, entries).await?,
        })
    }

    /// Returns the names of the entries that the caller may open, in the content database of a place.
    pub(crate) async fn entry_names(&self, place: &Target, mut entries: Vec<Id>) -> Result<HashMap<Id, EntryName>> {
        entries.sort_unstable();
        entries.dedup();
        if entries.is_empty() {
            return Ok(HashMap::new());
        }
        let registry = self.registry().await?;
        let content = self.content_of(&registry, place).await?;
        let mut eyes = CallerView::of(self, &registry, &content);
        let are_many = entries.len() > AT_ONCE;
        let read = move |reader: &mut Reader<'_>| {
            let mut names = HashMap::new();
            for some in entries.chunks(AT_ONCE) {
                for row in node::find_many(reader, some)? {
                    if row.kind == NodeKind::Row && eyes.show(reader, &row)?.is_some() {
                        names.insert(row.id, name_of(&row));
                    }
                }
            }
            Ok(names)
        };
        if are_many { content.database.read_long(read).await } else { content.database.read(read).await }
    }

    /// Returns the entry of a list that a text stands for: its title with its number, as in `Website (17)`, its title,
    /// in any case, or its number, as in `#17`; in this order. An identifier, as in `id:4711`, stands for itself,
    /// whether or not there is such an entry.
    ///
    /// # Errors
    /// `NotFound` for a list that the caller may not open; `Invalid` with code `unknown_entry`, and with code
    /// `ambiguous_entry` if several entries have the title.
    #[boxed]
    pub async fn find_entry(&self, list: Id, text: &str) -> Result<Id> {
        let text = text.trim().to_owned();
        if let Some(id) = text.strip_prefix(BY_ID).and_then(|id| id.parse().ok()) {
            return Ok(id);
        }
        let find = move |reader: &mut Reader<'_>, list: &Viewed| find(reader, list, &text);
        Ok(self.view(&Target::Id(list), find).await?.1)
    }

    /// Refuses a lookup column whose list is not one of the same site collection that the caller may open. The caller
    /// must be able to manage the holder.
    pub(crate) async fn require_list(&self, holder: &Target, kind: &ColumnKind) -> Result<()> {
        let ColumnKind::Lookup(list) = *kind.single() else { return Ok(()) };
        let holder = self.library(holder).await?;
        let no_list = || {
            Error::invalid(
                "a lookup column takes the entries of a list in the same site collection: there is no such list",
            )
            .with_code(Code::InvalidValue)
        };
        let found = match self.item(&Target::Id(list)).await {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(no_list()),
            found => found?,
        };
        let fits = found.kind == NodeKind::List && found.rights.has(Right::View);
        match fits && found.collection_id == holder.node().collection_id {
            true => Ok(()),
            false => Err(no_list()),
        }
    }
}

fn name_of(row: &NodeRow) -> EntryName {
    EntryName::new(row.title.as_deref(), &row.name)
}

fn find(reader: &mut Reader<'_>, list: &Viewed, text: &str) -> Result<Id> {
    let opens = |row: &NodeRow| list.may_know(row) && list.access.rights(row.scope_id).has(Right::View);
    let numbered = |reader: &mut Reader<'_>, number: &str| {
        let Ok(name) = Name::new(number.to_owned()) else { return Ok(None) };
        #[expect(clippy::disallowed_methods, reason = "what is found is asked for right below")]
        let found = node::find_child(reader, list.node().id, &name.folded())?;
        Ok::<_, Error>(found.filter(opens))
    };
    // Otherwise an entry with the title `Website (17)` would take over the values of entry 17.
    if let Some((title, number)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        let found = numbered(reader, number)?;
        if let Some(row) = found.filter(|row| fold(&name_of(row).title) == fold(title.trim())) {
            return Ok(row.id);
        }
    }
    let wanted = fold(text);
    let same = titled(reader, list, &wanted)?.into_iter().filter(opens).map(|row| row.id).collect::<Vec<_>>();
    if let [one] = same.as_slice() {
        return Ok(*one);
    }
    if !same.is_empty() {
        return Err(Error::invalid(format!(
            "several entries are called \"{text}\": add the number of the one that is meant, as in \"{text} (17)\""
        ))
        .with_code(Code::AmbiguousEntry)
        .naming(&[text]));
    }
    let digits = text.strip_prefix('#').unwrap_or(text);
    let found = if digits.bytes().all(|byte| byte.is_ascii_digit()) { numbered(reader, digits)? } else { None };
    found.map(|row| row.id).ok_or_else(|| {
        Error::invalid(format!("the list \"{}\" has no entry \"{text}\"", list.node().name))
            .with_code(Code::UnknownEntry)
            .naming(&[list.node().name.as_str(), text])
    })
}

/// Returns the rows of a list with a folded title.
fn titled(reader: &mut Reader<'_>, list: &Viewed, wanted: &str) -> Result<Vec<NodeRow>> {
    let columns = column::list(reader, list.node().id)?;
    let Some(title) = columns.iter().find(|column| column.role == Some(ColumnRole::Title)) else {
        return Ok(Vec::new());
    };
    let ids = record::with_value(reader, &[list.node().id], title.slot, &SortValue::text(wanted), MAX_SAME)?;
    let mut rows = node::find_many(reader, &ids)?;
    // The index holds the first 100 characters of a title.
    rows.retain(|row| fold(row.title.as_deref().unwrap_or_default().trim()) == wanted);
    Ok(rows)
}
