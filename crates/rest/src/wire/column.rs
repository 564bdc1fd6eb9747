//! Columns, content types and values.

use std::collections::{BTreeMap, HashMap};

use model::{Code, ColumnKind, ColumnValue, Error, Id, MAX_VALUES_PER_FIELD, Name, Result};
use repository::{Column, ColumnChange, ColumnOptions, ContentType};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use http_core::protocol::time;

use super::IdText;

/// A column of a library.
#[derive(Serialize, ToSchema)]
pub struct ColumnJson {
    /// Identifier.
    pub id: String,
    /// Name.
    pub name: String,
    /// `text`, `note`, `number`, `date`, `choice`, `person`, `yes-no`, `link` or `lookup`.
    pub kind: &'static str,
    /// Set when a field has several values: of choices, people, or entries of another list.
    pub multiple: bool,
    /// Options of a choice column.
    pub choices: Vec<String>,
    /// The list whose entries a lookup column takes; null for other kinds.
    pub list: Option<String>,
    /// Set when a row cannot be saved, or a document checked in, without a value.
    pub required: bool,
    /// What the program uses the values for: `title` for the column that gives the rows of a list their titles.
    pub role: Option<&'static str>,
    /// The content type that the column belongs to; null if it applies to all documents.
    pub content_type: Option<String>,
    /// The formula of a calculated column; empty for a column that people fill in.
    pub formula: String,
    /// The formula that gives a new item its value if its author sets none; empty for none.
    pub default: String,
    /// The formula that must not give "no" for an item; empty for none.
    pub check: String,
    /// Message to authors whose values do not pass the check; empty for a message from the formula.
    pub message: String,
    /// Set when no two items may have the same value. Texts are compared by their first 100 characters, in whatever
    /// case.
    pub unique: bool,
    /// Description of what to enter.
    pub description: String,
}

impl From<Column> for ColumnJson {
    fn from(column: Column) -> Self {
        Self {
            id: column.id.to_string(),
            name: column.name,
            kind: column.kind.as_str(),
            multiple: column.kind.takes_multiple(),
            choices: match column.kind.single() {
                ColumnKind::Choice(choices) => choices.clone(),
                _ => Vec::new(),
            },
            list: match column.kind.single() {
                ColumnKind::Lookup(list) => Some(list.to_string()),
                _ => None,
            },
            required: column.required,
            role: column.role.map(model::ColumnRole::as_str),
            content_type: column.content_type_id.map(|id| id.to_string()),
            formula: column.options.formula,
            default: column.options.default,
            check: column.options.check,
            message: column.options.message,
            unique: column.options.unique,
            description: column.options.description,
        }
    }
}

/// A content type of a library.
#[derive(Serialize, ToSchema)]
pub struct ContentTypeJson {
    /// Identifier.
    pub id: String,
    /// Name.
    pub name: String,
}

impl From<ContentType> for ContentTypeJson {
    fn from(content_type: ContentType) -> Self {
        Self { id: content_type.id.to_string(), name: content_type.name }
    }
}

/// The definition of a column to be created or changed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnForm {
    /// Name.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// `text`, `note`, `number`, `date`, `choice`, `person`, `yes-no`, `link` or `lookup`. An existing column keeps its
    /// kind.
    #[schema(value_type = super::rules::ColumnWord)]
    pub kind: String,
    /// Set when a field of a choice, person or lookup column has several values, 1 to 20. An existing column can have
    /// them from now on, but not lose them.
    #[serde(default)]
    pub multiple: bool,
    /// Options of a choice column.
    #[serde(default)]
    #[schema(value_type = Vec<super::rules::Choice>, max_items = 500)]
    pub choices: Vec<String>,
    /// The list whose entries a lookup column takes, in the same site collection. Needed for a lookup column, also when
    /// it is changed; the list itself cannot be changed.
    #[serde(default)]
    pub list: Option<IdText>,
    /// Set when a row cannot be saved, or a document checked in, without a value.
    #[serde(default)]
    pub required: bool,
    /// The content type that the column belongs to.
    #[serde(default)]
    pub content_type: Option<IdText>,
    /// The formula of a calculated column, such as `[Price] * [Pieces]`. A column has it from its creation, or never.
    #[serde(default)]
    #[schema(value_type = super::rules::Formula)]
    pub formula: String,
    /// The formula that gives a new item its value if its author sets none, such as `today() + 7`. It names no columns.
    #[serde(default)]
    #[schema(value_type = super::rules::Formula)]
    pub default: String,
    /// The formula that must not give "no" for an item, such as `[Due] >= [Begin]`.
    #[serde(default)]
    #[schema(value_type = super::rules::Formula)]
    pub check: String,
    /// Message to authors whose values do not pass the check.
    #[serde(default)]
    #[schema(value_type = super::rules::CheckMessage)]
    pub message: String,
    /// Set when no two items may have the same value.
    #[serde(default)]
    pub unique: bool,
    /// Description of what to enter.
    #[serde(default)]
    #[schema(value_type = super::rules::ColumnDescription)]
    pub description: String,
}

impl ColumnForm {
    /// Converts the form to the repository's type.
    pub fn change(self) -> Result<ColumnChange> {
        let choices = match &*self.kind {
            "lookup" => self.list.iter().map(|list| list.0.to_string()).collect(),
            _ => self.choices,
        };
        Ok(ColumnChange {
            name: Name::new(self.name)?,
            kind: ColumnKind::parse(&self.kind, choices)?.taking_multiple(self.multiple)?,
            required: self.required,
            content_type_id: self.content_type.map(|id| id.0),
            options: ColumnOptions {
                formula: self.formula,
                default: self.default,
                check: self.check,
                message: self.message,
                unique: self.unique,
                description: self.description,
            },
        })
    }
}

/// Column values of an item.
#[derive(Serialize, ToSchema)]
pub struct ValuesJson {
    /// Values by column identifier: a text, a number, `true` or `false`, a time, or the identifier of a person
    /// or of an entry of another list; an array of 1 to 20 of these for a column that takes several.
    pub values: BTreeMap<String, Value>,
    /// The item's content type.
    pub content_type: Option<String>,
}

/// Changes to the column values of an item.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ValuesForm {
    /// New values by name or identifier of the column; null clears a value. An array of 1 to 20 values for a column
    /// that takes several.
    #[serde(default)]
    pub values: HashMap<String, Value>,
    /// New content type; null removes it.
    #[serde(default, deserialize_with = "super::double_option")]
    #[schema(value_type = Option<super::rules::Identifier>)]
    pub content_type: Option<Option<IdText>>,
}

/// Returns the JSON form of values, by column identifier.
pub fn json_of(values: impl IntoIterator<Item = (Id, ColumnValue)>) -> BTreeMap<String, Value> {
    values.into_iter().map(|(column, value)| (column.to_string(), json(value))).collect()
}

/// Returns the JSON form of a value.
pub fn json(value: ColumnValue) -> Value {
    match value {
        ColumnValue::Text(text) => text.into(),
        ColumnValue::Number(number) => number.into(),
        ColumnValue::Date(at) => time::format(at).into(),
        ColumnValue::Person(id) | ColumnValue::Lookup(id) => id.to_string().into(),
        ColumnValue::YesNo(yes) => yes.into(),
        ColumnValue::Multiple(values) => values.into_iter().map(json).collect(),
    }
}

/// Parses a value for a column; null means no value.
pub fn value(column: &Column, value: Value) -> Result<Option<ColumnValue>> {
    if value.is_null() {
        return Ok(None);
    }
    let refused = |reason: String| Error::invalid(format!("{}: {reason}", column.name)).with_code(Code::InvalidValue);
    match (&column.kind, value) {
        (ColumnKind::Multiple(_), Value::Array(values)) if values.len() > MAX_VALUES_PER_FIELD => {
            Err(refused(format!("a field has at most {MAX_VALUES_PER_FIELD} values")))
        }
        (ColumnKind::Multiple(kind), Value::Array(values)) => {
            let values = values.into_iter().map(|value| one_value(column, kind, value));
            values.collect::<Result<_>>().map(ColumnValue::Multiple).map(Some)
        }
        (ColumnKind::Multiple(_), _) => Err(refused("the column takes several values: send an array".to_owned())),
        (kind, value) => one_value(column, kind, value).map(Some),
    }
}

/// Parses a value that is not several.
fn one_value(column: &Column, kind: &ColumnKind, value: Value) -> Result<ColumnValue> {
    let misfit = || {
        Error::invalid(format!("{}: the value does not fit a {} column", column.name, kind.as_str()))
            .with_code(Code::InvalidValue)
    };
    Ok(match (kind, value) {
        (ColumnKind::Text | ColumnKind::Note | ColumnKind::Choice(_) | ColumnKind::Link, Value::String(text)) => {
            ColumnValue::Text(text)
        }
        (ColumnKind::Number, Value::Number(number)) => ColumnValue::Number(number.as_f64().ok_or_else(misfit)?),
        (ColumnKind::Date, Value::String(text)) => ColumnValue::Date(time::parse_day(&text)?),
        (ColumnKind::Person, Value::String(text)) => ColumnValue::Person(text.parse::<Id>().map_err(|_| misfit())?),
        (ColumnKind::Lookup(_), Value::String(text)) => ColumnValue::Lookup(text.parse::<Id>().map_err(|_| misfit())?),
        (ColumnKind::YesNo, Value::Bool(yes)) => ColumnValue::YesNo(yes),
        _ => return Err(misfit()),
    })
}

/// Columns, found by name or identifier.
pub struct NamedColumns {
    by_id: HashMap<Id, Column>,
    by_name: HashMap<String, Id>,
}

impl NamedColumns {
    /// Prepares the search.
    pub fn new(columns: Vec<Column>) -> Self {
        let by_name = columns.iter().map(|column| (model::fold(&column.name), column.id)).collect();
        Self { by_id: columns.into_iter().map(|column| (column.id, column)).collect(), by_name }
    }

    fn len(&self) -> usize {
        self.by_id.len()
    }

    fn named(&self, word: &str) -> Option<&Column> {
        let by_id = word.parse().ok().and_then(|id| self.by_id.get(&id));
        by_id.or_else(|| self.by_id.get(self.by_name.get(&model::fold(word))?))
    }
}

/// Converts values by name or identifier of their columns.
///
/// # Errors
/// `NotFound` for an unknown column; `Invalid` for a column that is named twice, and for a value that does not fit.
pub fn values_of(columns: &NamedColumns, values: HashMap<String, Value>) -> Result<Vec<(Id, Option<ColumnValue>)>> {
    let mut found: Vec<(Id, Option<ColumnValue>)> = Vec::with_capacity(values.len().min(columns.len()));
    for (word, value) in values {
        let known = columns.named(&word).ok_or_else(|| {
            let shown: String = word.escape_debug().take(80).collect();
            Error::not_found(format!("there is no column \"{shown}\" here"))
        });
        let column = known?;
        if found.iter().any(|(id, _)| *id == column.id) {
            return Err(Error::invalid(format!("the column \"{}\" is named twice", column.name)));
        }
        found.push((column.id, self::value(column, value)?));
    }
    Ok(found)
}
