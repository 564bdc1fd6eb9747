//! `/ui-kit`: every component of the interface on one page, for viewing and testing. It exists only in builds with
//! debug assertions, as the browser tests run them.

mod colour;

use askama::Template;
use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_core::server::state::AppState;
use model::Timestamp;

use super::frame::assets;
use super::frame::form::{Choice, Field, Form, Input};
use super::frame::format::icon;
use super::frame::page::{NavGroup, NavLink, Page, Who, html};

#[derive(Template)]
#[template(path = "kit.html")]
struct Kit<'a> {
    page: &'a Page,
    now: Timestamp,
    files: Vec<(&'static str, u64)>,
    pairs: Vec<colour::Pair>,
    icons: Vec<&'static str>,
    kinds: &'static [&'static str],
    spaces: &'static [(u8, u8)],
}

/// One file extension for each icon.
const KINDS: &[&str] = &["pdf", "docx", "xlsx", "pptx", "png", "zip", "rs", "mp4", "eml", "txt", "bin"];
/// Spacing steps, with their pixels at the default text size.
const SPACES: &[(u8, u8)] = &[(1, 4), (2, 8), (3, 12), (4, 16), (5, 24), (6, 36), (7, 56)];

/// Routes of the kit, with the style sheet that only it uses.
pub fn routes() -> Router<AppState> {
    Router::new().route("/ui-kit", get(kit)).route("/ui-kit/form", get(form)).route("/ui-kit/kit.css", get(style))
}

async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("kit/kit.css"))
}

/// Shows the page of components.
async fn kit(mut page: Page) -> Response {
    sample_frame(&mut page);
    let files = vec![
        ("Annual report.pdf", 2_412_993),
        ("Offer 2026.docx", 48_120),
        ("Budget.xlsx", 91_022),
        ("Kick-off.pptx", 7_340_032),
        ("Façade at night, seen from the river, with a very long name that has to break somewhere.jpeg", 5_140_110),
        ("Sources.zip", 120_340_110),
        ("notes.txt", 812),
    ];
    let icons = assets::icons().iter().map(String::as_str).collect();
    html(&Kit {
        page: &page,
        now: Timestamp::now(),
        files,
        pairs: colour::pairs(),
        icons,
        kinds: KINDS,
        spaces: SPACES,
    })
}

/// Shows a form with a field of every kind.
async fn form(mut page: Page) -> Response {
    sample_frame(&mut page);
    let choices = || {
        vec![
            Choice::new("read", "Read", true).hint("Open documents and their earlier versions"),
            Choice::new("contribute", "Contribute", false).hint("Add, change and delete documents"),
        ]
    };
    let fields = vec![
        Field::paragraph("A paragraph that explains what this is for."),
        Field::line("name", "Name", "Offer 2026").required().hint("As people will see it"),
        Field::of("comment", "Comment", Input::Lines),
        Field::of("role", "Role", Input::Radio(choices())),
        Field::of("kind", "Kind", Input::Select(choices())),
        Field::of("rights", "Rights", Input::Ticks(choices())),
        Field::of("notify", "Tell them by mail", Input::Tick(true)),
        Field::of("file", "File", Input::File).required(),
    ];
    html(&Form {
        page: &page,
        title: "A form".into(),
        icon: icon("pencil"),
        action: "/ui-kit/form".into(),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: "/ui-kit".into(),
        fault: "The name is taken; choose another.".into(),
    })
}

fn sample_frame(page: &mut Page) {
    page.who = Some(Who { login: "anna".into(), name: "Anna Berg".into(), administrator: true });
    let link = |icon_name: &'static str, label: &str, current| NavLink {
        href: "/ui-kit".into(),
        icon: icon(icon_name),
        label: label.into(),
        current,
        inside: None,
    };
    page.nav = vec![
        NavGroup {
            title: String::new(),
            links: vec![link("home", "Strongroom", false), link("trash", "Recycle bin", false)],
        },
        NavGroup {
            title: "Libraries".into(),
            links: vec![link("library", "Documents", true), link("library", "Offers", false)],
        },
        NavGroup { title: "Sites".into(), links: vec![link("site", "Sales", false)] },
    ];
}
