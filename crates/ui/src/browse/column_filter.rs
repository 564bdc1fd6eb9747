//! The filter of one column of a listing, which the menu at its title opens.

use axum::extract::{Path, Query, RawQuery};
use axum::response::{IntoResponse, Redirect};
use model::{ColumnKind, Error, Result};
use repository::{Item, Target};
use serde::Deserialize;

use super::heads::label;
use super::value_test::in_language;
use super::view::{Key, View};
use super::view_form::{kinds, value_field};
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::item::find;
use crate::frame::page::html;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::wording::{entries, people};

/// Query parameters: the column. The others are those of the listing.
#[derive(Deserialize)]
pub struct Chosen {
    column: String,
}

/// Shows the form.
pub async fn ask(
    visit: Visit,
    Path(id): Path<String>,
    Query(Chosen { column: word }): Query<Chosen>,
    RawQuery(query): RawQuery,
) -> PageResult {
    let place = find(&visit, &id).await?;
    let (key, view) = (parse(&word)?, View::parse(&query.unwrap_or_default()));
    let (name, mut fields) = fields_of(&visit, &place, key, &view).await?;
    fields.push(Field::hidden("column", &word));
    fields.push(Field::hidden("query", view.query()));
    Ok(html(&Form {
        page: &visit.page,
        title: visit.page.f1("head.filter-of", &name),
        icon: icon("filter"),
        action: format!("/items/{}/filter", place.id),
        fields,
        submit: visit.page.s("view.apply").into(),
        danger: false,
        back: listing(&place, &view),
        fault: String::new(),
    }))
}

fn parse(word: &str) -> Result<Key> {
    let none = || Error::not_found("listings cannot be filtered by this column");
    Key::parse(word).filter(|key| key.can_be_filtered()).ok_or_else(none)
}

/// Returns the name of a column, and the fields for its filter.
async fn fields_of(visit: &Visit, place: &Item, key: Key, view: &View) -> Result<(String, Vec<Field>)> {
    let (page, session, target) = (&visit.page, &visit.session, Target::Id(place.id));
    let name = label(page, key).to_owned();
    let fields = match key {
        Key::Type => {
            let types = session.media_types(&target).await?;
            vec![Field::of("kind", &name, Input::Select(kinds(page, view, types)))]
        }
        Key::By => {
            let mut field = Field::of("who", &name, Input::Person(people::suggestions(session).await?));
            field.value.clone_from(&view.who);
            vec![field]
        }
        Key::Own(id) => {
            let (columns, _) = session.columns(&target).await?;
            let column = columns.iter().find(|column| column.id == id);
            let column = column.ok_or_else(|| Error::not_found("there is no such column any more"))?;
            let suggested = match column.kind.single() {
                ColumnKind::Lookup(list) => Input::Suggest(entries::suggestions(session, *list).await?),
                ColumnKind::Person => Input::Person(people::suggestions(session).await?),
                _ => Input::Line("text"),
            };
            return Ok((column.name.clone(), vec![value_field(page, view, column, suggested)]));
        }
        Key::Modified => {
            let day = |name, label, value: &String| {
                let mut field = Field::of(name, label, Input::Line("date"));
                field.value.clone_from(value);
                field
            };
            let [from, to] = &view.days;
            vec![day("from", page.s("filter.from"), from), day("to", page.s("filter.to"), to)]
        }
        Key::Size | Key::Created | Key::Version => Vec::new(),
    };
    Ok((name, fields))
}

/// Redirects from the form to the listing.
pub async fn apply(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let place = find(&visit, &id).await?;
    let key = parse(&fields.text("column"))?;
    let view = with_filter(&visit, key, &fields);
    Ok(Redirect::to(&listing(&place, &view)).into_response())
}

/// Returns the view that a form was opened on, with the filter that it asks for.
fn with_filter(visit: &Visit, key: Key, fields: &Fields) -> View {
    let mut view = View::parse(&fields.text("query")).without_filter(key);
    match key {
        Key::Own(id) => {
            let typed = fields.trimmed(&format!("f-{id}"));
            // All numbers of a filter are in one language.
            let own = visit.page.language;
            let typed = match view.language {
                Some(language) => in_language(&typed, own, language),
                None => typed,
            };
            view.set(&format!("f-{id}"), &typed);
        }
        _ => {
            for name in ["kind", "who", "from", "to"] {
                if fields.pairs().any(|(key, _)| key == name) {
                    view.set(name, &fields.trimmed(name));
                }
            }
        }
    }
    view
}

fn listing(place: &Item, view: &View) -> String {
    format!("{}?{}", address::browse(&place.path), view.query())
}
