//! Making a template of a site or list that exists: what its columns, views and settings are, and nothing of who uses
//! it. People, permissions and identifiers are left out.

use std::collections::{HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::column::ColumnRow;
use database::content::{node, record};
use model::{
    Code, ColumnKind, ColumnRole, ColumnValue, Error, Formula, FormulaColumn, Id, MAX_PAGE, NodeKind, Result, Right,
    Uses,
};

use super::format::{
    ColumnTemplate, FORMAT, Holds, LinkTemplate, ListTemplate, LogoTemplate, MAX_LISTS, MAX_PAGE_BYTES, MAX_PAGES,
    MAX_ROWS, MAX_TEMPLATE_BYTES, PAGE_EXTENSION, PageTemplate, Template, TemplateKind, Text, each, invalid,
    value_to_toml,
};
use super::view_query;
use crate::columns::ColumnSet;
use crate::items::item::Item;
use crate::look::LinkTarget;
use crate::session::known::Viewed;
use crate::{Column, Session, Sort, Target, VersionChoice};

/// Number of rows that are looked at, of which a caller who may not see all of them gets fewer.
const LOOKED_AT: usize = 1_000;

/// A template to be made of a site or list.
#[derive(Clone, Debug, Default)]
pub struct TemplateDraft {
    /// Name in addresses.
    pub name: String,
    /// Title; the name of the item if this is empty.
    pub title: String,
    /// What one gets.
    pub description: String,
    /// Set to take along the first 200 rows of each list, and the first 50 pages of each library. The home page of a
    /// site is taken along in any case. Pages in folders, longer ones than a template can have, and what is not
    /// published are left out.
    pub with_rows: bool,
}

impl Session {
    /// Makes a template of a site with its lists and libraries, or of a list, as far as the caller may see them.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` unless the caller manages the site or list; `Conflict` with code `wrong_kind`; `Invalid`
    /// with code `invalid_template` for something that no template can have.
    #[boxed]
    pub async fn template_of(&self, target: &Target, draft: TemplateDraft) -> Result<Template> {
        let known = self.locate(target).await?;
        let (kind, right) = match known.kind() {
            NodeKind::Site => (TemplateKind::Site, Right::ManageSite),
            NodeKind::List => (TemplateKind::List, Right::ManageLibraries),
            _ => {
                return Err(Error::conflict("templates are made of sites and lists").with_code(Code::WrongKind));
            }
        };
        known.to(right)?;
        let item = self.item(target).await?;
        let mut template = Template {
            format: FORMAT,
            kind,
            name: draft.name.clone(),
            title: Text::Same(if draft.title.is_empty() { item.name.clone() } else { draft.title.clone() }),
            description: Text::Same(draft.description.clone()),
            ask: Vec::new(),
            grants: Vec::new(),
            accent: None,
            logo: None,
            navigation: Vec::new(),
            lists: Vec::new(),
            list: None,
        };
        let mut budget = Budget(MAX_TEMPLATE_BYTES);
        match kind {
            TemplateKind::List => {
                let lists = [(item.id, item.name.clone())];
                let (list, rows) = self.list_template(&item, &lists, draft.with_rows, &mut budget).await?;
                let mut only = [list];
                number_entries(&mut only, vec![rows]);
                template.list = only.into_iter().next();
            }
            TemplateKind::Site => self.fill_site(&mut template, &item, draft.with_rows, &mut budget).await?,
        }
        // What no template can have is said here, not when somebody uses it.
        Template::parse(&template.write())
    }

    async fn fill_site(&self, template: &mut Template, site: &Item, rows: bool, budget: &mut Budget) -> Result<()> {
        let target = Target::Id(site.id);
        let (_, page) = self.list(&target, Sort::Name, false, None, MAX_PAGE).await?;
        let mut below = page.items;
        below.retain(|item| matches!(item.kind, NodeKind::Library | NodeKind::List) && item.rights.has(Right::View));
        if below.len() > MAX_LISTS {
            return Err(invalid(format!("it has more than {MAX_LISTS} lists and libraries")));
        }
        // In the order in which they were created.
        below.sort_by_key(|item| item.id);
        let home = self.site_home(&target).await?;
        let lists = below.iter().filter(|item| item.kind == NodeKind::List);
        let lists: Vec<(Id, String)> = lists.map(|item| (item.id, item.name.clone())).collect();
        let mut all_rows = Vec::with_capacity(below.len());
        for item in &below {
            let (mut list, ids) = self.list_template(item, &lists, rows, budget).await?;
            all_rows.push(ids);
            if item.kind == NodeKind::Library {
                list.pages = self.pages_of(item, home.as_ref(), rows, budget).await?;
            }
            template.lists.push(list);
        }
        number_entries(&mut template.lists, all_rows);
        let look = self.site_look(&target).await?;
        template.accent = look.accent.map(|accent| accent.as_str().to_owned());
        if look.logo.is_some() {
            let logo = LogoTemplate(self.site_logo(&target).await?);
            budget.0 = budget.0.checked_sub(logo.encoded().len()).ok_or_else(too_large)?;
            template.logo = Some(logo);
        }
        for link in look.links {
            let label = Some(Text::Same(link.label));
            match link.target {
                LinkTarget::Item { id, .. } => {
                    let list = below.iter().find(|item| item.id == id).map(|item| item.name.clone());
                    let label = label.filter(|label| list.as_deref() != Some(label.key()));
                    template.navigation.extend(list.map(|list| LinkTemplate { list: Some(list), link: None, label }));
                }
                LinkTarget::Address(address) => {
                    template.navigation.push(LinkTemplate { list: None, link: Some(address), label });
                }
            }
        }
        Ok(())
    }

    /// Returns the pages of a library, or only the home page of its site. Longer ones than a template can have, and
    /// those in folders, are left out.
    async fn pages_of(
        &self,
        library: &Item,
        home: Option<&Item>,
        all: bool,
        budget: &mut Budget,
    ) -> Result<Vec<PageTemplate>> {
        let home = home.filter(|home| home.path.rsplit_once('/').is_some_and(|(above, _)| above == library.path));
        let mut found: Vec<Item> = home.cloned().into_iter().collect();
        if all {
            let (_, page) = self.list(&Target::Id(library.id), Sort::Name, false, None, MAX_PAGE).await?;
            let is_new = |item: &Item| home.is_none_or(|home| home.id != item.id);
            found.extend(page.items.into_iter().filter(is_new));
        }
        found.retain(|item| {
            let is_page = item.kind == NodeKind::Document && item.name.ends_with(PAGE_EXTENSION);
            is_page && item.rights.has(Right::View) && item.rights.has(Right::ViewVersions)
        });
        found.truncate(MAX_PAGES);
        let mut pages = Vec::with_capacity(found.len());
        for item in found {
            let target = Target::Id(item.id);
            let versions = self.versions(&target, None, MAX_PAGE).await?;
            // Drafts and working copies are nobody else's business.
            let published = versions.items.iter().find(|version| version.current);
            let Some(published) = published.filter(|version| version.size <= MAX_PAGE_BYTES as u64) else { continue };
            let mut content = self.open(&target, VersionChoice::Number(published.number)).await?;
            let mut bytes = Vec::new();
            while let Some(chunk) = content.next_chunk().await? {
                bytes.extend_from_slice(&chunk);
            }
            let Ok(text) = String::from_utf8(bytes) else { continue };
            budget.0 = budget.0.checked_sub(text.len()).ok_or_else(too_large)?;
            let is_home = home.is_some_and(|home| home.id == item.id);
            pages.push(PageTemplate { name: Text::Same(item.name), text: Text::Same(text), home: is_home });
        }
        Ok(pages)
    }

    /// Returns a list or library as a template has it, and the identifiers of its rows. `lists` are those of the
    /// template. Values of lookup columns are identifiers until [`number_entries`].
    async fn list_template(
        &self,
        item: &Item,
        lists: &[(Id, String)],
        rows: bool,
        budget: &mut Budget,
    ) -> Result<(ListTemplate, Vec<Id>)> {
        let target = Target::Id(item.id);
        let (mut columns, types) = self.columns(&target).await?;
        // A template knows no other list of this site collection.
        let list_name = |list: Id| lists.iter().find(|(id, _)| *id == list).map(|(_, name)| name.clone());
        columns.retain(|column| match column.kind.single() {
            ColumnKind::Lookup(list) => list_name(*list).is_some(),
            _ => true,
        });
        drop_unreadable(&mut columns);
        let settings = self.library_settings(&target).await?;
        let views = self.views(&target).await?;
        let is_list = item.kind == NodeKind::List;
        let type_name = |id: Id| types.iter().find(|one| one.id == id).map(|one| one.name.clone());
        let known: Vec<_> = columns.iter().map(|column| (column.id, column.name.as_str(), &column.kind)).collect();
        let view = |saved: &crate::SavedView| super::format::ViewTemplate {
            name: Text::Same(saved.name.clone()),
            default: saved.standard,
            ..view_query::read(&saved.query, &known)
        };
        let mut list = ListTemplate {
            name: Text::Same(item.name.clone()),
            template: None,
            holds: if is_list { Holds::Rows } else { Holds::Documents },
            versioning: Some(settings.versioning.as_str().to_owned()),
            major_limit: Some(settings.major_limit),
            minor_limit: (!is_list).then_some(settings.minor_limit),
            require_checkout: (!is_list).then_some(settings.require_checkout),
            require_approval: settings.require_approval.then_some(true),
            attachments: is_list.then_some(settings.attachments),
            types: types.iter().map(|one| Text::Same(one.name.clone())).collect(),
            columns: columns.iter().map(|column| column_template(column, type_name, list_name)).collect(),
            views: views.iter().filter(|view| view.shared).map(view).collect(),
            rows: Vec::new(),
            pages: Vec::new(),
        };
        let mut ids = Vec::new();
        if rows && is_list {
            let most = budget.0;
            let shown: Vec<Id> = columns.iter().map(|column| column.id).collect();
            let read = move |reader: &mut Reader<'_>, located: &Viewed| rows_of(reader, located, &shown, most);
            (ids, list.rows) = self.view(&target, read).await?.1.into_iter().unzip();
        }
        let size = list.rows.iter().map(|row| row.to_string().len()).sum();
        budget.0 = budget.0.checked_sub(size).ok_or_else(too_large)?;
        Ok((list, ids))
    }
}

/// Replaces the identifiers in lookup columns by the numbers of rows in the template. `rows` are the identifiers of the
/// rows of each list. Values that name other rows are left out, and so are rows that need such a value.
fn number_entries(lists: &mut [ListTemplate], mut rows: Vec<Vec<Id>>) {
    let lookups: Vec<Vec<(String, usize, bool)>> = lists
        .iter()
        .map(|list| {
            let lookups = list.columns.iter().filter_map(|column| {
                let named = lists.iter().position(|known| Some(known.name.key()) == column.list.as_deref())?;
                Some((column.name.key().to_owned(), named, column.required))
            });
            lookups.collect()
        })
        .collect();
    let entries_of = |row: &toml::Table, column: &str| -> Vec<Id> {
        row.get(column).map_or(&[][..], each).iter().filter_map(toml::Value::as_integer).map(Id::new).collect()
    };
    let list_of: HashMap<Id, usize> =
        rows.iter().enumerate().flat_map(|(list, rows)| rows.iter().map(move |row| (*row, list))).collect();
    // Rows that need a row that is not there go, and then those that need them. Of several entries, one is enough: each
    // need is the row with the number of entries that it still has.
    let mut needs: Vec<(Id, usize)> = Vec::new();
    let mut needed_by: HashMap<Id, Vec<usize>> = HashMap::new();
    let mut lost: Vec<Id> = Vec::new();
    for ((list, ids), lookups) in lists.iter().zip(&rows).zip(&lookups) {
        for (row, id) in list.rows.iter().zip(ids) {
            for (column, named, _) in lookups.iter().filter(|(_, _, required)| *required) {
                let mut entries = entries_of(row, column);
                entries.retain(|entry| list_of.get(entry) == Some(named));
                if entries.is_empty() {
                    lost.push(*id);
                }
                entries.iter().for_each(|entry| needed_by.entry(*entry).or_default().push(needs.len()));
                needs.push((*id, entries.len()));
            }
        }
    }
    let mut gone: HashSet<Id> = HashSet::new();
    while let Some(row) = lost.pop() {
        if gone.insert(row) {
            for need in needed_by.remove(&row).unwrap_or_default() {
                let (row, left) = &mut needs[need];
                *left -= 1;
                lost.extend((*left == 0).then_some(*row));
            }
        }
    }
    for (list, ids) in lists.iter_mut().zip(&mut rows) {
        let mut keep = ids.iter().map(|id| !gone.contains(id));
        list.rows.retain(|_| keep.next().unwrap_or(true));
        ids.retain(|id| !gone.contains(id));
    }
    let numbers: HashMap<Id, (usize, i64)> = rows
        .iter()
        .enumerate()
        .flat_map(|(list, rows)| rows.iter().zip(1..).map(move |(row, number)| (*row, (list, number))))
        .collect();
    for (list, lookups) in lists.iter_mut().zip(&lookups) {
        for row in &mut list.rows {
            for (column, named, _) in lookups {
                let is_array = row.get(column).is_some_and(toml::Value::is_array);
                let found = entries_of(row, column).into_iter().filter_map(|entry| numbers.get(&entry));
                let found = found.filter(|(list, _)| list == named).map(|(_, number)| toml::Value::Integer(*number));
                let mut found: Vec<toml::Value> = found.collect();
                let value = match is_array {
                    true => Some(toml::Value::Array(found)).filter(|array| !each(array).is_empty()),
                    false => found.pop(),
                };
                match value {
                    Some(value) => drop(row.insert(column.clone(), value)),
                    None => drop(row.remove(column)),
                }
            }
        }
    }
}

/// Leaves out formulas that read a column which is not there, with the columns that they calculate.
fn drop_unreadable(columns: &mut Vec<Column>) {
    let is_read = |columns: &[Column], text: &str| {
        let known = columns.iter().map(|one| FormulaColumn { id: one.id, name: &one.name, kind: &one.kind });
        text.is_empty() || Formula::parse(text, &known.collect::<Vec<_>>(), Uses { today_and_me: true }).is_ok()
    };
    // Another formula may read a column that goes.
    while let Some(at) = columns.iter().position(|column| !is_read(columns, &column.options.formula)) {
        columns.remove(at);
    }
    let known = columns.clone();
    for column in columns.iter_mut().filter(|column| !is_read(&known, &column.options.check)) {
        column.options.check.clear();
        column.options.message.clear();
    }
}

/// Bytes that the rows and pages of a template may still take.
struct Budget(usize);

fn too_large() -> Error {
    invalid(format!("its rows and pages take more than {} MiB: save it without them", MAX_TEMPLATE_BYTES >> 20))
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn column_template(
    column: &Column,
    type_name: impl Fn(Id) -> Option<String>,
    list_name: impl Fn(Id) -> Option<String>,
) -> ColumnTemplate {
    let mut choices: Vec<Text> = Vec::new();
    if let ColumnKind::Choice(all) = column.kind.single() {
        for choice in all {
            if choices.iter().all(|known| known.key() != choice) {
                choices.push(Text::Same(choice.clone()));
            }
        }
    }
    ColumnTemplate {
        name: Text::Same(column.name.clone()),
        kind: column.kind.as_str().to_owned(),
        required: column.required && column.role != Some(ColumnRole::Title),
        multiple: column.kind.takes_multiple(),
        choices,
        list: match column.kind.single() {
            ColumnKind::Lookup(list) => list_name(*list),
            _ => None,
        },
        role: column.role.map(|role| role.as_str().to_owned()),
        content_type: column.content_type_id.and_then(type_name),
        formula: some(&column.options.formula),
        default: some(&column.options.default),
        check: some(&column.options.check),
        message: some(&column.options.message).map(Text::Same),
        unique: column.options.unique,
        description: some(&column.options.description).map(Text::Same),
    }
}

/// Returns the first rows of a list that the caller may open, with their values in the columns `shown`, without people
/// and without values that the columns no longer take.
fn rows_of(reader: &mut Reader<'_>, list: &Viewed, shown: &[Id], most: usize) -> Result<Vec<(Id, toml::Table)>> {
    let all = ColumnSet::read(reader, list.node().id)?;
    let is_shown = |column: &&ColumnRow| shown.contains(&column.id) && !all.is_calculated(column.id);
    let columns: Vec<&ColumnRow> = all.rows().iter().filter(is_shown).collect();
    let opens = |row: &node::NodeRow| list.may_know(row) && list.access.rights(row.scope_id).has(Right::View);
    let rows = node::rows(reader, list.node().id, LOOKED_AT)?;
    let ids: Vec<Id> = rows.iter().filter(|row| opens(row)).map(|row| row.id).take(MAX_ROWS).collect();
    let (mut found, mut left) = (Vec::new(), most);
    record::for_each(reader, &ids, |id, fields| {
        let mut row = toml::Table::new();
        for ColumnRow { slot, kind, name, .. } in &columns {
            let fits = |value: &ColumnValue| {
                kind.single().check(value).is_ok() && !matches!(value, ColumnValue::Text(text) if text.is_empty())
            };
            let values = fields.get(*slot, kind)?.map(ColumnValue::into_each).unwrap_or_default();
            for value in values.iter().filter(|value| fits(value)) {
                if let ColumnValue::Text(text) = value {
                    left = left.checked_sub(text.len()).ok_or_else(too_large)?;
                }
            }
            let value = ColumnValue::joined(kind, values.into_iter().filter(fits).collect());
            if let Some(value) = value.as_ref().and_then(value_to_toml) {
                row.insert(name.clone(), value);
            }
        }
        let is_needed = |column: &&&ColumnRow| column.required && !column.kind.is_lookup();
        let is_whole = columns.iter().filter(is_needed).all(|column| row.contains_key(&column.name));
        found.extend(is_whole.then_some((id, row)));
        Ok(())
    })?;
    found.sort_by_key(|(id, _)| *id);
    Ok(found)
}
