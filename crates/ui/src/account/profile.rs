//! Profiles: the page about a person, which everybody who is signed in may read, the directory of all people, and the
//! form in which people change their own profile.

use askama::Template;
use axum::extract::{Path, Query, Request, State};
use axum::response::{IntoResponse, Redirect};
use model::{Code, Error, Id, SmallImage, Timestamp};
use repository::{ItemEvent, MAX_ABOUT_CHARS, PrincipalName, Profile};
use serde::Deserialize;

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::{Icon, icon};
use crate::frame::image;
use crate::frame::navigation::furnish_account;
use crate::frame::page::{Page, html};
use crate::frame::refuse;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::wording::{cells, events, names};
use http_core::server::state::AppState;
use http_core::transfer;

/// Limit on the documents on the page of a person.
const MAX_EVENTS: usize = 8;
/// Limit on the people that a search of the directory shows.
const MAX_PEOPLE: usize = 50;

/// A document that the person changed.
struct Changed {
    href: String,
    icon: Icon,
    name: String,
    what: &'static str,
    at: Timestamp,
}

/// Facts about a person, each with a label.
struct Fact {
    label: &'static str,
    text: String,
    /// Address to which it leads; empty for none.
    href: String,
}

#[derive(Template)]
#[template(path = "person.html")]
struct PersonPage<'a> {
    page: &'a Page,
    person: PrincipalName,
    /// Address of the picture; empty for none.
    picture: String,
    facts: Vec<Fact>,
    /// Paragraphs.
    about: Vec<String>,
    changed: Vec<Changed>,
    is_me: bool,
}

/// A person in the directory.
struct Found {
    href: String,
    name: String,
    login: String,
}

#[derive(Template)]
#[template(path = "people.html")]
struct PeoplePage<'a> {
    page: &'a Page,
    query: String,
    people: Vec<Found>,
    is_cut: bool,
}

/// Query parameter of the directory.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Sought {
    q: String,
}

/// Query parameter of a picture.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Mark {
    /// Changes with every new picture, so that browsers may keep it for ever.
    mark: Option<String>,
}

/// Returns the address of the page of a person.
pub fn address_of(person: Id) -> String {
    format!("/people/{person}")
}

/// Returns the address of the picture of a person; empty for none.
pub fn picture_of(person: Id, profile: &Profile) -> String {
    if !profile.has_picture {
        return String::new();
    }
    format!("/people/{person}/picture?mark={}", profile.revision)
}

/// Shows the directory.
pub async fn directory(visit: Visit, Query(Sought { q }): Query<Sought>) -> PageResult {
    let (found, is_cut) = visit.session.search_users(&q, MAX_PEOPLE).await?;
    let person = |found: PrincipalName| Found {
        href: address_of(found.id),
        name: found.name,
        login: found.login.unwrap_or_default(),
    };
    Ok(html(&PeoplePage { page: &visit.page, people: found.into_iter().map(person).collect(), is_cut, query: q }))
}

/// Shows the page of a person.
pub async fn person(visit: Visit, Path(id): Path<String>) -> PageResult {
    let id: Id = id.parse()?;
    let (person, profile) = visit.session.profile(id).await?;
    let page = &visit.page;
    let changed = visit.session.recent_events_by(id, MAX_EVENTS).await?;
    let tell = |event: ItemEvent| Changed {
        href: address::browse(&event.item.path),
        icon: names::icon_of(&event.item),
        what: events::words(page, &event.action),
        at: event.at,
        name: event.item.shown_name().to_owned(),
    };
    let fact = |label, text: &str| Fact { label, text: text.to_owned(), href: String::new() };
    let mut facts = vec![
        fact(page.s("profile.job"), &profile.job_title),
        fact(page.s("profile.department"), &profile.department),
        fact(page.s("profile.office"), &profile.office),
        fact(page.s("profile.phone"), &profile.phone),
        Fact {
            href: profile.web_address.clone(),
            ..fact(page.s("profile.web"), &cells::short(profile.web_address.as_str().into()))
        },
    ];
    facts.retain(|fact| !fact.text.is_empty());
    Ok(html(&PersonPage {
        picture: picture_of(id, &profile),
        facts,
        about: profile.about.split("\n\n").filter(|text| !text.trim().is_empty()).map(ToOwned::to_owned).collect(),
        changed: changed.into_iter().map(tell).collect(),
        is_me: id == visit.session.principal().id,
        person,
        page,
    }))
}

/// Leads to the caller's own page.
pub async fn me(visit: Visit) -> PageResult {
    Ok(Redirect::to(&address_of(visit.session.principal().id)).into_response())
}

/// Sends the picture of a person.
pub async fn picture(visit: Visit, Path(id): Path<String>, Query(Mark { mark }): Query<Mark>) -> PageResult {
    let id: Id = id.parse()?;
    let picture = visit.session.profile_picture(id).await?;
    // Under the mark of another revision, a browser would keep this picture in place of that one.
    let is_marked = match mark {
        Some(mark) => visit.session.profile(id).await?.1.revision.to_string() == mark,
        None => false,
    };
    Ok(transfer::image::response(picture, is_marked))
}

fn form<'a>(page: &'a Page, profile: &Profile) -> Form<'a> {
    let line = |name, label, value: &str| Field::line(name, label, value);
    let mut about = Field::of("about", page.s("profile.about"), Input::Lines);
    about.value.clone_from(&profile.about);
    Form {
        page,
        title: page.s("profile.edit").into(),
        icon: icon("user"),
        action: "/account/profile".into(),
        fields: vec![
            Field::hidden("revision", profile.revision.to_string()),
            line("job_title", page.s("profile.job"), &profile.job_title),
            line("department", page.s("profile.department"), &profile.department),
            line("office", page.s("profile.office"), &profile.office),
            line("phone", page.s("profile.phone"), &profile.phone),
            line("web_address", page.s("profile.web"), &profile.web_address).hint(page.s("profile.web-hint")),
            about.hint(page.f1("profile.about-hint", page.number(&(MAX_ABOUT_CHARS as u64)))),
        ],
        submit: page.s("action.save").into(),
        danger: false,
        back: "/people/me".into(),
        fault: String::new(),
    }
}

/// Shows the form of the caller's own profile.
pub async fn edit(mut visit: Visit) -> PageResult {
    furnish_account(&mut visit.page);
    let me = visit.session.principal().id;
    let (_, profile) = visit.session.profile(me).await?;
    Ok(html(&form(&visit.page, &profile)))
}

/// Stores the caller's own profile.
pub async fn save(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let me = visit.session.principal().id;
    let changed = match read(&fields) {
        Ok(profile) => visit.session.set_profile(me, profile).await,
        Err(error) => Err(error),
    };
    let error = match changed {
        Err(error) if error.code() == Code::Overtaken => {
            Error::conflict(visit.page.s("profile.overtaken")).with_code(Code::Overtaken)
        }
        Ok(_) => return Ok(done(&address_of(me), &Flash::new("toast.profile", ""))),
        Err(error) => error,
    };
    furnish_account(&mut visit.page);
    // What was typed stays. Who has read that the profile was changed meanwhile may save over that.
    let revision = match error.code() {
        Code::Overtaken => visit.session.profile(me).await?.1.revision,
        _ => fields.text("revision").parse().unwrap_or_default(),
    };
    let again = form(&visit.page, &Profile { revision, ..Profile::default() }).refilled(&fields);
    refuse::show_form_again(again, error)
}

fn read(fields: &Fields) -> model::Result<Profile> {
    let revision = fields.text("revision").parse();
    Ok(Profile {
        revision: revision.map_err(|_| Error::invalid("the revision of the profile is not a number"))?,
        job_title: fields.text("job_title"),
        department: fields.text("department"),
        office: fields.text("office"),
        phone: fields.text("phone"),
        web_address: fields.text("web_address"),
        about: fields.text("about"),
        has_picture: false,
    })
}

/// Stores the caller's picture.
pub async fn upload_picture(State(state): State<AppState>, visit: Visit, request: Request) -> PageResult {
    let picture = SmallImage::new(image::receive(&state, &visit, request).await?)?;
    visit.session.set_profile_picture(visit.session.principal().id, Some(picture)).await?;
    Ok(done("/account", &Flash::new("toast.picture", "")))
}

/// Removes the caller's picture.
pub async fn remove_picture(sent: SubmittedForm) -> PageResult {
    let session = &sent.visit.session;
    session.set_profile_picture(session.principal().id, None).await?;
    Ok(done("/account", &Flash::new("toast.picture-removed", "")))
}
