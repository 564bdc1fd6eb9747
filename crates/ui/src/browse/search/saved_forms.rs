//! Forms that save, change and delete a saved search, and mark its documents as seen.

use axum::extract::{Path, Query};
use model::{Id, Result, SearchAlert};
use repository::{HitOrder, SavedSearch, SearchToSave};
use serde::Deserialize;

use super::narrowing;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::refuse;
use crate::frame::visit::{SubmittedForm, Visit};

/// Limit on the characters of a query that are suggested as its name.
const MAX_SUGGESTED_NAME: usize = 60;

/// The search that is to be saved.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Wish {
    q: String,
    sort: String,
}

fn alerts(page: &Page, chosen: SearchAlert) -> Field {
    let choice = |alert: SearchAlert, label, hint| Choice::new(alert.as_str(), label, alert == chosen).hint(hint);
    let choices = vec![
        choice(SearchAlert::None, page.s("saved.alert.none"), ""),
        choice(SearchAlert::AtOnce, page.s("saved.alert.at-once"), page.s("saved.alert.at-once-hint")),
        choice(SearchAlert::Daily, page.s("saved.alert.daily"), page.s("saved.alert.daily-hint")),
    ];
    Field::of("alert", page.s("saved.alert-label"), Input::Radio(choices))
}

fn save_form<'a>(page: &'a Page, new: &SearchToSave) -> Form<'a> {
    Form {
        page,
        title: page.s("saved.save").into(),
        icon: icon("search"),
        action: "/searches".into(),
        fields: vec![
            Field::line("name", page.s("column.name"), &*new.name).required(),
            alerts(page, new.alert),
            Field::hidden("query", &*new.query),
            Field::hidden("sort", new.order.as_str()),
        ],
        submit: page.s("action.save").into(),
        danger: false,
        back: narrowing::address(&new.query, new.order),
        fault: String::new(),
    }
}

fn read(fields: &Fields) -> Result<SearchToSave> {
    let alert = match fields.trimmed("alert") {
        word if word.is_empty() => SearchAlert::None,
        word => SearchAlert::parse(&word)?,
    };
    let order = narrowing::order_of(&fields.trimmed("sort"));
    Ok(SearchToSave { name: fields.trimmed("name"), query: fields.trimmed("query"), order, alert })
}

/// Shows the form for saving a search.
pub async fn ask_save(visit: Visit, Query(wish): Query<Wish>) -> PageResult {
    let query = wish.q.trim().to_owned();
    let name = query.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_SUGGESTED_NAME).collect();
    let new = SearchToSave { name, query, order: narrowing::order_of(&wish.sort), alert: SearchAlert::AtOnce };
    Ok(html(&save_form(&visit.page, &new)))
}

/// Saves a search.
pub async fn save(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let new = read(&fields)?;
    match visit.session.save_search(new.clone()).await {
        Ok(_) => Ok(done(&narrowing::address(&new.query, new.order), &Flash::new("toast.saved", new.name))),
        Err(error) => refuse::show_form_again(save_form(&visit.page, &new), error),
    }
}

fn change_form<'a>(page: &'a Page, id: Id, new: &SearchToSave) -> Form<'a> {
    let order = |(order, label): (HitOrder, &'static str)| Choice::new(order.as_str(), label, order == new.order);
    let orders = narrowing::labelled_orders(page).map(order).collect();
    Form {
        page,
        title: page.s("saved.change").into(),
        icon: icon("search"),
        action: format!("/searches/{id}/edit"),
        fields: vec![
            Field::line("name", page.s("column.name"), &*new.name).required(),
            Field::line("query", page.s("saved.query"), &*new.query).required().hint(page.s("saved.query-hint")),
            Field::of("sort", page.s("search.order-label"), Input::Select(orders)),
            alerts(page, new.alert),
        ],
        submit: page.s("action.save").into(),
        danger: false,
        back: format!("/searches/{id}"),
        fault: String::new(),
    }
}

/// Shows the form for changing a saved search.
pub async fn ask_change(visit: Visit, Path(id): Path<String>) -> PageResult {
    let SavedSearch { id, name, query, order, alert, .. } = visit.session.saved_search(id.parse()?).await?;
    Ok(html(&change_form(&visit.page, id, &SearchToSave { name, query, order, alert })))
}

/// Changes a saved search.
pub async fn change(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let (id, new) = (id.parse()?, read(&fields)?);
    match visit.session.replace_saved_search(id, new.clone()).await {
        Ok(search) => Ok(done(&format!("/searches/{id}"), &Flash::new("toast.saved", search.name))),
        Err(error) => refuse::show_form_again(change_form(&visit.page, id, &new), error),
    }
}

/// Asks for confirmation of a deletion.
pub async fn ask_delete(visit: Visit, Path(id): Path<String>) -> PageResult {
    let search = visit.session.saved_search(id.parse()?).await?;
    let page = &visit.page;
    Ok(html(&Form {
        page,
        title: page.f1("saved.delete", &search.name),
        icon: icon("trash"),
        action: format!("/searches/{}/delete", search.id),
        fields: vec![Field::paragraph(page.s("saved.delete-text"))],
        submit: page.s("action.delete").into(),
        danger: true,
        back: "/searches".into(),
        fault: String::new(),
    }))
}

/// Deletes a saved search.
pub async fn delete(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    sent.visit.session.delete_saved_search(id.parse()?).await?;
    Ok(done("/searches", &Flash::new("toast.removed", "")))
}

/// Marks the documents that a page has shown as seen, or all that the search finds.
pub async fn mark_seen(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let id: Id = id.parse()?;
    let shown = if sent.fields.yes("all") { None } else { Some(sent.fields.ids("versions")?) };
    sent.visit.session.mark_saved_search_seen(id, shown).await?;
    Ok(done(&format!("/searches/{id}"), &Flash::new("toast.seen", "")))
}
