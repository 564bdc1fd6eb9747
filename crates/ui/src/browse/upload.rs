//! Uploads from web pages: a plain form with one or more files, or the scripted queue, one file per request.

use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, MAX_COMMENT, NodePath, Result, Right};
use repository::{Destination, Item, Saved, UploadOptions};

use crate::frame::address;
use crate::frame::fault::{self, PageResult};
use crate::frame::file_form::{self, Part, broken, short};
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::item::{self, Back};
use crate::frame::page::{html, safe_next};
use crate::frame::visit::Visit;
use http_core::identity::csrf;
use http_core::server::request_body::ReadAheadLimit;
use http_core::server::state::AppState;

use super::name_conflict::{self, NameConflict};

/// Shows the form for uploading into a library or folder.
pub async fn form(visit: Visit, Path(id): Path<String>) -> PageResult {
    let place = item::find_for(&visit, &id, Right::Add).await?;
    let page = &visit.page;
    Ok(html(&Form {
        page,
        title: page.f1("upload.to", place.shown_name()),
        icon: icon("upload"),
        action: format!("/items/{}/upload", place.id),
        fields: vec![
            // This field precedes the files, because only fields before a file are known when the file begins.
            Field::line("comment", page.s("column.comment"), ""),
            name_conflict::field(&visit, &place).await?,
            Field::of("file", page.s("upload.files"), Input::Files).required(),
        ],
        submit: page.s("action.upload").into(),
        danger: false,
        back: address::browse(&place.path),
        fault: String::new(),
    }))
}

/// Shows the form for replacing a document's content.
pub async fn replace_form(visit: Visit, Path(id): Path<String>, Query(back): Query<Back>) -> PageResult {
    let item = item::find_for(&visit, &id, Right::Edit).await?;
    let page = &visit.page;
    let next = safe_next(back.next.as_deref(), &address::browse(&item.path));
    Ok(html(&Form {
        page,
        title: page.f1("replace.title", &item.name),
        icon: icon("replace"),
        action: format!("/items/{}/replace", item.id),
        fields: vec![
            Field::paragraph(page.s("replace.text")),
            Field::line("comment", page.s("column.comment"), ""),
            Field::hidden("next", next.clone()),
            Field::of("file", page.s("upload.file"), Input::File).required(),
        ],
        submit: page.s("action.replace").into(),
        danger: false,
        back: next,
        fault: String::new(),
    }))
}

/// Stores uploaded files in a library or folder.
pub async fn upload(State(state): State<AppState>, Path(id): Path<String>, visit: Visit, request: Request) -> Response {
    receive(&state, &id, &visit, request, false).await
}

/// Stores the next version of a document.
pub async fn replace(
    State(state): State<AppState>,
    Path(id): Path<String>,
    visit: Visit,
    request: Request,
) -> Response {
    receive(&state, &id, &visit, request, true).await
}

async fn receive(state: &AppState, id: &str, visit: &Visit, request: Request, replaces: bool) -> Response {
    let script = request.headers().get(header::ACCEPT).is_some_and(|kind| kind == "application/problem+json");
    match store(state, id, visit, request, replaces).await {
        Ok(_) if script => StatusCode::CREATED.into_response(),
        Ok(Stored { next, saved }) => {
            let flash = match saved.last() {
                Some(saved) => Flash::new(if replaces { "toast.saved" } else { "toast.uploaded" }, &saved.name),
                None => Flash::new("toast.skipped", ""),
            };
            done(&next, &flash)
        }
        Err(error) => fault::fail(script, error),
    }
}

/// Result of an upload, and the next page.
struct Stored {
    next: String,
    saved: Vec<Saved>,
}

/// Stores the files of the form one after the other. Only fields before a file apply to it.
async fn store(state: &AppState, id: &str, visit: &Visit, request: Request, replaces: bool) -> Result<Stored> {
    let item = item::find(visit, id).await?;
    let ahead = ReadAheadLimit::default();
    let mut parts = file_form::open(state, request, &ahead).await?;
    let mut when_taken = if replaces { NameConflict::Replace } else { name_conflict::usual(visit, &item).await? };
    let (mut allowed, mut comment, mut folder) = (false, String::new(), NodePath::default());
    let mut next = None;
    let (mut saved, mut skipped) = (Vec::new(), false);
    while let Some(mut part) = parts.next_field().await.map_err(broken)? {
        ahead.caught_up();
        match part.name().unwrap_or_default() {
            "form_token" => {
                csrf::check(&visit.form_key, &short(&mut part, &ahead, 200).await?)?;
                allowed = true;
            }
            "comment" => comment = short(&mut part, &ahead, 4 * MAX_COMMENT).await?.trim().to_owned(),
            "next" => next = Some(short(&mut part, &ahead, 4_096).await?),
            "taken" if !replaces => when_taken = NameConflict::parse(&short(&mut part, &ahead, 20).await?)?,
            "path" => folder = NodePath::parse(&short(&mut part, &ahead, 8_192).await?)?,
            "file" => {
                if !allowed {
                    return Err(csrf::check(&visit.form_key, "").err().unwrap_or_else(|| Error::forbidden("no token")));
                }
                let options = UploadOptions {
                    media_type: part.content_type().map(ToOwned::to_owned),
                    comment: comment.clone(),
                    on_conflict: when_taken.on_conflict(),
                    create_parents: true,
                    ..UploadOptions::default()
                };
                let destination = destination(&item, &folder, &part, replaces)?;
                match stream(visit, &destination, options, &mut part, &ahead).await {
                    Ok(stored) => saved.push(stored),
                    Err(error) if when_taken == NameConflict::Skip && error.code() == Code::NameTaken => skipped = true,
                    Err(error) => return Err(error),
                }
            }
            _ => {}
        }
        file_form::drain(&mut part, &ahead).await?;
    }
    if saved.is_empty() && !skipped {
        return Err(file_form::no_file());
    }
    Ok(Stored { next: safe_next(next.as_deref(), &address::browse(&item.path)), saved })
}

fn destination(item: &Item, folder: &NodePath, part: &Part<'_>, replaces: bool) -> Result<Destination> {
    if replaces {
        return Ok(Destination::Document(item.id));
    }
    name_conflict::destination(item, folder, file_form::name_of(part)?)
}

async fn stream(
    visit: &Visit,
    destination: &Destination,
    options: UploadOptions,
    part: &mut Part<'_>,
    ahead: &ReadAheadLimit,
) -> Result<Saved> {
    let mut upload = visit.session.begin_upload(destination, options, None).await?;
    while let Some(chunk) = part.chunk().await.map_err(broken)? {
        ahead.caught_up();
        upload.write(chunk).await?;
    }
    upload.finish().await
}
