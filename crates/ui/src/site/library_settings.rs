//! Settings and columns of a library.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Code, ColumnKind, Error, Id, LibrarySettings, Name, NodeKind, Result, Right, Versioning};
use repository::{Column, ColumnChange, ColumnOptions, ContentType, Item, Target};

use crate::browse::view::{Key, View, Wide};
use crate::farm::storage::{self, Described};
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::item::Back;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html, safe_next};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, item, refuse};
use crate::wording::entries;

#[derive(Template)]
#[template(path = "library-settings.html")]
struct LibraryPage<'a> {
    page: &'a Page,
    item: &'a Item,
    crumbs: Vec<Crumb>,
    versioning: Vec<Choice>,
    settings: LibrarySettings,
    columns: Vec<ColumnRow>,
    types: Vec<ContentType>,
    /// Storage of the documents; `None` for a list.
    policy: Option<Described>,
    administers: bool,
    is_list: bool,
    /// Set if the caller may save templates.
    keeps_templates: bool,
}

struct ColumnRow {
    column: Column,
    /// Content type of the column; empty for all documents.
    of: String,
}

/// Shows the page of settings.
pub async fn show(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    let target = Target::Id(id.parse()?);
    let way = visit.session.item_with_ancestors(&target).await?;
    let settings = visit.session.library_settings(&target).await?;
    let (columns, types) = visit.session.columns(&target).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is no such library"))?;
    let mut crumbs = navigation::crumbs(&way);
    crumbs.push(Crumb { href: address::browse(&item.path), label: item.name.clone() });
    let mut versioning = versionings(&visit.page, settings.versioning);
    if item.kind == NodeKind::List {
        versioning.retain(|choice| choice.value != Versioning::MajorMinor.as_str());
        for choice in versioning.iter_mut().filter(|choice| choice.value == Versioning::None.as_str()) {
            choice.hint = visit.page.s("list.none-hint").to_owned();
        }
    }
    item::require(item, Right::ManageLibraries)?;
    let name_of = |id: Id| types.iter().find(|kind| kind.id == id).map(|kind| kind.name.clone());
    let columns = columns
        .into_iter()
        .map(|column| ColumnRow { of: column.content_type_id.and_then(name_of).unwrap_or_default(), column });
    let columns = columns.collect();
    let is_list = item.kind == NodeKind::List;
    let policy = match is_list {
        true => None,
        false => Some(storage::describe(&visit.page, &visit.session.library_storage(&target).await?)),
    };
    let administers = visit.session.principal().farm_administrator;
    let page = &visit.page;
    let keeps_templates = way.first().is_some_and(|root| root.rights.has(Right::ManageSite));
    Ok(html(&LibraryPage {
        page,
        item,
        crumbs,
        versioning,
        settings,
        columns,
        types,
        policy,
        administers,
        is_list,
        keeps_templates,
    }))
}

/// Changes the settings.
pub async fn save(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let settings = read(&sent.fields)?;
    let target = Target::Id(id.parse()?);
    sent.visit.session.change_library(&target, settings).await?;
    let item = sent.visit.session.item(&target).await?;
    Ok(done(&format!("/items/{id}/settings"), &Flash::new("toast.saved", item.name)))
}

fn read(fields: &Fields) -> Result<LibrarySettings> {
    let number = |name: &str| match fields.trimmed(name).as_str() {
        "" => Ok(0),
        text => text.parse().map_err(|_| Error::invalid("a limit must be a whole number; 0 means no limit")),
    };
    Ok(LibrarySettings {
        versioning: Versioning::parse(&fields.text("versioning"))?,
        major_limit: number("major_limit")?,
        minor_limit: number("minor_limit")?,
        require_checkout: fields.yes("require_checkout"),
        require_approval: fields.yes("require_approval"),
        attachments: fields.yes("attachments"),
    })
}

/// Choices in the form for a column.
struct Offered {
    types: Vec<ContentType>,
    /// Lists whose entries a new column can take.
    lists: Vec<Item>,
}

fn column_form<'a>(
    page: &'a Page,
    library: &Item,
    column: Option<&Column>,
    offered: &Offered,
    next: String,
) -> Form<'a> {
    let types = &offered.types;
    let name = column.map_or("", |column| column.name.as_str());
    let kinds = ["text", "note", "number", "date", "choice", "person", "yes-no", "link", "lookup"];
    let options = column.map(|column| column.options.clone()).unwrap_or_default();
    let description = Field::line("description", page.s("column.description"), &options.description);
    let mut fields = vec![
        Field::line("name", page.s("column.name"), name).required(),
        description.hint(page.s("column.description-hint")),
    ];
    if column.is_none() {
        let kinds = kinds.into_iter().filter(|kind| *kind != "lookup" || !offered.lists.is_empty());
        let choice = |kind| Choice::new(kind, page.language.text(&format!("kind.{kind}")), kind == "text");
        fields.push(Field::of("kind", page.s("column.kind"), Input::Select(kinds.map(choice).collect())));
    }
    let present = column.map(|column| &column.kind);
    if !matches!(present, Some(kind) if kind.as_str() != "choice") {
        let mut field =
            Field::of("choices", page.s("column.choices"), Input::Lines).hint(page.s("column.choices-hint"));
        if let Some(ColumnKind::Choice(choices)) = present.map(ColumnKind::single) {
            field.value = choices.join("\n");
        }
        fields.push(field);
    }
    if column.is_none() && !offered.lists.is_empty() {
        let lists = offered.lists.iter().map(|list| Choice::new(list.id.to_string(), &list.name, false));
        let lists = std::iter::once(Choice::new("", "–", true)).chain(lists).collect();
        fields.push(Field::of("list", page.s("column.list"), Input::Select(lists)).hint(page.s("column.list-hint")));
    }
    let is_calculated = column.is_some_and(Column::is_calculated);
    match present {
        Some(kind) if kind.takes_multiple() => fields.push(Field::paragraph(page.s("column.multiple-set"))),
        Some(kind) if is_calculated || !kind.may_take_multiple() => {}
        _ => {
            let tick = Field::of("multiple", page.s("column.multiple"), Input::Tick(false));
            fields.push(tick.hint(page.s("column.multiple-hint")));
        }
    }
    if !is_calculated {
        fields.push(Field::of("required", page.s("column.required"), Input::Tick(column.is_some_and(|c| c.required))));
    }
    if !types.is_empty() {
        let present = column.and_then(|column| column.content_type_id);
        let all = Choice::new("", page.s("column.all-types"), present.is_none());
        let some = types.iter().map(|kind| Choice::new(kind.id.to_string(), &kind.name, present == Some(kind.id)));
        let choices = std::iter::once(all).chain(some).collect();
        fields.push(Field::of("content_type", page.s("column.content-type"), Input::Select(choices)));
    }
    fields.extend(options_fields(page, column, &options));
    fields.push(Field::hidden("next", &next));
    let action = column.map_or("new".to_owned(), |column| column.id.to_string());
    Form {
        page,
        title: if column.is_some() { page.s("column.change") } else { page.s("column.new") }.into(),
        icon: icon("columns"),
        action: format!("/items/{}/columns/{action}", library.id),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: next,
        fault: String::new(),
    }
}

/// Returns the fields for formula, default value and checks. A column is calculated from its creation, or never.
fn options_fields(page: &Page, column: Option<&Column>, options: &ColumnOptions) -> Vec<Field> {
    let line = |name: &'static str, label: &str, hint: &str, value: &str| Field::line(name, label, value).hint(hint);
    let formula = line("formula", page.s("column.formula"), page.s("column.formula-hint"), &options.formula);
    if column.is_some_and(Column::is_calculated) {
        return vec![formula];
    }
    let mut fields = vec![Field::of("unique", page.s("column.unique"), Input::Tick(options.unique))];
    fields.push(line("default", page.s("column.default"), page.s("column.default-hint"), &options.default));
    fields.push(line("check", page.s("column.check"), page.s("column.check-hint"), &options.check));
    fields.push(line("message", page.s("column.message"), page.s("column.message-hint"), &options.message));
    fields.extend(column.is_none().then_some(formula));
    fields
}

/// Finds the column in a URL (`None` for `new`), and what its form offers.
async fn find_column(visit: &Visit, library: &Item, id: &str) -> Result<(Option<Column>, Offered)> {
    let (columns, types) = visit.session.columns(&Target::Id(library.id)).await?;
    if id == "new" {
        return Ok((None, Offered { types, lists: entries::lists(&visit.session, library).await? }));
    }
    let id: Id = id.parse()?;
    let column = columns.into_iter().find(|column| column.id == id);
    let column = column.ok_or_else(|| Error::not_found("there is no such column"))?;
    Ok((Some(column), Offered { types, lists: Vec::new() }))
}

/// Shows the form for a column; `new` stands for a new one.
pub async fn column(visit: Visit, Path((id, column)): Path<(String, String)>, Query(back): Query<Back>) -> PageResult {
    let library = item::find_for(&visit, &id, Right::ManageLibraries).await?;
    let (column, offered) = find_column(&visit, &library, &column).await?;
    let next = safe_next(back.next.as_deref(), &format!("/items/{}/settings", library.id));
    Ok(html(&column_form(&visit.page, &library, column.as_ref(), &offered, next)))
}

/// Creates or changes a column.
pub async fn save_column(Path((id, column)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let library = item::find(&visit, &id).await?;
    let (column, offered) = find_column(&visit, &library, &column).await?;
    let (target, next) = (Target::Id(library.id), fields.next(&format!("/items/{id}/settings")));
    let saved = match read_column(&visit.page, &fields, column.as_ref()) {
        Err(error) => Err(error),
        Ok(wanted) => match &column {
            None => visit.session.create_column(&target, wanted).await.map(|made| showing(&next, made)),
            Some(column) => visit.session.change_column(&target, column.id, wanted).await.map(|()| next.clone()),
        },
    };
    match saved {
        Ok(next) => Ok(done(&next, &Flash::new("toast.saved", fields.trimmed("name")))),
        Err(error) => {
            let form = column_form(&visit.page, &library, column.as_ref(), &offered, next);
            refuse::show_form_again(form.refilled(&fields), error)
        }
    }
}

/// Returns the address of a listing that also shows a new column, if it names the columns that it shows. Other
/// addresses stay as they are.
fn showing(next: &str, column: Id) -> String {
    match next.split_once('?') {
        Some((path, query)) if path.starts_with("/browse") => {
            let mut view = View::parse(query);
            if !view.columns.is_empty() {
                view.columns.push(Wide { key: Key::Own(column), width: None });
            }
            format!("{path}?{}", view.query())
        }
        _ => next.to_owned(),
    }
}

fn read_column(page: &Page, fields: &Fields, present: Option<&Column>) -> Result<ColumnChange> {
    let text = fields.text("choices");
    let choices = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect();
    let word = present.map_or_else(|| fields.text("kind"), |column| column.kind.as_str().to_owned());
    let choices = match present.map(|column| column.kind.single()) {
        Some(kind @ ColumnKind::Lookup(_)) => kind.choices(),
        None if word == "lookup" => vec![fields.text("list")],
        _ => choices,
    };
    let kind = ColumnKind::parse(&word, choices)?;
    let takes_multiple = fields.yes("multiple") || present.is_some_and(|column| column.kind.takes_multiple());
    if takes_multiple && !kind.may_take_multiple() {
        return Err(Error::invalid(page.s("column.multiple-kinds")).with_code(Code::Misfit));
    }
    Ok(ColumnChange {
        name: Name::new(fields.trimmed("name"))?,
        kind: kind.taking_multiple(takes_multiple)?,
        required: fields.yes("required"),
        content_type_id: match fields.text("content_type").as_str() {
            "" => None,
            id => Some(id.parse()?),
        },
        options: ColumnOptions {
            formula: fields.trimmed("formula"),
            default: fields.trimmed("default"),
            check: fields.trimmed("check"),
            message: fields.trimmed("message"),
            unique: fields.yes("unique"),
            description: fields.trimmed("description"),
        },
    })
}

/// Removes a column together with the values that documents have in it.
pub async fn delete_column(Path((id, column)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    let library = item::find(&sent.visit, &id).await?;
    sent.visit.session.delete_column(&Target::Id(library.id), column.parse()?).await?;
    Ok(done(&format!("/items/{id}/settings"), &Flash::new("toast.removed", "")))
}

/// Creates a content type.
pub async fn make_type(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let name = Name::new(sent.fields.trimmed("name"))?;
    sent.visit.session.create_content_type(&Target::Id(id.parse()?), &name).await?;
    Ok(done(&format!("/items/{id}/settings"), &Flash::new("toast.created", name.as_str())))
}

/// Removes a content type together with the columns that belong to it.
pub async fn delete_type(Path((id, kind)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    sent.visit.session.delete_content_type(&Target::Id(id.parse()?), kind.parse()?).await?;
    Ok(done(&format!("/items/{id}/settings"), &Flash::new("toast.removed", "")))
}

/// Returns the versioning modes of a library as choices.
pub fn versionings(page: &Page, chosen: Versioning) -> Vec<Choice> {
    let choice = |value: Versioning, label: &'static str, hint: &'static str| {
        Choice::new(value.as_str(), label, value == chosen).hint(hint)
    };
    vec![
        choice(Versioning::Major, page.s("library.major"), page.s("library.major-hint")),
        choice(Versioning::MajorMinor, page.s("library.major-minor"), page.s("library.major-minor-hint")),
        choice(Versioning::None, page.s("library.none"), page.s("library.none-hint")),
    ]
}
