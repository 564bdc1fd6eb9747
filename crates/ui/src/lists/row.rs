//! The page of a row: its values, who changed them, its earlier versions, and its attachments.

use std::collections::HashMap;

use askama::Template;
use axum::extract::Path;
use model::{ColumnKind, ColumnValue, Error, Id, Result, Right, Timestamp};
use repository::{Column, Item, MAX_ATTACHMENTS, PrincipalName, RowRevision, Sort, Target, ValueNames, ValuesChange};

use crate::browse::listing;
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::wording::{cells, names};

/// Limit on listed versions.
const MAX_VERSIONS: usize = 100;

/// A value of the row.
struct Fact {
    label: String,
    value: String,
    /// Address to which the value leads; empty for none.
    href: String,
    /// True if the address leads out of the server.
    is_outside: bool,
    /// Each of several values, if some of them have an address.
    parts: Vec<cells::Part>,
    lines: bool,
}

/// A version of the row.
struct VersionLine {
    number: u32,
    at: Timestamp,
    by: String,
    /// What it changed: column, value before, value after.
    changes: Vec<(String, String, String)>,
    /// True for the version that the row has now.
    present: bool,
    /// True for the version with which the row was added.
    first: bool,
}

#[derive(Template)]
#[template(path = "row.html")]
struct RowPage<'a> {
    page: &'a Page,
    item: &'a Item,
    title: String,
    list: String,
    crumbs: Vec<Crumb>,
    facts: Vec<Fact>,
    versions: Vec<VersionLine>,
    has_older: bool,
    created_by: String,
    modified_by: String,
    may_edit: bool,
    may_delete: bool,
    may_permit: bool,
    attachments: Vec<Attachment<'a>>,
    /// True if the caller may attach documents, and the list takes them.
    may_attach: bool,
}

/// A document that is attached to the row.
struct Attachment<'a> {
    row: listing::Row<'a>,
    size: u64,
    at: Timestamp,
    by: &'a str,
}

/// Shows the page of a row that has already been found.
pub async fn show(visit: &Visit, way: &[Item], item: &Item) -> PageResult {
    let (target, session) = (Target::Id(item.id), &visit.session);
    let (columns, _) = session.columns(&target).await?;
    let values = session.values(&target).await?;
    let versions = match item.rights.has(Right::ViewVersions) {
        true => session.row_revisions(&target, None, MAX_VERSIONS).await?,
        false => repository::Page { items: Vec::new(), next: None },
    };
    let has_older = versions.next.is_some();
    let versions = versions.items;
    let mut people = vec![item.created_by, item.modified_by];
    people.extend(versions.iter().map(|version| version.by));
    let of_versions = versions.iter().flat_map(|version| version.values.iter().map(|(_, value)| value));
    let all: Vec<_> = values.iter().map(|(_, value)| value).chain(of_versions).collect();
    let mut names = session.value_names(&target, &all).await?;
    names.people.extend(session.principal_names(&people).await?);
    let list = way.iter().rev().nth(1).map_or_else(String::new, |list| address::browse(&list.path));
    let (_, attached) = session.list(&target, Sort::Name, false, None, MAX_ATTACHMENTS).await?;
    let authors = names::names(session, &attached.items).await?;
    let here = address::browse(&item.path);
    let attachment = |found| attachment(found, &here, session.principal().id, &authors);
    let may_attach = item.rights.has(Right::Add) && session.library_settings(&target).await?.attachments;
    Ok(html(&RowPage {
        page: &visit.page,
        title: item.shown_name().to_owned(),
        list,
        crumbs: navigation::crumbs(way),
        facts: facts(visit, &columns, &values, &names),
        versions: lines(visit, item, &columns, &versions, &names),
        has_older,
        created_by: names::name_of(&names.people, item.created_by),
        modified_by: names::name_of(&names.people, item.modified_by),
        may_edit: item.rights.has(Right::Edit),
        may_delete: item.rights.has(Right::Delete),
        may_permit: item.rights.has(Right::ManagePermissions),
        attachments: attached.items.iter().map(attachment).collect(),
        may_attach,
        item,
    }))
}

fn attachment<'a>(found: &'a Item, here: &str, me: Id, authors: &'a HashMap<Id, PrincipalName>) -> Attachment<'a> {
    Attachment {
        row: listing::row(found, here, me, authors),
        size: found.size,
        at: found.modified_at,
        by: authors.get(&found.modified_by).map_or("", |author| author.name.as_str()),
    }
}

fn facts(visit: &Visit, columns: &[Column], values: &[(Id, ColumnValue)], names: &ValueNames) -> Vec<Fact> {
    let fact = |column: &Column| {
        let value = values.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value);
        Fact {
            label: column.name.clone(),
            value: text(visit, value, names),
            href: value.map(|value| cells::address_of(column, value, names).into_owned()).unwrap_or_default(),
            is_outside: column.kind == ColumnKind::Link,
            parts: value.map(|value| cells::parts(&visit.page, column, value, names)).unwrap_or_default(),
            lines: matches!(column.kind, ColumnKind::Text | ColumnKind::Note),
        }
    };
    columns.iter().map(fact).collect()
}

fn text(visit: &Visit, value: Option<&ColumnValue>, names: &ValueNames) -> String {
    value.map_or_else(|| "–".to_owned(), |value| cells::text(&visit.page, value, names).into_owned())
}

/// Describes each version by what it changed in the one before it. For the oldest one that the list still has, that is
/// not known.
fn lines(
    visit: &Visit,
    item: &Item,
    columns: &[Column],
    versions: &[RowRevision],
    names: &ValueNames,
) -> Vec<VersionLine> {
    let of = |version: &RowRevision, column: Id| {
        version.values.iter().find(|(id, _)| *id == column).map(|(_, value)| value.clone())
    };
    let mut lines = Vec::with_capacity(versions.len());
    for (number, version) in versions.iter().enumerate() {
        let mut changes = Vec::new();
        if let Some(before) = versions.get(number + 1) {
            for column in columns {
                let (old, new) = (of(before, column.id), of(version, column.id));
                if old != new {
                    let text = |value: &Option<ColumnValue>| short(&text(visit, value.as_ref(), names));
                    changes.push((column.name.clone(), text(&old), text(&new)));
                }
            }
        }
        lines.push(VersionLine {
            number: version.number,
            at: version.at,
            by: names::name_of(&names.people, version.by),
            changes,
            present: number == 0,
            first: version.at == item.created_at,
        });
    }
    lines
}

fn short(text: &str) -> String {
    const MOST: usize = 120;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Gives the row the values of an earlier version again.
pub async fn restore(Path((id, revision)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    let target = Target::Id(id.parse()?);
    let revision = revision.parse().map_err(|_| no_version())?;
    let session = &sent.visit.session;
    let version = find_version(&sent.visit, &target, revision).await?;
    let (columns, _) = session.columns(&target).await?;
    let present = session.values(&target).await?;
    let of = |values: &[(Id, ColumnValue)], column: &Column| {
        values.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value.clone())
    };
    let known =
        session.value_names(&target, &version.values.iter().map(|(_, value)| value).collect::<Vec<_>>()).await?;
    let (mut values, mut was, mut is_whole) = (Vec::new(), Vec::new(), true);
    for column in columns.iter().filter(|column| !column.is_calculated()) {
        let now = of(&present, column);
        let value = match of(&version.values, column) {
            None => None,
            Some(value) => {
                let set = settable(column, &value, now.as_ref(), &known);
                is_whole &= set.as_ref() == Some(&value);
                // The present value stays where nothing can be set.
                let Some(set) = set else { continue };
                Some(set)
            }
        };
        values.push((column.id, value));
        was.push((column.id, now));
    }
    session.set_values(&target, ValuesChange { values, was, ..ValuesChange::default() }).await?;
    let item = session.item(&target).await?;
    let said = if is_whole { "toast.row-restored" } else { "toast.row-restored-partly" };
    Ok(done(&address::browse(&item.path), &Flash::new(said, sent.visit.page.minute(&version.at))))
}

/// Returns a value of an earlier version as it can be set again; `None` if it cannot. Entries that are gone or that the
/// caller may not open, people who no longer exist, and choices that the column no longer has cannot. Of several
/// values, an entry that the caller may not open stays if the row has it now.
fn settable(
    column: &Column,
    value: &ColumnValue,
    now: Option<&ColumnValue>,
    known: &ValueNames,
) -> Option<ColumnValue> {
    let takes_multiple = column.kind.takes_multiple();
    let is_settable = |value: &&ColumnValue| match (column.kind.single(), value) {
        (_, ColumnValue::Lookup(id)) => {
            let is_kept = takes_multiple && now.is_some_and(|now| now.each().contains(value));
            is_kept || known.entries.contains_key(id)
        }
        (_, ColumnValue::Person(id)) => known.people.contains_key(id),
        (ColumnKind::Choice(choices), ColumnValue::Text(text)) => choices.contains(text),
        _ => true,
    };
    ColumnValue::joined(&column.kind, value.each().iter().filter(is_settable).cloned().collect())
}

async fn find_version(visit: &Visit, target: &Target, number: u32) -> Result<RowRevision> {
    let found = visit.session.row_revisions(target, number.checked_add(1), 1).await?.items.pop();
    found.filter(|version| version.number == number).ok_or_else(no_version)
}

fn no_version() -> Error {
    Error::not_found("the row has no such version any more")
}
