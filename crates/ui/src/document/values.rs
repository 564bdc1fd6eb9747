//! Column values of a document: the form for all columns, and the one for a single column edited in a listing.

use axum::extract::Path;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use model::{Code, ColumnKind, ColumnValue, Error, ErrorKind, Id, MAX_VALUES_PER_FIELD, NodeKind, Result, Right};
use repository::{Column, ContentType, Item, Session, Target, ValueNames, ValuesChange};
use serde_json::json;

use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, item, refuse, value_format};
use crate::wording::cells::CellColumn;
use crate::wording::{cells, entries, people};
use http_core::server::error;
use http_core::transfer::typed;
use http_core::transfer::value_list::{self, ListFault};

/// Returns the form field's name for a column. Other forms have constant field names, but a library can have 200
/// columns.
pub fn field_name(column: Id) -> String {
    format!("column-{column}")
}

/// Returns the text that a form has for a column. Of ticked choices, those that the item had before stay in their
/// order.
pub fn typed(fields: &Fields, column: &Column) -> String {
    let name = field_name(column.id);
    if !column.kind.takes_multiple() || !matches!(column.kind.single(), ColumnKind::Choice(_)) {
        return fields.text(&name);
    }
    let was = fields.text(&format!("was-{}", column.id));
    let was = value_list::split(&was, MAX_VALUES_PER_FIELD).unwrap_or_default();
    let ticked = fields.all(&name).filter(|choice| !choice.is_empty());
    // One too many is refused later.
    let mut ticked: Vec<&str> = ticked.take(MAX_VALUES_PER_FIELD + 1).collect();
    ticked.sort_by_key(|choice| was.iter().position(|before| before == choice).unwrap_or(usize::MAX));
    value_list::join(ticked)
}

/// Subject of the form.
struct Subject {
    item: Item,
    columns: Vec<Column>,
    types: Vec<ContentType>,
    /// True if only one column is edited.
    single: bool,
}

/// Finds the item with its columns: those of the content type that it is to get, if a form says so.
async fn subject(visit: &Visit, id: &str, column: Option<&str>, content_type: Option<Option<Id>>) -> Result<Subject> {
    let mut item = item::find(visit, id).await?;
    let (mut columns, types) = visit.session.columns(&Target::Id(item.id)).await?;
    columns.retain(|column| !column.is_calculated());
    if column.is_none()
        && let Some(wanted) = content_type
    {
        item.content_type_id = wanted;
    }
    columns.retain(|column| cells::applies(&item, column));
    let Some(column) = column else { return Ok(Subject { item, columns, types, single: false }) };
    let id: Id = column.parse()?;
    columns.retain(|column| column.id == id);
    if columns.is_empty() {
        return Err(Error::not_found("the item has no such column"));
    }
    Ok(Subject { item, columns, types: Vec::new(), single: true })
}

/// Returns the form. After a refusal, it contains the user's input.
async fn form<'a>(visit: &'a Visit, subject: &Subject, typed: Option<&Fields>) -> Result<Form<'a>> {
    let (page, item) = (&visit.page, &subject.item);
    let target = Target::Id(item.id);
    let values = visit.session.values(&target).await?;
    let names = names_of(&visit.session, &target, &values).await?;
    let mut fields = Vec::new();
    for column in &subject.columns {
        let value = values.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value);
        let name = field_name(column.id);
        let present = cells::edited(page, &names, value);
        let mut was = Field::hidden("", &present);
        was.name = format!("was-{}", column.id).into();
        let text = match typed.filter(|typed| was_shown(typed, column)) {
            Some(typed) => self::typed(typed, column),
            None => present,
        };
        let mut field = field(page, &visit.session, column, text).await?;
        if subject.item.kind == NodeKind::Row {
            field = in_one_line(column, field);
        }
        field.name = name.into();
        field.required = column.required && subject.item.kind == NodeKind::Row;
        fields.extend([field, was]);
    }
    if !subject.types.is_empty() {
        let chosen = |id: Option<Id>| id == item.content_type_id;
        let none = Choice::new("", "–", chosen(None));
        let all = subject.types.iter().map(|kind| Choice::new(kind.id.to_string(), &kind.name, chosen(Some(kind.id))));
        let choices = std::iter::once(none).chain(all).collect();
        fields.push(Field::of("content_type", page.s("column.content-type"), Input::Select(choices)));
    }
    let own = subject.columns.first().filter(|_| subject.single);
    let action = format!("/items/{}/values", item.id);
    Ok(Form {
        page,
        title: own.map_or_else(
            || page.s("action.edit-columns").to_owned(),
            |own| page.f2("column.of", &own.name, item.shown_name()),
        ),
        icon: icon("columns"),
        action: own.map_or_else(|| action.clone(), |own| format!("{action}/{}", own.id)),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: back(subject),
        fault: String::new(),
    })
}

/// Returns the names of what the values of an item stand for.
pub async fn names_of(session: &Session, target: &Target, values: &[(Id, ColumnValue)]) -> Result<ValueNames> {
    session.value_names(target, &values.iter().map(|(_, value)| value).collect::<Vec<_>>()).await
}

/// Returns the page to go back to. A single value is edited in a listing, so that is the page of the parent.
fn back(subject: &Subject) -> String {
    if subject.single { item::parent_page(&subject.item) } else { address::browse(&subject.item.path) }
}

/// Turns the field of a text in a row into a single line, unless its text has several. Libraries have no notes of
/// their own from earlier versions, so their texts may be long.
pub fn in_one_line(column: &Column, field: Field) -> Field {
    match column.kind {
        ColumnKind::Text if !field.value.contains('\n') => Field { input: Input::Line("text"), ..field },
        _ => field,
    }
}

/// Returns the field for a value of a column.
pub async fn field(page: &Page, session: &Session, column: &Column, text: String) -> Result<Field> {
    let label = column.name.as_str();
    let several = column.kind.takes_multiple();
    let mut field = match column.kind.single() {
        ColumnKind::Text | ColumnKind::Note => Field::of("", label, Input::Lines),
        ColumnKind::Number => Field::of("", label, Input::Line("text")),
        ColumnKind::Date => Field::of("", label, Input::Line("date")),
        ColumnKind::Link => Field::of("", label, Input::Line("text")),
        ColumnKind::Person => Field::of("", label, Input::Person(people::suggestions(session).await?)),
        ColumnKind::Lookup(list) => Field::of("", label, Input::Suggest(entries::suggestions(session, *list).await?)),
        ColumnKind::YesNo => {
            let choices = [("", "–"), ("yes", page.s("word.yes")), ("no", page.s("word.no"))];
            Field::of(
                "",
                label,
                Input::Select(choices.map(|(word, label)| Choice::new(word, label, word == text)).into()),
            )
        }
        ColumnKind::Choice(choices) if several => {
            // One too many stays ticked in the form that says so.
            let ticked = value_list::split(&text, MAX_VALUES_PER_FIELD + 1).unwrap_or_default();
            let all = with_stored(choices, &ticked);
            let all = all.map(|choice| Choice::new(choice, choice, ticked.contains(choice)));
            Field::of("", label, Input::Ticks(all.collect()))
        }
        ColumnKind::Choice(choices) => {
            let empty = Choice::new("", "–", text.is_empty());
            let stored = Some(text.clone()).filter(|text| !text.is_empty());
            let all = with_stored(choices, stored.as_slice());
            let all = all.map(|choice| Choice::new(choice, choice, *choice == text));
            Field::of("", label, Input::Select(std::iter::once(empty).chain(all).collect()))
        }
        ColumnKind::Multiple(_) => Field::of("", label, Input::Line("text")),
    };
    field.value = text;
    field.hint.clone_from(&column.options.description);
    if several && !matches!(field.input, Input::Ticks(_)) {
        let hints = [field.hint.as_str(), page.s("column.multiple-typed")];
        field.hint = hints.into_iter().filter(|hint| !hint.is_empty()).collect::<Vec<_>>().join(" ");
    }
    Ok(field)
}

/// Returns the choices of a column, behind which those follow that an item still has and nobody can choose any more.
fn with_stored<'a>(choices: &'a [String], stored: &'a [String]) -> impl Iterator<Item = &'a String> {
    choices.iter().chain(stored.iter().filter(|value| !choices.contains(value)))
}

/// Shows the form for all columns.
pub async fn show(visit: Visit, Path(id): Path<String>) -> PageResult {
    let subject = subject(&visit, &id, None, None).await?;
    item::require(&subject.item, Right::Edit)?;
    Ok(html(&form(&visit, &subject, None).await?))
}

/// Shows the form for one column.
pub async fn show_one(visit: Visit, Path((id, column)): Path<(String, String)>) -> PageResult {
    let subject = subject(&visit, &id, Some(&column), None).await?;
    item::require(&subject.item, Right::Edit)?;
    Ok(html(&form(&visit, &subject, None).await?))
}

/// Stores the values of all columns.
pub async fn save(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let subject = subject(&sent.visit, &id, None, wanted_type(&sent.fields)?).await?;
    match store(&sent, &subject).await {
        Ok(()) => Ok(done(&back(&subject), &Flash::new("toast.saved", subject.item.shown_name()))),
        Err(error) => refuse::show_form_again(form(&sent.visit, &subject, Some(&sent.fields)).await?, error),
    }
}

/// Stores the value of one column. Scripts receive the new cell, or the error in the user's language.
pub async fn save_one(
    Path((id, column)): Path<(String, String)>,
    headers: HeaderMap,
    sent: SubmittedForm,
) -> PageResult {
    let script = headers.get(header::ACCEPT).is_some_and(|kind| kind == "application/problem+json");
    let visit = &sent.visit;
    let subject = subject(visit, &id, Some(&column), None).await?;
    match store(&sent, &subject).await {
        Ok(()) if script => fresh_cell(visit, &id, &column).await,
        Ok(()) => Ok(done(&back(&subject), &Flash::new("toast.saved", subject.item.shown_name()))),
        Err(error) if script => Ok(problem(&visit.page, &error)),
        Err(error) => refuse::show_form_again(form(visit, &subject, Some(&sent.fields)).await?, error),
    }
}

async fn fresh_cell(visit: &Visit, id: &str, column: &str) -> PageResult {
    let subject = subject(visit, id, Some(column), None).await?;
    let values = visit.session.values(&Target::Id(subject.item.id)).await?;
    let names = names_of(&visit.session, &Target::Id(subject.item.id), &values).await?;
    let column = subject.columns.first().ok_or_else(|| Error::not_found("the item has no such column"))?;
    let value = values.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value);
    let me = visit.session.principal().id;
    let (of, address) = (CellColumn::new(&visit.page, column), cells::item_address(subject.item.id));
    Ok(html(&cells::cell(&visit.page, me, (&subject.item, &address), &of, value, &names)))
}

/// Returns a refusal as a problem document in the user's language, for scripts.
pub fn problem(page: &Page, cause: &Error) -> Response {
    let status = error::status(cause);
    error::log(cause, status);
    let body = json!({"detail": refuse::message_for(page, cause)}).to_string();
    (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response()
}

async fn store(sent: &SubmittedForm, subject: &Subject) -> Result<()> {
    let (visit, fields) = (&sent.visit, &sent.fields);
    let target = Target::Id(subject.item.id);
    let present = visit.session.values(&target).await?;
    let names = names_of(&visit.session, &target, &present).await?;
    let (mut values, mut was) = (Vec::new(), Vec::new());
    let is_single = subject.single;
    for column in subject.columns.iter().filter(|column| is_single || was_shown(fields, column)) {
        let now = present.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value);
        if refuse_overtaken(&visit.page, fields, column, cells::edited(&visit.page, &names, now))? {
            was.push((column.id, now.cloned()));
        }
        let text = typed(fields, column).trim().to_owned();
        let value = match text.is_empty() {
            true => None,
            // What was not changed stays what it is: its text can stand for something else by now, or for a choice that
            // the column no longer has.
            false if text == cells::edited(&visit.page, &names, now).trim() => {
                let kept = now.map(|now| cells::kept(now, &names));
                if kept.as_ref() == now {
                    continue;
                }
                kept
            }
            false => Some(read(visit, column, text).await?),
        };
        values.push((column.id, value));
    }
    let content_type = wanted_type(fields)?.filter(|_| !subject.types.is_empty());
    visit
        .session
        .set_values(&Target::Id(subject.item.id), ValuesChange { values, was, content_type, ..ValuesChange::default() })
        .await
}

/// Returns the content type that a form gives an item; `None` for a form without the field.
fn wanted_type(fields: &Fields) -> Result<Option<Option<Id>>> {
    match fields.all("content_type").next() {
        None => Ok(None),
        Some("") => Ok(Some(None)),
        Some(id) => Ok(Some(Some(id.parse()?))),
    }
}

/// Returns whether a form had the field of a column. It lacks the columns of a content type that was chosen in it.
fn was_shown(fields: &Fields, column: &Column) -> bool {
    fields.all(&format!("was-{}", column.id)).next().is_some() || fields.all(&field_name(column.id)).next().is_some()
}

/// Refuses when another user has changed the value since the form was opened, unless to the same value as typed. The
/// form with the error contains the new value, so saving it again overwrites that. Returns whether the form included
/// the old value.
fn refuse_overtaken(page: &Page, fields: &Fields, column: &Column, now: String) -> Result<bool> {
    let was = format!("was-{}", column.id);
    if fields.all(&was).next().is_none() {
        return Ok(false);
    }
    if now == fields.text(&was) || now.trim() == typed(fields, column).trim() {
        return Ok(true);
    }
    let shown = if now.is_empty() { "–".to_owned() } else { now };
    Err(Error::conflict(page.f2("column.overtaken", &column.name, shown)).with_code(Code::Overtaken))
}

/// Parses the input for a column. An error names the column in the user's language.
pub async fn read(visit: &Visit, column: &Column, text: String) -> Result<ColumnValue> {
    if !column.kind.takes_multiple() {
        return read_one(visit, column, text).await;
    }
    let mut values = Vec::new();
    for part in split(&visit.page, column, &text)? {
        values.push(read_one(visit, column, part).await?);
    }
    joined(&visit.page, column, values)
}

/// Splits the input for a column that takes several values.
pub fn split(page: &Page, column: &Column, text: &str) -> Result<Vec<String>> {
    value_list::split(text, MAX_VALUES_PER_FIELD).map_err(|fault| {
        let message = match fault {
            ListFault::TooMany => "misfit.too-many-values",
            ListFault::Quotes => "misfit.quotes",
        };
        Error::invalid(page.f1(message, &column.name)).with_code(Code::Misfit)
    })
}

/// Joins the values that were typed for a column that takes several.
pub fn joined(page: &Page, column: &Column, values: Vec<ColumnValue>) -> Result<ColumnValue> {
    let empty = || Error::invalid(page.f1("misfit.quotes", &column.name)).with_code(Code::Misfit);
    ColumnValue::joined(&column.kind, values).ok_or_else(empty)
}

/// Parses one value for a column, which may take several.
pub async fn read_one(visit: &Visit, column: &Column, text: String) -> Result<ColumnValue> {
    let (page, kind) = (&visit.page, column.kind.single());
    let misfit = || {
        let message = page.f1(&format!("misfit.{}", kind.as_str()), &column.name);
        Error::invalid(message).with_code(Code::Misfit)
    };
    let value = match kind {
        ColumnKind::Text | ColumnKind::Note | ColumnKind::Choice(_) => ColumnValue::Text(text),
        ColumnKind::Link => ColumnValue::Text(typed::link(text.trim()).into_owned()),
        ColumnKind::Number => ColumnValue::Number(value_format::read_number(page.language, &text).ok_or_else(misfit)?),
        ColumnKind::Date => ColumnValue::Date(typed::day(&text).ok_or_else(misfit)?),
        ColumnKind::Person => match visit.session.find_principal(&text).await {
            Ok(id) => ColumnValue::Person(id),
            Err(error) if error.code() == Code::UnknownPerson => return Err(misfit()),
            Err(error) => return Err(error),
        },
        ColumnKind::Lookup(list) => match visit.session.find_entry(*list, &text).await {
            Ok(id) => ColumnValue::Lookup(id),
            Err(error) if error.code() == Code::UnknownEntry || error.kind() == ErrorKind::NotFound => {
                return Err(misfit());
            }
            Err(error) => return Err(error),
        },
        ColumnKind::YesNo => ColumnValue::YesNo(text == "yes"),
        ColumnKind::Multiple(_) => return Err(misfit()),
    };
    kind.check(&value).map_err(|_| misfit())?;
    Ok(value)
}
