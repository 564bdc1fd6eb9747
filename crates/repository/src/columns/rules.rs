//! Rules for the columns of a library or list: what is refused when one is created, changed or removed.

use database::Transaction;
use database::content::column::{self, ColumnRow};
use model::{Code, ColumnKind, Error, Id, Name, NodeKind, Result};

use super::lookups::MAX_LOOKUPS;
use super::options::ColumnOptions;

/// Limit on the choices of one choice column.
pub(crate) const MAX_CHOICES: usize = 500;

/// Names of the columns that every library has, in lower case.
const BUILT_IN: [&str; 7] = ["name", "type", "modified", "created", "by", "size", "version"];

/// Names of the columns that every list has, in lower case. Files of rows have their numbers under `#`.
const BUILT_IN_LISTS: [&str; 4] = ["modified", "created", "by", "#"];

/// Returns whether a name is that of a column that every library, or every list, has. No column can be created with it.
pub fn is_built_in_column(place: NodeKind, name: &Name) -> bool {
    let names = if place == NodeKind::List { &BUILT_IN_LISTS[..] } else { &BUILT_IN[..] };
    names.contains(&name.folded().as_str())
}

pub(super) fn refuse_many_lookups(columns: &[ColumnRow], new: &ColumnKind) -> Result<()> {
    match new.is_lookup() && columns.iter().filter(|column| column.kind.is_lookup()).count() >= MAX_LOOKUPS {
        false => Ok(()),
        true => Err(Error::exhausted(format!("a library or list has at most {MAX_LOOKUPS} lookup columns"))
            .with_code(Code::TooMany)),
    }
}

pub(super) fn refuse_built_in(place: NodeKind, name: &Name) -> Result<()> {
    match is_built_in_column(place, name) {
        false => Ok(()),
        true => Err(Error::conflict(format!(
            "every {place} has a column \"{name}\" already: choose another name for this one"
        ))
        .with_code(Code::NameTaken)
        .naming(&[name.as_str()])),
    }
}

pub(super) fn refuse_taken(columns: &[ColumnRow], name: &Name) -> Result<()> {
    match columns.iter().any(|column| column.folded == name.folded()) {
        false => Ok(()),
        true => Err(name_taken(name, "column")),
    }
}

pub(super) fn name_taken(name: &Name, what: &str) -> Error {
    Error::conflict(format!("there is already a {what} named \"{name}\" here: choose another name"))
        .with_code(Code::NameTaken)
        .naming(&[name.as_str()])
}

/// Refuses another kind than a column has. One that takes a single value can take several; then fields have more values
/// than a single one could hold, so there is no way back.
pub(super) fn refuse_other_kind(column: &ColumnRow, kind: &ColumnKind) -> Result<()> {
    let is_kept = match (column.kind.single(), kind.single()) {
        (ColumnKind::Lookup(_), _) => column.kind.single() == kind.single(),
        (one, other) => one.as_str() == other.as_str(),
    };
    if !is_kept {
        return Err(Error::invalid("the kind of a column cannot be changed: create another column"));
    }
    match column.kind.takes_multiple() && !kind.takes_multiple() {
        false => Ok(()),
        true => Err(Error::invalid(format!(
            "\"{}\" takes several values and cannot go back to one: create another column",
            column.name
        ))),
    }
}

/// Refuses to remove a column that a formula of another one reads, or to have it take several values.
pub(super) fn refuse_read(others: &[ColumnRow], column: &ColumnRow) -> Result<()> {
    let mark = format!("[#{}]", column.id);
    for other in others {
        let options = ColumnOptions::stored(other)?;
        if [&options.formula, &options.check].into_iter().any(|formula| formula.contains(&mark)) {
            return Err(Error::conflict(format!(
                "a formula of the column \"{}\" reads \"{}\": change the formula first",
                other.name, column.name
            ))
            .with_code(Code::ColumnRead)
            .naming(&[other.name.as_str(), column.name.as_str()]));
        }
    }
    Ok(())
}

pub(super) fn check_choices(kind: &ColumnKind) -> Result<()> {
    let ColumnKind::Choice(choices) = kind.single() else { return Ok(()) };
    let bad =
        |choice: &String| choice.is_empty() || choice.chars().count() > 255 || choice.chars().any(char::is_control);
    if choices.is_empty() || choices.len() > MAX_CHOICES || choices.iter().any(bad) {
        return Err(Error::invalid(format!(
            "a choice column has 1 to {MAX_CHOICES} choices of 1 to 255 characters without control characters"
        )));
    }
    Ok(())
}

pub(super) fn require_type(transaction: &mut Transaction<'_>, library: Id, content_type: Option<Id>) -> Result<()> {
    let Some(id) = content_type else { return Ok(()) };
    if column::content_types(transaction, library)?.iter().any(|(known, _)| *known == id) {
        return Ok(());
    }
    Err(Error::not_found("the library has no such content type"))
}
