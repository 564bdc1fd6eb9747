//! What a document has in the columns of its library.

use axum::extract::Path;
use model::{ColumnKind, ColumnValue, Error, Id, Result, Timestamp};
use repository::{Column, Item, Session, Target};
use time::OffsetDateTime;
use time::macros::format_description;

use super::caller::{Fields, Sent, Visit};
use super::fault::Shown;
use super::flash::{Flash, done};
use super::form::{Choice, Field, Form, Input};
use super::format::{self, icon};
use super::page::Page;
use super::{address, change, html, people, refuse};

/// Names of the fields; there can be 200 columns, and a form's field names are constants elsewhere.
fn field_name(column: Id) -> String {
    format!("column-{column}")
}

async fn form<'a>(page: &'a Page, session: &Session, item: &Item, columns: &[Column]) -> Result<Form<'a>> {
    let values = session.values(&Target::Id(item.id)).await?;
    let mut fields = Vec::new();
    for column in columns {
        let value = values.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value);
        let mut field = field(page, session, column, value).await?;
        field.name = field_name(column.id).into();
        fields.push(field);
    }
    Ok(Form {
        page,
        title: page.s("action.edit-columns").into(),
        icon: icon("columns"),
        action: format!("/items/{}/values", item.id),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: address::browse(&item.path),
        fault: String::new(),
    })
}

async fn field(page: &Page, session: &Session, column: &Column, value: Option<&ColumnValue>) -> Result<Field> {
    let text = match value {
        Some(ColumnValue::Text(text)) => text.clone(),
        Some(ColumnValue::Number(number)) => number.to_string(),
        Some(ColumnValue::Date(time)) => format::date(*time),
        Some(ColumnValue::Person(id)) => people::login_or_name(session, *id).await?,
        Some(ColumnValue::YesNo(_)) | None => String::new(),
    };
    let label = column.name.as_str();
    let mut field = match &column.kind {
        ColumnKind::Text => Field::of("", label, Input::Lines),
        ColumnKind::Number => Field::of("", label, Input::Line("text")),
        ColumnKind::Date => Field::of("", label, Input::Line("date")),
        ColumnKind::Link => Field::of("", label, Input::Line("url")),
        ColumnKind::Person => Field::of("", label, Input::Suggest(people::suggestions(session).await?)),
        ColumnKind::YesNo => {
            let now = if let Some(ColumnValue::YesNo(yes)) = value { Some(*yes) } else { None };
            let choices =
                [("", "–", None), ("yes", page.s("word.yes"), Some(true)), ("no", page.s("word.no"), Some(false))];
            Field::of("", label, Input::Select(choices.map(|(v, l, is)| Choice::new(v, l, is == now)).into()))
        }
        ColumnKind::Choice(choices) => {
            let empty = Choice::new("", "–", text.is_empty());
            let all = choices.iter().map(|choice| Choice::new(choice, choice, *choice == text));
            Field::of("", label, Input::Select(std::iter::once(empty).chain(all).collect()))
        }
    };
    field.value = text;
    Ok(field)
}

/// The form.
pub async fn show(visit: Visit, Path(id): Path<String>) -> Shown {
    let item = change::find(&visit, &id).await?;
    let (columns, _) = visit.session.columns(&Target::Id(item.id)).await?;
    Ok(html(&form(&visit.page, &visit.session, &item, &columns).await?))
}

/// Stores what was filled in.
pub async fn save(Path(id): Path<String>, sent: Sent) -> Shown {
    let Sent { visit, fields } = sent;
    let item = change::find(&visit, &id).await?;
    let target = Target::Id(item.id);
    let (columns, _) = visit.session.columns(&target).await?;
    let stored = match read(&visit.session, &fields, &columns).await {
        Ok(values) => visit.session.set_values(&target, values, None).await,
        Err(error) => Err(error),
    };
    match stored {
        Ok(()) => Ok(done(&address::browse(&item.path), &Flash::new("toast.saved", item.name))),
        Err(error) => refuse::again(form(&visit.page, &visit.session, &item, &columns).await?, error),
    }
}

async fn read(session: &Session, fields: &Fields, columns: &[Column]) -> Result<Vec<(Id, Option<ColumnValue>)>> {
    let mut values = Vec::new();
    for column in columns {
        let text = fields.trimmed(&field_name(column.id));
        let value = if text.is_empty() { None } else { Some(parse(session, column, text).await?) };
        values.push((column.id, value));
    }
    Ok(values)
}

async fn parse(session: &Session, column: &Column, text: String) -> Result<ColumnValue> {
    let bad = |what: &str| Error::invalid(format!("\"{}\" must be {what}", column.name)).with_code("invalid_value");
    Ok(match column.kind {
        ColumnKind::Text | ColumnKind::Choice(_) | ColumnKind::Link => ColumnValue::Text(text),
        // A decimal comma is what a German keyboard has.
        ColumnKind::Number => ColumnValue::Number(text.replace(',', ".").parse().map_err(|_| bad("a number"))?),
        ColumnKind::Date => ColumnValue::Date(parse_date(&text).ok_or_else(|| bad("a date such as 2026-11-21"))?),
        ColumnKind::Person => ColumnValue::Person(people::find(session, &text).await?),
        ColumnKind::YesNo => ColumnValue::YesNo(text == "yes"),
    })
}

/// The beginning of a day in UTC, from `2026-11-21`.
pub fn parse_date(text: &str) -> Option<Timestamp> {
    let date = time::Date::parse(text, format_description!("[year]-[month]-[day]")).ok()?;
    let seconds = OffsetDateTime::new_utc(date, time::Time::MIDNIGHT).unix_timestamp();
    Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_browsers_send_them() {
        assert_eq!(parse_date("2026-11-21").map(format::date).as_deref(), Some("2026-11-21"));
        for bad in ["", "21.11.2026", "2026-13-01", "2026-02-30", "now"] {
            assert_eq!(parse_date(bad), None, "{bad}");
        }
    }
}
