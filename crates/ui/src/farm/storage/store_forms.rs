//! The forms for a new BLOB store, and for the settings and credentials of an existing one.

use std::collections::BTreeMap;

use axum::extract::Path;
use model::{Error, Result, StoreKind};
use repository::{NewStore, StoreStatus};

use super::stores::{HERE, address, find};
use super::words::{self, KINDS};
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{navigation, refuse};

/// Kinds of object storage.
const REMOTE: [StoreKind; 3] = [StoreKind::S3, StoreKind::Azure, StoreKind::Gcs];
/// Settings and credentials on the forms, most important first: name, whether it is a credential, and the kinds of
/// stores that have it.
const SETTINGS: [(&str, bool, &[StoreKind]); 9] = [
    ("endpoint", false, &REMOTE),
    ("region", false, &[StoreKind::S3]),
    ("key_id", true, &[StoreKind::S3, StoreKind::Azure]),
    ("secret", true, &REMOTE),
    ("session_token", true, &[StoreKind::S3]),
    ("path_style", false, &[StoreKind::S3]),
    ("server_side_encryption", false, &[StoreKind::S3]),
    ("compression", false, &KINDS),
    ("cache_bytes", false, &REMOTE),
];

fn shown(kind: StoreKind, secrets: bool) -> impl Iterator<Item = &'static str> {
    let fits = move |(_, secret, kinds): &(&str, bool, &[StoreKind])| *secret == secrets && kinds.contains(&kind);
    SETTINGS.into_iter().filter(fits).map(|(name, ..)| name)
}

fn label(page: &Page, kind: StoreKind, name: &str) -> &'static str {
    let own = page.language.find(&format!("setting.{kind}-{name}"));
    own.unwrap_or_else(|| page.language.text(&format!("setting.{name}")))
}

fn hint(page: &Page, name: &str) -> &'static str {
    page.language.find(&format!("setting-hint.{name}")).unwrap_or_default()
}

/// Returns the fields for settings and credentials. The user's input takes precedence over present values.
fn provider_fields(
    page: &Page,
    kind: StoreKind,
    present: &BTreeMap<String, String>,
    fields: Option<&Fields>,
) -> Vec<Field> {
    let value = |name: &str| match fields {
        Some(fields) => fields.trimmed(name),
        None => present.get(name).cloned().unwrap_or_default(),
    };
    let made = SETTINGS.into_iter().filter(|(_, _, kinds)| kinds.contains(&kind)).map(|(name, secret, _)| {
        let label = label(page, kind, name);
        let mut field = match name {
            "path_style" => Field::of(name, label, Input::Select(path_styles(page, value(name) == "false"))),
            "key_id" => Field::line(name, label, ""),
            _ if secret => Field::of(name, label, Input::Line("password")),
            _ => Field::line(name, label, value(name)),
        };
        // Prevents browsers from filling in a saved password.
        field.complete = if secret { "new-password" } else { "off" };
        field.hint(hint(page, name))
    });
    made.collect()
}

fn path_styles(page: &Page, of_host: bool) -> Vec<Choice> {
    vec![
        Choice::new("", page.s("setting.path-usual"), !of_host),
        Choice::new("false", page.s("setting.path-host"), of_host),
    ]
}

fn new_form<'a>(page: &'a Page, kind: StoreKind, fields: Option<&Fields>) -> Form<'a> {
    let typed = |name: &str| fields.map(|fields| fields.trimmed(name)).unwrap_or_default();
    let place = if kind == StoreKind::Directory { "directory" } else { "bucket" };
    let mut all = vec![
        Field::line("name", page.s("column.name"), typed("name")).required(),
        Field::line("location", label(page, kind, place), typed("location")).required().hint(hint(page, place)),
    ];
    all.extend(provider_fields(page, kind, &BTreeMap::new(), fields));
    let ticked = fields.is_some_and(|fields| fields.yes("encrypt"));
    all.push(Field::of("encrypt", page.s("store.encrypt"), Input::Tick(ticked)).hint(page.s("store.encrypt-hint")));
    Form {
        page,
        title: page.f1("store.new-of", words::kind(page, kind)),
        icon: icon("database"),
        action: format!("/farm/new-store/{kind}"),
        fields: all,
        submit: page.s("store.add").into(),
        danger: false,
        back: HERE.into(),
        fault: String::new(),
    }
}

/// Parses the kind of a store that can be added.
fn kind_of(word: &str) -> Result<StoreKind> {
    let kind = StoreKind::parse(word).ok().filter(|kind| KINDS.contains(kind));
    kind.ok_or_else(|| Error::not_found("there is no such kind of BLOB store"))
}

/// Shows the form for a new store.
pub async fn ask_new(mut visit: Visit, Path(kind): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    Ok(html(&new_form(&visit.page, kind_of(&kind)?, None)))
}

/// Returns the non-empty input of some fields.
fn typed(fields: &Fields, names: impl Iterator<Item = &'static str>) -> BTreeMap<String, String> {
    names.map(|name| (name.to_owned(), fields.trimmed(name))).filter(|(_, value)| !value.is_empty()).collect()
}

/// Adds a store.
pub async fn add(Path(kind): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let kind = kind_of(&kind)?;
    let new = NewStore {
        name: fields.trimmed("name"),
        kind: kind.as_str().to_owned(),
        location: fields.trimmed("location"),
        settings: typed(&fields, shown(kind, false)),
        secrets: typed(&fields, shown(kind, true)),
        encrypt: fields.yes("encrypt"),
    };
    match visit.session.add_store(new).await {
        Ok(_) => Ok(done(HERE, &Flash::new("toast.created", fields.trimmed("name")))),
        Err(error) => refuse::show_form_again(new_form(&visit.page, kind, Some(&fields)), error),
    }
}

fn change_form<'a>(page: &'a Page, store: &StoreStatus, fields: Option<&Fields>) -> Form<'a> {
    let mut all = Vec::new();
    if store.has_secrets && shown(store.kind, true).next().is_some() {
        all.push(Field::paragraph(page.s("store.secrets-text")));
    }
    all.extend(provider_fields(page, store.kind, &store.settings, fields));
    Form {
        page,
        title: page.f1("store.settings-of", &store.name),
        icon: icon("sliders"),
        action: address(&store.name),
        fields: all,
        submit: page.s("action.save").into(),
        danger: false,
        back: HERE.into(),
        fault: String::new(),
    }
}

/// Shows the form for settings and credentials.
pub async fn ask_change(mut visit: Visit, Path(name): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let store = find(&visit.session, &name).await?;
    Ok(html(&change_form(&visit.page, &store, None)))
}

/// Changes settings and credentials. An empty setting is reset to its default; an empty credential stays unchanged.
pub async fn change(Path(name): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let store = find(&visit.session, &name).await?;
    let settings = shown(store.kind, false).map(|name| (name.to_owned(), fields.trimmed(name))).collect();
    let secrets = typed(&fields, shown(store.kind, true));
    match visit.session.change_store(&name, &settings, &secrets).await {
        Ok(()) => Ok(done(HERE, &Flash::new("toast.saved", name))),
        Err(error) => refuse::show_form_again(change_form(&visit.page, &store, Some(&fields)), error),
    }
}
