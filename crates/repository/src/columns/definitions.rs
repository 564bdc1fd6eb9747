//! Columns and content types of libraries and lists.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::column::{self, ColumnRow};
use database::content::{library, record};
use model::{Code, ColumnKind, ColumnRole, Error, Id, Name, NodeKind, Result, fold};

use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

use super::options::{ColumnOptions, check_all, checked, formula_columns, invalid};
use super::recompute;
use super::rules::{
    check_choices, name_taken, refuse_built_in, refuse_many_lookups, refuse_other_kind, refuse_read, refuse_taken,
    require_type,
};
use super::unique::refuse_repeated;

/// Limit on the columns of one library or list.
pub(crate) const MAX_COLUMNS: usize = 200;

/// A column of a library or list.
#[derive(Clone, Debug)]
pub struct Column {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: String,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Set when a row cannot be saved, or a document checked in, without a value.
    pub required: bool,
    /// The content type that it belongs to; `None` for a column of all items in the library or list.
    pub content_type_id: Option<Id>,
    /// What the program uses its values for.
    pub role: Option<ColumnRole>,
    /// Formula, default value and checks.
    pub options: ColumnOptions,
}

impl Column {
    /// Returns whether a formula gives the values, so that nobody can set them.
    pub fn is_calculated(&self) -> bool {
        !self.options.formula.is_empty()
    }
}

/// The definition of a column to be created or changed.
#[derive(Clone, Debug)]
pub struct ColumnChange {
    /// Name.
    pub name: Name,
    /// Type of its values. An existing column keeps its kind; its choices can be changed, and it can take several
    /// values from now on.
    pub kind: ColumnKind,
    /// Set when a row cannot be saved, or a document checked in, without a value.
    pub required: bool,
    /// The content type that the column belongs to.
    pub content_type_id: Option<Id>,
    /// Formula, default value and checks.
    pub options: ColumnOptions,
}

/// A named set of columns within a library.
#[derive(Clone, Debug)]
pub struct ContentType {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: String,
}

/// Returns columns with formulas as they are stored, for what shows values and not definitions.
///
/// # Errors
/// `Corrupt` for options that cannot be read.
pub(crate) fn unnamed_columns(rows: Vec<ColumnRow>) -> Result<Vec<Column>> {
    rows.into_iter().map(|row| Ok((ColumnOptions::stored(&row)?, row))).map(|read| read.map(of_row)).collect()
}

fn of_row((options, row): (ColumnOptions, ColumnRow)) -> Column {
    Column {
        id: row.id,
        name: row.name,
        kind: row.kind,
        required: row.required,
        content_type_id: row.content_type_id,
        role: row.role,
        options,
    }
}

/// Returns columns with formulas that name the others. They are all those of a library or list.
///
/// # Errors
/// `Corrupt` for options that cannot be read.
pub fn named_columns(rows: Vec<ColumnRow>) -> Result<Vec<Column>> {
    let known = formula_columns(&rows);
    let options = rows.iter().map(|row| Ok(ColumnOptions::stored(row)?.named(&known)));
    let options = options.collect::<Result<Vec<_>>>()?;
    Ok(options.into_iter().zip(rows).map(of_row).collect())
}

impl Session {
    /// Returns the columns and content types of the library or list that an item is in (or is).
    ///
    /// # Errors
    /// `NotFound`.
    #[boxed]
    pub async fn columns(&self, target: &Target) -> Result<(Vec<Column>, Vec<ContentType>)> {
        let (_, found) = self
            .view(target, |reader, located| {
                let library = located.node().library_id;
                // The columns of a list are not for what is attached to its rows.
                if located.parent().is_some_and(|parent| parent.kind == NodeKind::Row) {
                    return Ok((Vec::new(), Vec::new()));
                }
                Ok((column::list(reader, library)?, column::content_types(reader, library)?))
            })
            .await?;
        let types = found.1.into_iter().map(|(id, name)| ContentType { id, name });
        Ok((named_columns(found.0)?, types.collect()))
    }

    /// Adds a column to a library or list.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`; `Conflict` with code `name_taken`; `Exhausted` with code `too_many`; `Invalid`.
    #[boxed]
    pub async fn create_column(&self, holder: &Target, change: ColumnChange) -> Result<Id> {
        check_choices(&change.kind)?;
        self.require_list(holder, &change.kind).await?;
        let detail = change.name.as_str().to_owned();
        let unique = change.options.unique;
        self.change_columns(holder, ("column.create", &detail), unique, move |transaction, holder, id| {
            let columns = column::list(transaction, holder.id)?;
            if columns.len() >= MAX_COLUMNS {
                return Err(Error::exhausted(format!("a {} has at most {MAX_COLUMNS} columns", holder.kind))
                    .with_code(Code::TooMany));
            }
            refuse_many_lookups(&columns, &change.kind)?;
            refuse_built_in(holder.kind, &change.name)?;
            refuse_taken(&columns, &change.name)?;
            require_type(transaction, holder.id, change.content_type_id)?;
            let position = columns.last().map_or(0, |last| last.position + 1);
            let mut all = columns;
            all.push(change.row(id, holder.id, position));
            let options = checked(&change.options, id, holder.kind, &all)?;
            let Some(new) = all.last_mut() else { return Err(Error::corrupt("a list without columns")) };
            new.options = options;
            let new = new.clone();
            check_all(&all)?;
            let slot = column::insert(transaction, &new)?;
            if holder.kind == NodeKind::List {
                record::add_empty(transaction, holder.id, slot)?;
            }
            match change.options.formula.is_empty() {
                true => Ok(()),
                false => recompute::begin(transaction, holder.id, holder.kind),
            }
        })
        .await
    }

    /// Changes a column's name, choices, content type, and whether a value is required.
    ///
    /// # Errors
    /// Those of [`Session::create_column`]; `Conflict` with code `title_column` for a change that would leave rows
    /// without titles.
    #[boxed]
    pub async fn change_column(&self, holder: &Target, id: Id, change: ColumnChange) -> Result<()> {
        check_choices(&change.kind)?;
        let detail = change.name.as_str().to_owned();
        let unique = change.options.unique;
        self.change_columns(holder, ("column.change", &detail), unique, move |transaction, holder, _| {
            let mut columns = column::list(transaction, holder.id)?;
            let mut row = holder.take_column(&mut columns, id)?;
            refuse_other_kind(&row, &change.kind)?;
            if change.kind.takes_multiple() && !row.kind.takes_multiple() {
                // Formulas read no several values.
                refuse_read(&columns, &row)?;
            }
            require_type(transaction, holder.id, change.content_type_id)?;
            // Columns of earlier versions may have such a name. They keep it.
            if row.folded != change.name.folded() {
                refuse_built_in(holder.kind, &change.name)?;
            }
            refuse_taken(&columns, &change.name)?;
            row.name = change.name.as_str().to_owned();
            row.folded = change.name.folded();
            row.kind = change.kind.clone();
            row.required = change.required;
            if row.role == Some(ColumnRole::Title) && (!row.required || change.content_type_id.is_some()) {
                return Err(Error::conflict(format!(
                    "\"{}\" gives the rows their titles: it is required in every row",
                    row.name
                ))
                .with_code(Code::TitleColumn));
            }
            let before = ColumnOptions::stored(&row)?;
            let changes_type = row.content_type_id != change.content_type_id;
            row.content_type_id = change.content_type_id;
            if change.options.formula.is_empty() && !before.formula.is_empty() {
                return Err(invalid(format!("\"{}\" is calculated: it needs a formula", row.name)));
            }
            if !change.options.formula.is_empty() && before.formula.is_empty() {
                return Err(invalid(
                    "a column that people fill in cannot become a calculated one: create another column",
                ));
            }
            let mut all = columns;
            all.push(row.clone());
            row.options = checked(&change.options, id, holder.kind, &all)?;
            if let Some(changed) = all.last_mut() {
                changed.options.clone_from(&row.options);
            }
            check_all(&all)?;
            let after = ColumnOptions::stored(&row)?;
            if after.unique && !before.unique {
                refuse_repeated(transaction, holder.id, &row)?;
            }
            column::update(transaction, &row)?;
            // In items of another type, formulas take a column of a content type for empty.
            match after.formula == before.formula && !changes_type {
                true => Ok(()),
                false => recompute::begin(transaction, holder.id, holder.kind),
            }
        })
        .await
        .map(drop)
    }

    /// Removes a column together with its values.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`; `Conflict` with code `title_column`, and with code `column_read` for a column that a
    /// formula of another one names.
    #[boxed]
    pub async fn delete_column(&self, holder: &Target, id: Id) -> Result<()> {
        self.change_columns(holder, ("column.delete", &id.to_string()), false, move |transaction, holder, _| {
            let mut columns = column::list(transaction, holder.id)?;
            let column = holder.take_column(&mut columns, id)?;
            if column.role == Some(ColumnRole::Title) {
                return Err(Error::conflict(format!(
                    "\"{}\" gives the rows their titles and cannot be removed: rename it instead",
                    column.name
                ))
                .with_code(Code::TitleColumn));
            }
            refuse_read(&columns, &column)?;
            record::remove_slot(transaction, holder.id, column.slot)?;
            column::delete(transaction, id)
        })
        .await
        .map(drop)
    }

    /// Adds a content type to a library.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`; `Conflict` with code `name_taken`, and with code `wrong_kind` for a list.
    #[boxed]
    pub async fn create_content_type(&self, library: &Target, name: &Name) -> Result<Id> {
        let content_type = name.clone();
        self.change_columns(library, ("content-type.create", name.as_str()), false, move |transaction, library, id| {
            if library.kind != NodeKind::Library {
                return Err(Error::conflict("only libraries have content types").with_code(Code::WrongKind));
            }
            let known = column::content_types(transaction, library.id)?;
            if known.iter().any(|(_, name)| fold(name) == content_type.folded()) {
                return Err(name_taken(&content_type, "content type"));
            }
            column::insert_content_type(transaction, id, library.id, content_type.as_str(), &content_type.folded())
        })
        .await
    }

    /// Removes a content type together with the columns that belong to it.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`.
    #[boxed]
    pub async fn delete_content_type(&self, library: &Target, id: Id) -> Result<()> {
        self.change_columns(library, ("content-type.delete", &id.to_string()), false, move |transaction, library, _| {
            require_type(transaction, library.id, Some(id))?;
            let columns = column::list(transaction, library.id)?;
            let (gone, kept): (Vec<_>, Vec<_>) = columns.into_iter().partition(|one| one.content_type_id == Some(id));
            for column in gone {
                refuse_read(&kept, &column)?;
                record::remove_slot(transaction, library.id, column.slot)?;
            }
            column::delete_content_type(transaction, library.id, id)
        })
        .await
        .map(drop)
    }

    /// Runs a change of the columns of a library or list. The identifier passed to `change` is for the object that it
    /// creates, if any. `exclusive` blocks other changes meanwhile, so that no value escapes a new rule against
    /// duplicates.
    async fn change_columns(
        &self,
        holder: &Target,
        (action, detail): (&'static str, &str),
        exclusive: bool,
        mut change: impl FnMut(&mut Transaction<'_>, &Holder, Id) -> Result<()> + Send + 'static,
    ) -> Result<Id> {
        let located = self.library(holder).await?;
        let guard = self.guard([&*located])?;
        let holder = Holder { id: located.node().id, kind: located.node().kind };
        let detail = format!("{}: {detail}", located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            if let Some(created) = guard.repetition.find(transaction)? {
                return Ok(created);
            }
            // Rows are added under the same lock, so that each of them has an entry in every column.
            library::lock(transaction, holder.id)?;
            let id = guard.next_id();
            change(transaction, &holder, id)?;
            guard.repetition.store_result(transaction, id)?;
            guard.record(transaction, holder.id, action, detail.as_str())?;
            Ok(id)
        };
        guard.exclusive_when(exclusive).write(write).await.map_err(name_conflict)
    }
}

/// The library or list whose columns change.
struct Holder {
    id: Id,
    kind: NodeKind,
}

impl Holder {
    /// Takes a column out of those of the library or list.
    fn take_column(&self, columns: &mut Vec<ColumnRow>, id: Id) -> Result<ColumnRow> {
        let found = columns.iter().position(|column| column.id == id);
        let found = found.ok_or_else(|| Error::not_found(format!("the {} has no such column", self.kind)))?;
        Ok(columns.remove(found))
    }
}

impl ColumnChange {
    /// Returns the row of a new column.
    fn row(&self, id: Id, library: Id, position: i64) -> ColumnRow {
        ColumnRow {
            id,
            library_id: library,
            content_type_id: self.content_type_id,
            name: self.name.as_str().to_owned(),
            folded: self.name.folded(),
            kind: self.kind.clone(),
            required: self.required,
            position,
            slot: 0,
            role: None,
            options: String::new(),
        }
    }
}

/// Stores the column of a new list that gives its rows their titles.
///
/// # Errors
/// `Conflict` with code `name_taken` for a name that every list has.
pub(crate) fn add_title_column(
    transaction: &mut Transaction<'_>,
    id: Id,
    list: Id,
    column: &ColumnChange,
) -> Result<()> {
    refuse_built_in(NodeKind::List, &column.name)?;
    let column = ColumnRow { role: Some(ColumnRole::Title), ..column.row(id, list, 0) };
    column::insert(transaction, &column).map(drop)
}
