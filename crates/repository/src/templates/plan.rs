//! The rows of the database that lists of a template become.

use std::borrow::Cow;
use std::collections::HashMap;

use database::Transaction;
use database::content::column::{self, ColumnRow};
use database::content::event::EventRow;
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::saved_view::{self, SavedViewRow};
use database::content::{library, record};
use model::{
    ColumnKind, ColumnRole, ColumnValue, Error, Id, LibrarySettings, Name, NodeKind, Result, Timestamp, VersionNumber,
};

use super::format::{Holds, ListTemplate, invalid, kind_of, value_of};
use super::formulas::{condition_of, set_options};
use super::pages::{self, PageTexts, PlannedPage};
use super::view_query::{self, NamedColumn};
use crate::columns::fields::{complete, title_of};
use crate::columns::{ColumnSet, Completing, TakenValues};
use crate::content::saved_views::MAX_VIEW_BYTES;
use crate::session::guard::{Checked, Guard};
use crate::session::target::join;

/// Limit on the bytes of all rows, which are in memory together.
const MAX_BYTES: usize = 16 << 20;

/// New lists and libraries, collected so that each table is written in few statements.
pub(super) struct Plan<'a> {
    guard: &'a Guard,
    language: &'a str,
    now: Timestamp,
    nodes: Vec<NodeRow>,
    settings: Vec<(Id, LibrarySettings, i64)>,
    types: Vec<(Id, Id, Name)>,
    columns: Vec<ColumnRow>,
    views: Vec<SavedViewRow>,
    /// Rows with their values, by the position of a column in `columns`. All rows of one list follow each other.
    rows: Vec<(NodeRow, Vec<(usize, ColumnValue)>)>,
    pages: Vec<PlannedPage>,
    events: Vec<EventRow>,
    texts: &'a PageTexts,
    home: Option<Id>,
    /// Identifiers of all lists and libraries, by their names in the template.
    lists: Vec<(&'a str, Id)>,
}

impl<'a> Plan<'a> {
    /// Creates a plan for these lists and libraries, which get their identifiers here.
    pub(super) fn new(
        guard: &'a Guard,
        language: &'a str,
        texts: &'a PageTexts,
        lists: &'a [ListTemplate],
        now: Timestamp,
    ) -> Self {
        let lists = lists.iter().map(|list| (list.name.key(), guard.next_id())).collect();
        Self {
            guard,
            language,
            now,
            nodes: Vec::new(),
            settings: Vec::new(),
            types: Vec::new(),
            columns: Vec::new(),
            views: Vec::new(),
            rows: Vec::new(),
            pages: Vec::new(),
            events: Vec::new(),
            texts,
            home: None,
            lists,
        }
    }

    /// Adds a new item that holds no rows, such as the site of the lists.
    pub(super) fn add_node(&mut self, node: NodeRow, path: &str) -> Result<()> {
        let action = format!("{}.create", node.kind.as_str());
        self.events.push(self.guard.event(self.guard.caller(), node.id, &action, path.into())?);
        self.nodes.push(node);
        Ok(())
    }

    /// Adds a list or library in a site and returns its identifier.
    pub(super) fn add_list(&mut self, site: &NodeRow, path: &str, list: &ListTemplate, name: &Name) -> Result<Id> {
        let kind = match list.holds {
            Holds::Documents => NodeKind::Library,
            Holds::Rows => NodeKind::List,
        };
        let id = self.list_id(list.name.key())?;
        let node = NodeRow::new(id, site, kind, name, self.guard.caller(), self.now);
        let path = join(path, name.as_str());
        self.settings.push((node.id, list.settings()?, 1 + list.rows.len() as i64));
        let first = self.columns.len();
        self.add_columns(node.id, list)?;
        self.add_views(node.id, list, first)?;
        self.add_rows(&node, &path, list, first)?;
        self.add_pages(&node, &path, list)?;
        self.add_node(node, &path)?;
        Ok(id)
    }

    /// Returns the identifier of a list of the template.
    fn list_id(&self, key: &str) -> Result<Id> {
        let found = self.lists.iter().find(|(known, _)| *known == key);
        found.map(|(_, id)| *id).ok_or_else(|| invalid(format!("{key:?} is no list of it")))
    }

    fn add_columns(&mut self, list: Id, template: &ListTemplate) -> Result<()> {
        let (mut types, first) = (Vec::new(), self.columns.len());
        for one in &template.types {
            let id = self.guard.next_id();
            types.push((one.key(), id));
            self.types.push((id, list, Name::new(one.in_language(self.language))?));
        }
        for (position, column) in (0..).zip(&template.columns) {
            let name = Name::new(column.name.in_language(self.language))?;
            let of = column.content_type.as_deref();
            let is_title = column.role.is_some();
            let kind = match &column.list {
                Some(list) => ColumnKind::Lookup(self.list_id(list)?).taking_multiple(column.multiple)?,
                None => kind_of(column, self.language)?,
            };
            self.columns.push(ColumnRow {
                id: self.guard.next_id(),
                library_id: list,
                content_type_id: of.and_then(|of| types.iter().find(|(key, _)| *key == of)).map(|(_, id)| *id),
                folded: name.folded(),
                name: name.as_str().to_owned(),
                kind,
                required: column.required || is_title,
                position,
                slot: 0,
                role: is_title.then_some(ColumnRole::Title),
                options: String::new(),
            });
        }
        let kind = if template.holds == Holds::Rows { NodeKind::List } else { NodeKind::Library };
        set_options(&template.columns, kind, &mut self.columns[first..], self.language)
    }

    fn add_views(&mut self, list: Id, template: &ListTemplate, first: usize) -> Result<()> {
        let mut named = Vec::with_capacity(template.columns.len());
        for (row, column) in self.columns[first..].iter().zip(&template.columns) {
            let choices = column.choices.iter();
            let choices = choices.map(|choice| (choice.key().into(), choice.in_language(self.language).into()));
            named.push(NamedColumn { id: row.id, name: Cow::Borrowed(column.name.key()), choices: choices.collect() });
        }
        for view in &template.views {
            let name = Name::new(view.name.in_language(self.language))?;
            let condition = match view.condition.as_deref() {
                Some(text) => condition_of(&template.columns, &self.columns[first..], text)?,
                None => String::new(),
            };
            let query = view_query::write(view, &named, &condition);
            if query.len() > MAX_VIEW_BYTES {
                return Err(invalid(format!(
                    "the view {:?} has too many columns or conditions: it takes more than 4,000 bytes",
                    name.as_str()
                )));
            }
            self.views.push(SavedViewRow {
                id: self.guard.next_id(),
                library_id: list,
                owner_id: Id::NONE,
                folded: name.folded(),
                name: name.as_str().to_owned(),
                query,
                standard: view.default,
            });
        }
        Ok(())
    }

    fn add_rows(&mut self, list: &NodeRow, path: &str, template: &ListTemplate, first: usize) -> Result<()> {
        for (number, row) in (1..).zip(&template.rows) {
            let name = Name::new(number.to_string())?;
            let mut node =
                NodeRow::new(self.guard.next_id(), list, NodeKind::Row, &name, self.guard.caller(), self.now);
            node.version_id = Some(self.guard.next_id());
            node.published_id = node.version_id;
            node.number = VersionNumber::new(1, 0);
            let mut values = Vec::new();
            for (index, column) in template.columns.iter().enumerate() {
                let Some(value) = row.get(column.name.key()) else { continue };
                let kind = &self.columns[first + index].kind;
                let value = value_of(kind, &column.choices, value, self.language).map_err(invalid)?;
                values.push((first + index, value));
            }
            let event = self.guard.event(self.guard.caller(), node.id, "row.create", join(path, name.as_str()).into());
            self.events.push(event?);
            self.rows.push((node, values));
        }
        Ok(())
    }

    fn add_pages(&mut self, library: &NodeRow, path: &str, template: &ListTemplate) -> Result<()> {
        for page in &template.pages {
            let name = Name::new(page.name.in_language(self.language))?;
            let node =
                NodeRow::new(self.guard.next_id(), library, NodeKind::Document, &name, self.guard.caller(), self.now);
            let path = join(path, name.as_str());
            self.events.push(self.guard.event(self.guard.caller(), node.id, "document.create", path.into())?);
            if page.home {
                self.home = Some(node.id);
            }
            let bytes = self.texts.of(page.text.in_language(self.language))?;
            self.pages.push(PlannedPage { node, bytes });
        }
        Ok(())
    }

    /// Returns the page with which the site opens.
    pub(super) fn home(&self) -> Option<Id> {
        self.home
    }

    /// Stores everything.
    pub(super) fn store(mut self, transaction: &mut Transaction<'_>, checked: &Checked) -> Result<()> {
        node::insert_many(transaction, &self.nodes)?;
        library::insert_many(transaction, &self.settings)?;
        for (id, list, name) in &self.types {
            column::insert_content_type(transaction, *id, *list, name.as_str(), &name.folded())?;
        }
        column::insert_many(transaction, &mut self.columns)?;
        saved_view::insert_many(transaction, &self.views)?;
        let (mut nodes, values): (Vec<NodeRow>, Vec<_>) = self.rows.into_iter().unzip();
        let mut fields = Vec::with_capacity(nodes.len());
        let mut columns_of: HashMap<Id, ColumnSet> = HashMap::new();
        for of_list in self.columns.chunk_by(|one, other| one.library_id == other.library_id) {
            if let [first, ..] = of_list {
                columns_of.insert(first.library_id, ColumnSet::new(of_list.to_vec())?);
            }
        }
        let mut rows_of: HashMap<Id, Vec<Id>> = HashMap::new();
        for node in &nodes {
            rows_of.entry(node.library_id).or_default().push(node.id);
        }
        let mut taken_of: HashMap<Id, TakenValues> = HashMap::new();
        let mut bytes = 0;
        for (node, values) in nodes.iter_mut().zip(&values) {
            let columns = columns_of.get(&node.library_id).ok_or_else(|| Error::corrupt("a row without a list"))?;
            let values = values.iter().map(|(index, value)| {
                let column = &self.columns[*index];
                Ok((column.id, entry_of(&column.kind, value, &rows_of)?))
            });
            let values = values.collect::<Result<Vec<_>>>()?;
            let mut change = columns.known_change(&values);
            let of_row = complete(columns, &mut change, Completing::Unchecked, self.guard.caller())?;
            let taken = taken_of.entry(node.library_id).or_default();
            let nothing = Fields::default();
            if let Some(refusal) = taken.take(transaction, columns, None, &nothing, &of_row)? {
                return Err(invalid(format!("its row {}: {}", node.name, refusal.message())));
            }
            bytes += of_row.stored_bytes();
            if bytes > MAX_BYTES {
                return Err(invalid(format!("its rows take more than {} MiB", MAX_BYTES >> 20)));
            }
            node.title = title_of(columns.rows(), &of_row)?;
            fields.push(of_row);
        }
        node::insert_many(transaction, &nodes)?;
        let records: Vec<_> = nodes.iter().zip(&fields).collect();
        for of_list in records.chunk_by(|(one, _), (other, _)| one.library_id == other.library_id) {
            record::insert_many(transaction, of_list)?;
        }
        pages::store(transaction, self.guard, checked, self.pages, self.now)?;
        self.guard.record_all(transaction, &self.events, None)
    }
}

/// Returns a value with the identifier of the row whose number a lookup has, and others as they are.
fn entry_of(kind: &ColumnKind, value: &ColumnValue, rows_of: &HashMap<Id, Vec<Id>>) -> Result<ColumnValue> {
    match (kind, value) {
        (ColumnKind::Multiple(kind), ColumnValue::Multiple(values)) => {
            let values = values.iter().map(|value| entry_of(kind, value, rows_of));
            Ok(ColumnValue::Multiple(values.collect::<Result<_>>()?))
        }
        (ColumnKind::Lookup(list), ColumnValue::Lookup(number)) => {
            let at = usize::try_from(number.get() - 1).ok();
            let row = rows_of.get(list).zip(at).and_then(|(rows, at)| rows.get(at));
            row.map(|row| ColumnValue::Lookup(*row))
                .ok_or_else(|| invalid(format!("a row names row {number} of a list that has fewer rows")))
        }
        _ => Ok(value.clone()),
    }
}
