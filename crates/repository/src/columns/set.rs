//! The columns of a library or list with their formulas, ready to be applied to its items.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use database::Reader;
use database::content::column::{self, ColumnRow};
use database::content::fields::Fields;
use model::{Code, ColumnValue, Error, Formula, FormulaContext, Id, Outcome, Result, Timestamp, order_of};

use super::field_change::{Completing, FieldChange};
use super::options::{ColumnOptions, WITH_NOW_AND_ME, WITHOUT_NOW_AND_ME, formula_columns};

/// Limit on the steps of the default values of one item, on those of its calculated columns, and on those of its
/// checks.
const MAX_STEPS: usize = 20_000;
/// Limit on the steps of all formulas in one transaction, so that others do not wait long.
const MAX_WORK: usize = 1_000_000;
/// Limit on the bytes of the calculated texts of one item together, and on those of its default values.
const MAX_TEXTS: usize = 64 << 10;
/// Limit on the characters of a formula in a message.
const MAX_SHOWN: usize = 200;

/// The columns of a library or list, with what their options demand.
pub(crate) struct ColumnSet {
    rows: Vec<ColumnRow>,
    positions: HashMap<Id, usize>,
    /// Formulas of calculated columns, each after those that it reads.
    calculated: Vec<(usize, Formula)>,
    defaults: Vec<(usize, Formula)>,
    checks: Vec<Check>,
    unique: Vec<usize>,
    /// Steps left for the formulas of all items of this transaction.
    work: Cell<usize>,
}

/// A check of the values of an item.
struct Check {
    column: usize,
    formula: Formula,
    /// The columns on which its result depends.
    reads: HashSet<Id>,
    message: String,
}

impl ColumnSet {
    /// Reads the columns of a library or list.
    ///
    /// # Errors
    /// `Corrupt` for options that cannot be read.
    pub(crate) fn read(reader: &mut Reader<'_>, library: Id) -> Result<Self> {
        Self::new(column::list(reader, library)?)
    }

    /// Returns the slots of the columns of a library or list in which no two items may have the same value.
    ///
    /// # Errors
    /// Those of [`ColumnSet::read`].
    pub(crate) fn unique_slots(reader: &mut Reader<'_>, library: Id) -> Result<Vec<i64>> {
        match column::have_options(reader, library)? {
            true => Ok(Self::read(reader, library)?.unique().map(|column| column.slot).collect()),
            false => Ok(Vec::new()),
        }
    }

    /// Prepares columns, which are all those of a library or list.
    ///
    /// # Errors
    /// Those of [`ColumnSet::read`].
    pub(crate) fn new(rows: Vec<ColumnRow>) -> Result<Self> {
        let mut set = Self {
            positions: rows.iter().enumerate().map(|(at, row)| (row.id, at)).collect(),
            rows,
            calculated: Vec::new(),
            defaults: Vec::new(),
            checks: Vec::new(),
            unique: Vec::new(),
            work: Cell::new(MAX_WORK),
        };
        if set.rows.iter().all(|row| row.options.is_empty()) {
            return Ok(set);
        }
        let known = formula_columns(&set.rows);
        let mut formulas = Vec::new();
        for (at, row) in set.rows.iter().enumerate() {
            let options = ColumnOptions::stored(row)?;
            let parse = |text: &str, uses| {
                Formula::parse(text, &known, uses).map_err(|error| {
                    Error::corrupt(format!(
                        "a formula of the column \"{}\" cannot be read: {}",
                        row.name,
                        error.message()
                    ))
                })
            };
            if !options.formula.is_empty() {
                formulas.push((at, parse(&options.formula, WITHOUT_NOW_AND_ME)?));
            }
            if !options.default.is_empty() {
                set.defaults.push((at, parse(&options.default, WITH_NOW_AND_ME)?));
            }
            if !options.check.is_empty() {
                let formula = parse(&options.check, WITH_NOW_AND_ME)?;
                let reads = formula.columns().into_iter().chain([row.id]).collect();
                set.checks.push(Check { column: at, formula, reads, message: options.message });
            }
            if options.unique {
                set.unique.push(at);
            }
        }
        let ids: Vec<(Id, &Formula)> = formulas.iter().map(|(at, formula)| (set.rows[*at].id, formula)).collect();
        let order: HashMap<Id, usize> = order_of(&ids)?.into_iter().zip(0..).collect();
        formulas.sort_by_key(|(at, _)| order.get(&set.rows[*at].id).copied());
        set.calculated = formulas;
        Ok(set)
    }

    /// The columns, in order.
    pub(crate) fn rows(&self) -> &[ColumnRow] {
        &self.rows
    }

    /// The library or list, if it has columns.
    pub(super) fn library(&self) -> Id {
        self.rows.first().map_or(Id::NONE, |row| row.library_id)
    }

    /// Returns the column with an identifier.
    pub(crate) fn find(&self, id: Id) -> Option<&ColumnRow> {
        self.positions.get(&id).map(|at| &self.rows[*at])
    }

    /// The columns in which no two items may have the same value.
    pub(super) fn unique(&self) -> impl Iterator<Item = &ColumnRow> {
        self.unique.iter().map(|at| &self.rows[*at])
    }

    /// Returns whether a new item gets values that its author does not set.
    pub(super) fn has_defaults(&self) -> bool {
        !self.defaults.is_empty()
    }

    /// Returns whether the values of a column are calculated.
    pub(crate) fn is_calculated(&self, id: Id) -> bool {
        self.calculated.iter().any(|(at, _)| self.rows[*at].id == id)
    }

    /// Returns whether any column is calculated.
    pub(super) fn has_calculated(&self) -> bool {
        !self.calculated.is_empty()
    }

    /// Returns the change that sets these values.
    ///
    /// # Errors
    /// `NotFound` for a column that is not among these; `Invalid` with code `invalid_value`, also for a column whose
    /// values are calculated.
    pub(crate) fn change<'a>(&'a self, values: &'a [(Id, Option<ColumnValue>)]) -> Result<FieldChange<'a>> {
        let fit = values.iter().map(|(id, value)| {
            let column = self.find(*id);
            let column = column.ok_or_else(|| Error::not_found("the library or list has no such column"))?;
            let misfit = |reason: &str| {
                Error::invalid(format!("{}: {reason}", column.name))
                    .with_code(Code::InvalidValue)
                    .naming(&[column.name.as_str()])
            };
            if self.is_calculated(*id) {
                return Err(misfit("the values of this column are calculated and cannot be changed"));
            }
            if let Some(value) = value {
                column.kind.check(value).map_err(|error| misfit(error.message()))?;
            }
            Ok((column, value.as_ref().map(Cow::Borrowed)))
        });
        fit.collect::<Result<_>>().map(FieldChange::new)
    }

    /// Returns the change that sets values as they were stored before, without any check. Calculated columns
    /// are computed anew. Columns that are not among these are left out, and so are several values in a column that
    /// takes one.
    pub(crate) fn known_change<'a>(&'a self, values: &'a [(Id, ColumnValue)]) -> FieldChange<'a> {
        let known = |id: &Id, value: &ColumnValue| {
            let fits = |column: &&ColumnRow| column.kind.takes_multiple() || !matches!(value, ColumnValue::Multiple(_));
            self.find(*id).filter(fits).filter(|_| !self.is_calculated(*id))
        };
        FieldChange::new(
            values.iter().filter_map(|(id, value)| Some((known(id, value)?, Some(Cow::Borrowed(value))))).collect(),
        )
    }

    /// Adds to a change the default values of columns that it does not name. A new item gets those of all its columns.
    /// One that has the fields `before` and gets another content type gets those of the type's columns that are empty.
    pub(super) fn add_defaults<'a>(&'a self, change: &mut FieldChange<'a>, before: Option<&Fields>, caller: Id) {
        let context = FormulaContext { now: Timestamp::now(), me: caller };
        let (mut steps, mut room) = (self.steps(), MAX_TEXTS);
        let begun = steps;
        for (at, formula) in &self.defaults {
            let column = &self.rows[*at];
            let is_new = before.is_none_or(|before| column.content_type_id.is_some() && !before.has(column.slot));
            if !is_new || !change.concerns(column) || change.sets(column.id) {
                continue;
            }
            if let Outcome::Value(value) = formula.evaluate_within(&|_| None, &context, &mut steps) {
                // The choices may have changed since the default value was entered.
                if column.kind.check(&value).is_ok() && takes_room(&value, &mut room) {
                    change.set(column, Some(value));
                }
            }
        }
        self.work.set(self.work.get().saturating_sub(begun - steps));
    }

    /// Adds to a change the values that follow from it. A formula without a result, or with one that its column cannot
    /// take, gives an empty field; so does one that would be too much work, or too much text, with those before it, and
    /// one of a content type that the item does not have.
    pub(super) fn calculate<'a>(&'a self, change: &mut FieldChange<'a>, before: &Fields) {
        if self.calculated.is_empty() {
            return;
        }
        // Stored formulas use neither.
        let context = FormulaContext { now: Timestamp::from_micros(0), me: Id::NONE };
        let mut fields = change.applied_to(before);
        let (mut steps, mut room) = (self.steps(), MAX_TEXTS);
        let begun = steps;
        for (at, formula) in &self.calculated {
            let column = &self.rows[*at];
            let outcome = match change.concerns(column) {
                true => formula.evaluate_within(&|id| self.value(&fields, id, change), &context, &mut steps),
                false => Outcome::Empty,
            };
            let value = match outcome {
                Outcome::Value(value) => Some(value).filter(|value| column.kind.check(value).is_ok()),
                Outcome::Empty | Outcome::Error(_) => None,
            };
            let value = value.filter(|value| takes_room(value, &mut room));
            fields.set(column.slot, value.as_ref());
            change.set(column, value);
        }
        self.work.set(self.work.get().saturating_sub(begun - steps));
    }

    /// Returns the steps that the formulas of the next item may take.
    fn steps(&self) -> usize {
        MAX_STEPS.min(self.work.get())
    }

    /// Returns whether the transaction has enough work left for all formulas of another item.
    pub(super) fn has_work_left(&self) -> bool {
        // Default values, calculated columns and checks have so many steps each.
        self.work.get() >= 3 * MAX_STEPS
    }

    /// Refuses another item once the formulas of a transaction were too much work.
    ///
    /// # Errors
    /// `Invalid` with code `too_much_at_once`.
    pub(super) fn require_work_left(&self) -> Result<()> {
        match self.has_work_left() {
            true => Ok(()),
            false => Err(Error::invalid(
                "the formulas of this list are too much work for so many changes at once: send fewer, or simplify them",
            )
            .with_code(Code::TooMuchAtOnce)),
        }
    }

    /// Refuses fields that do not pass a check on which the change has a bearing: all checks for a new item, and
    /// otherwise those that read a field that changes. With another content type, all columns of content types change.
    ///
    /// # Errors
    /// `Invalid` with code `check_failed`.
    pub(super) fn check(
        &self,
        change: &FieldChange<'_>,
        completing: Completing<'_>,
        after: &Fields,
        caller: Id,
    ) -> Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        let context = FormulaContext { now: Timestamp::now(), me: caller };
        let changes = |column: &&ColumnRow| match completing {
            Completing::Unchecked => false,
            Completing::NewRow => true,
            Completing::Edit(before) => before.differs_from(after, column.slot),
            Completing::Retype(before) => column.content_type_id.is_some() || before.differs_from(after, column.slot),
        };
        let changed: HashSet<Id> = self.rows.iter().filter(changes).map(|column| column.id).collect();
        let mut steps = self.steps();
        let begun = steps;
        for check in &self.checks {
            let column = &self.rows[check.column];
            if check.reads.is_disjoint(&changed) || !change.concerns(column) {
                continue;
            }
            let value = |id| self.value(after, id, change);
            let reason = match check.formula.evaluate_within(&value, &context, &mut steps) {
                Outcome::Value(ColumnValue::YesNo(false)) if check.message.is_empty() => {
                    let text = check.formula.text(&formula_columns(&self.rows));
                    match text.char_indices().nth(MAX_SHOWN) {
                        Some((end, _)) => format!("the values do not fulfil {}…", &text[..end]),
                        None => format!("the values do not fulfil {text}"),
                    }
                }
                Outcome::Value(ColumnValue::YesNo(false)) => check.message.clone(),
                Outcome::Error(fault) => {
                    format!("the check cannot be computed for these values ({}): correct them", fault.as_str())
                }
                Outcome::Value(_) | Outcome::Empty => continue,
            };
            self.work.set(self.work.get().saturating_sub(begun - steps));
            return Err(Error::invalid(format!("{}: {reason}", column.name))
                .with_code(Code::CheckFailed)
                .naming(&[column.name.as_str(), reason.as_str()]));
        }
        self.work.set(self.work.get().saturating_sub(begun - steps));
        Ok(())
    }

    /// Returns the value that a formula reads. A field of a content type that the item does not have is empty to it.
    fn value(&self, fields: &Fields, id: Id, change: &FieldChange<'_>) -> Option<ColumnValue> {
        let column = self.find(id).filter(|column| change.concerns(column))?;
        // A field that its column cannot have counts as empty here. Reading the item reports it.
        fields.get(column.slot, &column.kind).ok().flatten()
    }
}

/// Takes the bytes of a text from those that are left, and returns whether they were enough.
fn takes_room(value: &ColumnValue, room: &mut usize) -> bool {
    let bytes = if let ColumnValue::Text(text) = value { text.len() } else { 0 };
    let fits = bytes <= *room;
    *room -= if fits { bytes } else { 0 };
    fits
}
