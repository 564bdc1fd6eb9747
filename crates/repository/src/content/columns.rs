//! Columns and content types of libraries, and the column values of documents and folders.

use async_recursion::async_recursion as boxed;
use database::content::column::{self, ColumnRow};
use database::content::{collection, node};
use database::{Reader, Transaction};
use model::{Code, ColumnKind, ColumnValue, Error, Id, Name, NodeKind, Result, Right, Timestamp};

use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

/// Limit on the columns of one library.
const MAX_COLUMNS: usize = 200;
/// Limit on the choices of one choice column.
const MAX_CHOICES: usize = 500;

/// Names of the columns that every library has, in lower case.
const BUILT_IN: [&str; 7] = ["name", "type", "modified", "created", "by", "size", "version"];

/// Returns whether a name is that of a column that every library has. No column can be created with it.
pub fn is_built_in_column(name: &Name) -> bool {
    BUILT_IN.contains(&name.folded().as_str())
}

/// A column of a library.
#[derive(Clone, Debug)]
pub struct Column {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: String,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Set when a document cannot be checked in without a value.
    pub required: bool,
    /// The content type that it belongs to; `None` for a column of all documents in the library.
    pub content_type_id: Option<Id>,
}

/// The definition of a column to be created or changed.
#[derive(Clone, Debug)]
pub struct ColumnChange {
    /// Name.
    pub name: Name,
    /// Type of its values. An existing column keeps its kind; only its choices can be changed.
    pub kind: ColumnKind,
    /// Set when a document cannot be checked in without a value.
    pub required: bool,
    /// The content type that the column belongs to.
    pub content_type_id: Option<Id>,
}

/// A named set of columns within a library.
#[derive(Clone, Debug)]
pub struct ContentType {
    /// Identifier.
    pub id: Id,
    /// Name.
    pub name: String,
}

impl From<ColumnRow> for Column {
    fn from(row: ColumnRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            kind: row.kind,
            required: row.required,
            content_type_id: row.content_type_id,
        }
    }
}

/// A change to the column values of an item.
#[derive(Clone, Debug, Default)]
pub struct ValuesChange {
    /// Columns with their new values; `None` clears a column.
    pub values: Vec<(Id, Option<ColumnValue>)>,
    /// Columns with the values they must hold now; on any mismatch nothing is changed.
    pub expected: Vec<(Id, Option<ColumnValue>)>,
    /// The content type: `Some(None)` removes it, `None` leaves it unchanged.
    pub content_type: Option<Option<Id>>,
}

impl Session {
    /// Returns the columns and content types of the library that an item is in (or is).
    #[boxed]
    pub async fn columns(&self, target: &Target) -> Result<(Vec<Column>, Vec<ContentType>)> {
        let (_, found) = self
            .view(target, |reader, located| {
                let library = located.node().library_id;
                Ok((column::list(reader, library)?, column::content_types(reader, library)?))
            })
            .await?;
        let types = found.1.into_iter().map(|(id, name)| ContentType { id, name });
        Ok((found.0.into_iter().map(Into::into).collect(), types.collect()))
    }

    /// Adds a column to a library.
    #[boxed]
    pub async fn create_column(&self, library: &Target, change: ColumnChange) -> Result<Id> {
        check_choices(&change.kind)?;
        refuse_built_in(&change.name)?;
        let change = &change;
        self.change_columns(library, "column.create", change.name.as_str(), {
            let change = change.clone();
            move |transaction, library, id| {
                let columns = column::list(transaction, library)?;
                if columns.len() >= MAX_COLUMNS {
                    return Err(Error::exhausted(format!("a library has at most {MAX_COLUMNS} columns"))
                        .with_code(Code::TooMany));
                }
                require_type(transaction, library, change.content_type_id)?;
                let row = ColumnRow {
                    id,
                    library_id: library,
                    content_type_id: change.content_type_id,
                    name: change.name.as_str().to_owned(),
                    folded: change.name.folded(),
                    kind: change.kind.clone(),
                    required: change.required,
                    position: columns.last().map_or(0, |last| last.position + 1),
                };
                column::insert(transaction, &row)
            }
        })
        .await
    }

    /// Changes a column's name, choices, content type, and whether a value is required.
    #[boxed]
    pub async fn change_column(&self, library: &Target, id: Id, change: ColumnChange) -> Result<()> {
        check_choices(&change.kind)?;
        self.change_columns(library, "column.change", change.name.clone().as_str(), move |transaction, library, _| {
            let mut row = find_column(transaction, library, id)?;
            if row.kind.as_str() != change.kind.as_str() {
                return Err(Error::invalid("the kind of a column cannot be changed: create another column"));
            }
            require_type(transaction, library, change.content_type_id)?;
            // Columns of earlier versions may have such a name. They keep it.
            if row.folded != change.name.folded() {
                refuse_built_in(&change.name)?;
            }
            row.name = change.name.as_str().to_owned();
            row.folded = change.name.folded();
            row.kind = change.kind.clone();
            row.required = change.required;
            row.content_type_id = change.content_type_id;
            column::update(transaction, &row)
        })
        .await
        .map(drop)
    }

    /// Removes a column together with the values that documents have in it.
    #[boxed]
    pub async fn delete_column(&self, library: &Target, id: Id) -> Result<()> {
        self.change_columns(library, "column.delete", &id.to_string(), move |transaction, library, _| {
            find_column(transaction, library, id)?;
            column::delete(transaction, id)
        })
        .await
        .map(drop)
    }

    /// Adds a content type to a library.
    #[boxed]
    pub async fn create_content_type(&self, library: &Target, name: &Name) -> Result<Id> {
        let content_type = name.clone();
        self.change_columns(library, "content-type.create", name.as_str(), move |transaction, library, id| {
            column::insert_content_type(transaction, id, library, content_type.as_str(), &content_type.folded())
        })
        .await
    }

    /// Removes a content type together with the columns that belong to it.
    #[boxed]
    pub async fn delete_content_type(&self, library: &Target, id: Id) -> Result<()> {
        self.change_columns(library, "content-type.delete", &id.to_string(), move |transaction, library, _| {
            require_type(transaction, library, Some(id))?;
            column::delete_content_type(transaction, library, id)
        })
        .await
        .map(drop)
    }

    /// Returns the column values of a document or folder.
    #[boxed]
    pub async fn values(&self, target: &Target) -> Result<Vec<(Id, ColumnValue)>> {
        let (_, found) = self
            .view(target, |reader, located| {
                let columns = column::list(reader, located.node().library_id)?;
                let mut values = column::values(reader, located.node().id)?;
                // Values that an item brought along from another library are only hidden. They show again when the item
                // is moved back.
                values.retain(|(id, _)| columns.iter().any(|column| column.id == *id));
                Ok(values)
            })
            .await?;
        Ok(found)
    }

    /// Changes the column values of an item, all or nothing.
    ///
    /// # Errors
    /// `Conflict` with code `value_changed` when a column holds a value other than the expected one.
    #[boxed]
    pub async fn set_values(&self, target: &Target, change: ValuesChange) -> Result<()> {
        let ValuesChange { values, expected, content_type } = change;
        let located = self.locate(target).await?.to(Right::Edit)?;
        let guard = self.guard([&located])?;
        if !matches!(located.node().kind, NodeKind::Document | NodeKind::Folder) {
            return Err(Error::conflict("only documents and folders have column values").with_code(Code::WrongKind));
        }
        self.require_not_held(&located).await?;
        self.require_people(&values).await?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            guard.require_free(transaction, checked, &row)?;
            refuse_overtaken(transaction, id, &expected)?;
            let before = column::values(transaction, id)?;
            let stands = |(column, value): &(Id, Option<ColumnValue>)| {
                before.iter().find(|(known, _)| known == column).map(|(_, value)| value) == value.as_ref()
            };
            let same = content_type.is_none_or(|wanted| wanted == row.content_type_id) && values.iter().all(stands);
            if let Some(content_type) = content_type {
                require_type(transaction, row.library_id, content_type)?;
                node::set_content_type(transaction, id, content_type)?;
            }
            for (column_id, value) in &values {
                let column = find_column(transaction, row.library_id, *column_id)?;
                match value {
                    None => column::clear_value(transaction, id, column.id)?,
                    Some(value) => {
                        column.kind.check(value).map_err(|error| {
                            Error::invalid(format!("{}: {}", column.name, error.message()))
                                .with_code(Code::InvalidValue)
                        })?;
                        column::put_value(transaction, id, column.id, value)?;
                    }
                }
            }
            // Saving the same values again neither touches the item nor records an event.
            if same {
                return Ok(());
            }
            node::touch(transaction, id, Timestamp::now(), guard.caller())?;
            if row.kind != NodeKind::Document {
                collection::change_tree(transaction, row.collection_id)?;
            }
            guard.record(transaction, id, "item.columns", path.as_str())
        };
        guard.write(write).await
    }

    /// Refuses person values that name no principal of this farm.
    async fn require_people(&self, values: &[(Id, Option<ColumnValue>)]) -> Result<()> {
        let named = values.iter().filter_map(|(_, value)| match value {
            Some(ColumnValue::Person(id)) => Some(*id),
            _ => None,
        });
        let named: Vec<Id> = named.collect();
        if named.is_empty() {
            return Ok(());
        }
        let known = self.principal_names(&named).await?;
        match named.iter().find(|id| !known.contains_key(id)) {
            None => Ok(()),
            Some(id) => {
                Err(Error::invalid(format!("no user in this farm has the identifier {id}"))
                    .with_code(Code::InvalidValue))
            }
        }
    }

    /// Runs a change of a library's columns. The identifier passed to `change` is for the object that it creates, if
    /// any.
    async fn change_columns(
        &self,
        library: &Target,
        action: &'static str,
        detail: &str,
        mut change: impl FnMut(&mut Transaction<'_>, Id, Id) -> Result<()> + Send + 'static,
    ) -> Result<Id> {
        let located = self.library(library).await?;
        let guard = self.guard([&*located])?;
        let (library, detail) = (located.node().id, format!("{}: {detail}", located.path()));
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            if let Some(created) = guard.repetition.find(transaction)? {
                return Ok(created);
            }
            let id = guard.next_id();
            change(transaction, library, id)?;
            guard.repetition.store_result(transaction, id)?;
            guard.record(transaction, library, action, detail.as_str())?;
            Ok(id)
        };
        guard.write(write).await.map_err(name_conflict)
    }
}

fn refuse_built_in(name: &Name) -> Result<()> {
    match is_built_in_column(name) {
        false => Ok(()),
        true => Err(Error::conflict(format!(
            "every library has a column \"{name}\" already: choose another name for this one"
        ))
        .with_code(Code::NameTaken)
        .naming(&[name.as_str()])),
    }
}

fn check_choices(kind: &ColumnKind) -> Result<()> {
    let ColumnKind::Choice(choices) = kind else { return Ok(()) };
    let bad =
        |choice: &String| choice.is_empty() || choice.chars().count() > 255 || choice.chars().any(char::is_control);
    if choices.is_empty() || choices.len() > MAX_CHOICES || choices.iter().any(bad) {
        return Err(Error::invalid(format!(
            "a choice column has 1 to {MAX_CHOICES} choices of 1 to 255 characters without control characters"
        )));
    }
    Ok(())
}

fn find_column(transaction: &mut Transaction<'_>, library: Id, id: Id) -> Result<ColumnRow> {
    let found = column::list(transaction, library)?.into_iter().find(|column| column.id == id);
    found.ok_or_else(|| Error::not_found("the library has no such column"))
}

fn refuse_overtaken(reader: &mut Reader<'_>, item: Id, expected: &[(Id, Option<ColumnValue>)]) -> Result<()> {
    if expected.is_empty() {
        return Ok(());
    }
    let present = column::values(reader, item)?;
    let now = |column: Id| present.iter().find(|(id, _)| *id == column).map(|(_, value)| value);
    if expected.iter().all(|(column, value)| now(*column) == value.as_ref()) {
        return Ok(());
    }
    Err(Error::conflict("the value was changed in the meantime: check the present value and save again")
        .with_code(Code::ValueChanged))
}

fn require_type(transaction: &mut Transaction<'_>, library: Id, content_type: Option<Id>) -> Result<()> {
    let Some(id) = content_type else { return Ok(()) };
    if column::content_types(transaction, library)?.iter().any(|(known, _)| *known == id) {
        return Ok(());
    }
    Err(Error::not_found("the library has no such content type"))
}
