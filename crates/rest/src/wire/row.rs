//! Rows of lists.

use std::collections::{BTreeMap, HashMap};

use model::{ColumnValue, Error, Id, Result, Total};
use repository::{Item, RowChange, RowOutcome, RowRevision, etag, version_of_etag};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::IdText;
use super::column::{self, NamedColumns};
use super::item::{Names, PersonJson};
use http_core::protocol::time;
use http_core::server::error;
use http_core::transfer::rows_csv::Report;

/// A new list.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewList {
    /// Name.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Name of the column that gives the rows their titles; `Title` when absent.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::ItemName>)]
    pub title_column: Option<String>,
    /// Name of the template to make it from.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::TemplateName>)]
    pub template: Option<String>,
    /// Language of the template's names and choices; English when absent.
    #[serde(default)]
    #[schema(value_type = super::rules::LanguageTag)]
    pub language: String,
}

/// A row of a list.
#[derive(Serialize, ToSchema)]
pub struct RowJson {
    /// Identifier.
    pub id: String,
    /// Number of the row in its list.
    pub number: String,
    /// Title: the value of the list's title column. Null for callers who may not open the row.
    pub title: Option<String>,
    /// Entity tag of the row's revision, without quotes.
    pub etag: String,
    /// Time of the last change; null for callers who may not open the row.
    pub modified_at: Option<String>,
    /// User who changed it.
    pub modified_by: Option<PersonJson>,
    /// Number of attachments that the caller may see; null for callers who may not open the row. They are the children
    /// of the row.
    pub attachments: Option<u64>,
    /// Values by column identifier. Empty fields are left out. An array for a column that takes several values.
    pub values: BTreeMap<String, Value>,
}

/// A total of a column.
#[derive(Serialize, ToSchema)]
pub struct TotalJson {
    /// Identifier of the column.
    pub column: String,
    /// `count`, `sum`, `average`, `min` or `max`.
    pub total: &'static str,
    /// A number or a time; null if the column has no values, or if they are too large together.
    pub value: Option<Value>,
}

impl TotalJson {
    /// Returns the JSON form of a total.
    pub fn new(column: Id, total: Total, value: Option<ColumnValue>) -> Self {
        Self { column: column.to_string(), total: total.as_str(), value: value.map(column::json) }
    }
}

impl RowJson {
    /// Returns a row with its values.
    pub fn of(item: &Item, values: BTreeMap<String, Value>, names: &Names) -> Self {
        let opens = item.rights.has(model::Right::View);
        Self {
            id: item.id.to_string(),
            number: item.name.clone(),
            title: item.title.clone(),
            etag: item.etag(),
            modified_at: opens.then(|| time::format(item.modified_at)),
            modified_by: opens.then(|| names.optional_person(item.modified_by)).flatten(),
            attachments: item.attachments,
            values,
        }
    }
}

/// Values of a new row.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRow {
    /// Values by name or identifier of the column; an array for a column that takes several.
    pub values: HashMap<String, Value>,
}

/// Changes to the rows of a list.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RowChanges {
    /// True if no change is to be made unless all can be.
    #[serde(default)]
    pub atomic: bool,
    /// Up to 1,000 changes.
    #[schema(max_items = 1000)]
    pub changes: Vec<RowChangeForm>,
}

/// One change: without `id` a new row, with `delete` a deletion, otherwise an edit.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RowChangeForm {
    /// The row.
    #[serde(default)]
    pub id: Option<IdText>,
    /// Entity tag of the revision that the change is based on, without quotes.
    #[serde(default)]
    #[schema(value_type = Option<super::rules::RowTag>)]
    pub etag: Option<String>,
    /// Values as the author of the change saw them, by name or identifier of the column, for every column in `set`. If
    /// `etag` is not that of the present revision, the row is edited only as long as these values are unchanged.
    #[serde(default)]
    pub was: HashMap<String, Value>,
    /// New values by name or identifier of the column, as for a new row; null empties a field.
    #[serde(default)]
    pub set: HashMap<String, Value>,
    /// True to move the row to the recycle bin.
    #[serde(default)]
    pub delete: bool,
}

impl RowChangeForm {
    /// Converts the form for the columns of the list.
    pub fn change(self, columns: &NamedColumns) -> Result<RowChange> {
        let revision = self.etag.as_deref().map(version_of_etag).transpose()?;
        let set = column::values_of(columns, self.set)?;
        Ok(match self.id {
            None if self.delete || self.etag.is_some() || !self.was.is_empty() => {
                return Err(Error::invalid("a change without `id` adds a row: it has only the field `set`"));
            }
            None => RowChange::Add { set },
            Some(_) if self.delete && (!set.is_empty() || !self.was.is_empty()) => {
                return Err(Error::invalid("a change with `delete` sets no values: leave out `set` and `was`"));
            }
            Some(IdText(row)) if self.delete => RowChange::Delete { row, revision },
            Some(IdText(row)) => RowChange::Edit { row, revision, was: column::values_of(columns, self.was)?, set },
        })
    }
}

/// The outcomes of changes to rows.
#[derive(Serialize, ToSchema)]
pub struct RowOutcomes {
    /// False if the changes were atomic and one of them was refused, so that none was made.
    pub applied: bool,
    /// The outcome of each change, in the order of the request.
    pub outcomes: Vec<RowOutcomeJson>,
}

/// The outcome of one change.
#[derive(Serialize, ToSchema)]
pub struct RowOutcomeJson {
    /// The row; null for one that was not added.
    pub id: Option<String>,
    /// Entity tag after the change, or the present one if the change was refused.
    pub etag: Option<String>,
    /// The status that the change would have had alone; 424 if it was not made because of another one.
    pub status: u16,
    /// Stable error code; null on success.
    pub code: Option<&'static str>,
    /// Reason for the refusal; null on success.
    pub detail: Option<String>,
    /// After a conflict: the present values of the fields that the change was to set, by column identifier.
    pub present: BTreeMap<String, Value>,
}

impl RowOutcomeJson {
    /// Returns the outcome of a change that was made, refused, or left out with the others (`applied` is false).
    pub fn of(outcome: RowOutcome, applied: bool, success: u16) -> Self {
        let status = match &outcome.error {
            Some(error) => error::status(error).as_u16(),
            None if applied => success,
            None => 424,
        };
        let present = outcome.present.into_iter();
        Self {
            id: outcome.row.map(|id| id.to_string()),
            etag: outcome.revision.map(etag),
            status,
            code: outcome.error.as_ref().map(|error| error.code().as_str()),
            detail: outcome.error.as_ref().map(|error| error.message().to_owned()),
            present: present.map(|(id, value)| (id.to_string(), value.map_or(Value::Null, column::json))).collect(),
        }
    }
}

/// What an import did.
#[derive(Serialize, ToSchema)]
pub struct ImportReport {
    /// Rows in the file.
    pub rows: usize,
    /// Rows that were added.
    pub added: usize,
    /// Rows of the list that were changed, or had these values already.
    pub changed: usize,
    /// Rows that were refused.
    pub refused: usize,
    /// The first of them, at most 100.
    pub refusals: Vec<ImportRefusal>,
}

/// A row that was refused.
#[derive(Serialize, ToSchema)]
pub struct ImportRefusal {
    /// Line of the file in which the row begins, counted from 1.
    pub line: u64,
    /// Stable error code.
    pub code: &'static str,
    /// Reason for the refusal.
    pub detail: String,
}

impl From<Report> for ImportReport {
    fn from(report: Report) -> Self {
        let refusals = report.refusals.into_iter().map(|refusal| ImportRefusal {
            line: refusal.line,
            code: refusal.error.code().as_str(),
            detail: refusal.error.message().to_owned(),
        });
        Self {
            rows: report.rows,
            added: report.added,
            changed: report.changed,
            refused: report.refused,
            refusals: refusals.collect(),
        }
    }
}

/// A revision of a row.
#[derive(Serialize, ToSchema)]
pub struct RevisionJson {
    /// Entity tag that the row has, or had, in this revision, without quotes.
    pub etag: String,
    /// Number among the revisions of the row, from 1.
    pub number: u32,
    /// Time at which it was stored.
    pub at: String,
    /// User who stored it.
    pub by: PersonJson,
    /// Values by column identifier.
    pub values: BTreeMap<String, Value>,
}

impl RevisionJson {
    /// Returns a revision.
    pub fn of(revision: RowRevision, names: &Names) -> Self {
        Self {
            etag: etag(revision.id),
            number: revision.number,
            at: time::format(revision.at),
            by: names.person(revision.by),
            values: column::json_of(revision.values),
        }
    }
}
