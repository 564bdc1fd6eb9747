//! Small changes to one item: renaming, deletion, and creation of items in it.

use axum::extract::{Path, Query};
use model::{Code, Error, LibrarySettings, Name, NodeKind, Right, Versioning};
use repository::{Item, Target};

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, Undo, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::item::{Back, find, find_for, parent_page, require};
use crate::frame::page::{Page, html, safe_next};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, refuse};
use crate::site::library_settings::versionings;

use super::bin::restore_all;

fn rename_form<'a>(page: &'a Page, item: &Item, name: &str, next: String) -> Form<'a> {
    Form {
        page,
        title: page.s("rename.title").into(),
        icon: icon("pencil"),
        action: format!("/items/{}/rename", item.id),
        fields: vec![
            Field::line("name", page.s("column.name"), name).required(),
            Field::hidden("was", &item.name),
            Field::hidden("next", next.clone()),
        ],
        submit: page.s("action.rename").into(),
        danger: false,
        back: next,
        fault: String::new(),
    }
}

/// Shows the form for renaming.
pub async fn rename(visit: Visit, Path(id): Path<String>, Query(back): Query<Back>) -> PageResult {
    let item = find(&visit, &id).await?;
    require(&item, item.kind.right_to_change(Right::Edit))?;
    let next = safe_next(back.next.as_deref(), &format!("/items/{}/open", item.id));
    Ok(html(&rename_form(&visit.page, &item, &item.name, next)))
}

/// Renames an item.
pub async fn do_rename(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let (name, next) = (fields.text("name"), fields.next(&format!("/items/{id}/open")));
    let was = Some(fields.text("was")).filter(|was| !was.is_empty());
    let result = match Name::new(name.trim()) {
        Ok(new) => visit.session.rename_from(&Target::Id(id.parse()?), was.as_deref(), &new).await,
        Err(error) => Err(error),
    };
    match result {
        Ok(item) => Ok(done(&next, &Flash::new("toast.renamed", item.name))),
        Err(error) => {
            let item = find(&visit, &id).await?;
            let error = match error.code() {
                Code::Overtaken => {
                    Error::conflict(visit.page.f1("rename.overtaken", &item.name)).with_code(Code::Overtaken)
                }
                _ => error,
            };
            refuse::show_form_again(rename_form(&visit.page, &item, &name, next), error)
        }
    }
}

/// Asks for confirmation of a deletion.
pub async fn delete(visit: Visit, Path(id): Path<String>, Query(back): Query<Back>) -> PageResult {
    let item = find(&visit, &id).await?;
    require(&item, item.kind.right_to_change(Right::Delete))?;
    let page = &visit.page;
    // The item's own page no longer exists afterwards.
    let next = safe_next(back.next.as_deref(), &parent_page(&item));
    Ok(html(&Form {
        page,
        title: page.f1("delete.title", &item.name),
        icon: icon("trash"),
        action: format!("/items/{}/delete", item.id),
        fields: vec![Field::paragraph(page.s("delete.text")), Field::hidden("next", next.clone())],
        submit: page.s("action.delete").into(),
        danger: true,
        back: safe_next(back.next.as_deref(), &address::item(item.id)),
        fault: String::new(),
    }))
}

/// Sends an item to the recycle bin.
pub async fn do_delete(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let item = find(&sent.visit, &id).await?;
    let entry = sent.visit.session.delete(&Target::Id(item.id)).await?;
    let undo = Undo::of(item.collection_id, &[entry]);
    let flash = Flash { key: "toast.deleted", undo, name: item.name.clone() };
    Ok(done(&sent.fields.next(&parent_page(&item)), &flash))
}

/// Undoes a deletion. The `ids` are the site collection followed by its recycle-bin entries.
pub async fn undo_delete(sent: SubmittedForm) -> PageResult {
    let ids = sent.fields.ids("ids")?;
    let Some((collection, entries)) = ids.split_first() else {
        return Ok(done("/", &Flash::new("toast.restored", "")));
    };
    let flash = restore_all(&sent.visit, *collection, entries).await?;
    Ok(done(&sent.fields.next("/"), &flash))
}

/// Kind of item to create inside another one.
#[derive(Clone, Copy)]
enum New {
    Folder,
    Library,
}

fn new_form<'a>(page: &'a Page, place: &Item, what: New, name: &str) -> Form<'a> {
    let (word, title) = match what {
        New::Folder => ("new-folder", page.s("action.new-folder")),
        New::Library => ("new-library", page.s("action.new-library")),
    };
    let mut fields = vec![Field::line("name", page.s("column.name"), name).required()];
    if matches!(what, New::Library) {
        fields.push(Field::of(
            "versioning",
            page.s("library.versioning"),
            Input::Radio(versionings(page, Versioning::Major)),
        ));
    }
    Form {
        page,
        title: title.into(),
        icon: icon("plus"),
        action: format!("/items/{}/{word}", place.id),
        fields,
        submit: page.s("action.create").into(),
        danger: false,
        back: address::browse(&place.path),
        fault: String::new(),
    }
}

async fn ask_new(visit: Visit, id: &str, what: New) -> PageResult {
    let right = match what {
        New::Folder => Right::Add,
        New::Library => Right::ManageLibraries,
    };
    let place = find_for(&visit, id, right).await?;
    Ok(html(&new_form(&visit.page, &place, what, "")))
}

async fn make_new(id: &str, sent: SubmittedForm, what: New) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let place = find(&visit, id).await?;
    let target = Target::Id(place.id);
    let text = fields.text("name");
    let made = match (Name::new(text.trim()), what) {
        (Err(error), _) => Err(error),
        (Ok(name), New::Folder) => visit.session.create_folder(&target, &name).await,
        (Ok(name), New::Library) => {
            let settings = LibrarySettings {
                versioning: Versioning::parse(&fields.text("versioning"))?,
                ..LibrarySettings::default()
            };
            visit.session.create_library(&target, &name, settings).await
        }
    };
    match made {
        Ok(item) => {
            let next =
                if item.kind == NodeKind::Folder { address::browse(&place.path) } else { address::browse(&item.path) };
            Ok(done(&next, &Flash::new("toast.created", item.name)))
        }
        Err(error) => refuse::show_form_again(new_form(&visit.page, &place, what, &text), error),
    }
}

/// Shows the form for a new folder.
pub async fn new_folder(visit: Visit, Path(id): Path<String>) -> PageResult {
    ask_new(visit, &id, New::Folder).await
}

/// Creates a folder.
pub async fn do_new_folder(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    make_new(&id, sent, New::Folder).await
}

/// Shows the form for a new library.
pub async fn new_library(visit: Visit, Path(id): Path<String>) -> PageResult {
    ask_new(visit, &id, New::Library).await
}

/// Creates a library.
pub async fn do_new_library(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    make_new(&id, sent, New::Library).await
}
