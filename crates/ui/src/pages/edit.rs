//! Writing pages and other texts: the form for a new page, the editor, its preview, and saving.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use model::{Code, Error, Id, MAX_COMMENT, Name, Result, Right, Versioning};
use repository::{Destination, Item, OnConflict, Preconditions, Saved, Session, Target, UploadOptions};

use super::page_document::{self, LineEnds, MAX_PAGE, Source, too_large};
use super::parts::{self, PartKind};
use super::show::{self, site_of};
use super::text;
use crate::document::checkout::check_out_if_required;
use crate::document::preview;
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form};
use crate::frame::format::icon;
use crate::frame::item::{find, find_for, require};
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::refuse;
use crate::frame::visit::{SubmittedForm, Visit};
use http_core::server::error;

/// Media type of pages.
const MARKDOWN: &str = "text/markdown";
/// Extension of their names.
const EXTENSION: &str = ".md";

/// The editor as it was submitted or is to be shown.
struct Draft {
    text: String,
    comment: String,
    /// Entity tag of the version that is edited.
    base: String,
    /// How the lines end in the stored text.
    line_ends: LineEnds,
    /// Reason why it was not saved; empty for none.
    fault: String,
    /// True if somebody else has saved the page since the editor was opened.
    is_overtaken: bool,
}

/// A button of the editor, which scripts carry out.
struct Tool {
    word: &'static str,
    sign: &'static str,
    label: &'static str,
}

#[derive(Template)]
#[template(path = "page-edit.html")]
struct Editor<'a> {
    page: &'a Page,
    item: &'a Item,
    crumbs: Vec<Crumb>,
    draft: Draft,
    /// True for a page, which is Markdown; false for a plain text.
    is_page: bool,
    tools: [Tool; 10],
    kinds: [PartKind; 7],
    /// The user, for what scripts keep of a text.
    user: Id,
    /// Path of the folder of the page, where pictures are stored.
    folder: &'a str,
    /// Path of its site, in which links start from the folder.
    site: &'a str,
    max_comment: usize,
    /// The label of the button that saves.
    save: &'static str,
    /// True if saving makes a draft and the caller may publish it at once.
    may_publish: bool,
}

#[derive(Template)]
#[template(path = "page-preview.html")]
struct EditorPreview<'a> {
    page: &'a Page,
    title: String,
    body: String,
    fault: String,
}

/// Shows the form for a new page.
pub async fn ask_new(visit: Visit, Path(id): Path<String>) -> PageResult {
    let place = find_for(&visit, &id, Right::Add).await?;
    Ok(html(&new_form(&visit.page, &place, "")))
}

fn new_form<'a>(page: &'a Page, place: &Item, title: &str) -> Form<'a> {
    Form {
        page,
        title: page.s("page.new").into(),
        icon: icon("plus"),
        action: format!("/items/{}/new-page", place.id),
        fields: vec![Field::line("name", page.s("page.title"), title).required().hint(page.s("page.title-hint"))],
        submit: page.s("page.create").into(),
        danger: false,
        back: address::browse(&place.path),
        fault: String::new(),
    }
}

/// Makes a page and opens the editor.
pub async fn make(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let place = find(&visit, &id).await?;
    let title = fields.trimmed("name");
    match create(&visit.session, &place, &title).await {
        Ok(saved) => {
            let is_held = check_out_if_required(&visit.session, saved.id).await?;
            let toast = if is_held { "toast.checked-out" } else { "toast.created" };
            Ok(done(&format!("/items/{}/edit", saved.id), &Flash::new(toast, saved.name)))
        }
        Err(error) => refuse::show_form_again(new_form(&visit.page, &place, &title), error),
    }
}

async fn create(session: &Session, place: &Item, title: &str) -> Result<Saved> {
    if title.is_empty() {
        return Err(Error::invalid("a page needs a title").with_code(Code::InvalidName));
    }
    let name = Name::new(format!("{}{EXTENSION}", title.replace('/', "-")))?;
    let destination = Destination::Child { parent: place.id, name };
    let options = UploadOptions {
        on_conflict: OnConflict::Fail,
        media_type: Some(MARKDOWN.to_owned()),
        ..UploadOptions::default()
    };
    store(session, &destination, options, text::with_title(title)).await
}

/// Shows the editor.
pub async fn ask(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = find_for(&visit, &id, Right::Edit).await?;
    require_text(&item)?;
    if item.check_out.is_none() && visit.session.library_settings(&Target::Id(item.id)).await?.require_checkout {
        let message = format!("\"{}\" must be checked out before it is changed", item.name);
        return Err(Error::conflict(message).with_code(Code::CheckoutRequired).into());
    }
    let Source { content, text, line_ends } = page_document::read(&visit.session, &item).await?;
    let Some(line_ends) = line_ends else {
        let message = format!(
            "\"{}\" is not in UTF-8, or its lines end in several ways: edit it with another program, which keeps that",
            item.name
        );
        return Err(Error::conflict(message).with_code(Code::NotEditable).into());
    };
    let draft = Draft {
        text,
        comment: String::new(),
        base: content.etag(),
        line_ends,
        fault: String::new(),
        is_overtaken: false,
    };
    show_editor(&mut visit, item.id, draft, StatusCode::OK).await
}

fn require_text(item: &Item) -> Result<()> {
    if page_document::is_text(item) { Ok(()) } else { Err(not_editable(item)) }
}

fn not_editable(item: &Item) -> Error {
    let (name, most) = (&item.name, MAX_PAGE >> 10);
    let text = format!("\"{name}\" cannot be edited here: only texts of up to {most} KiB can");
    Error::conflict(text).with_code(Code::WrongKind)
}

async fn show_editor(visit: &mut Visit, id: Id, mut draft: Draft, status: StatusCode) -> PageResult {
    let target = Target::Id(id);
    let way = visit.session.item_with_ancestors(&target).await?;
    navigation::fill_side_bar(visit, &way).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is no such page"))?;
    let settings = visit.session.library_settings(&target).await?;
    let mut crumbs = navigation::crumbs(&way);
    crumbs.push(Crumb { href: address::browse(&item.path), label: item.name.clone() });
    let is_held = item.check_out.is_some_and(|held| held.by == visit.session.principal().id);
    // A working copy becomes a draft when it is checked in.
    let has_drafts = settings.versioning == Versioning::MajorMinor && !is_held;
    if draft.is_overtaken {
        let keeps_it = settings.versioning != Versioning::None && !is_held;
        let key = if keeps_it { visit.page.s("page.overtaken") } else { visit.page.s("page.overtaken-for-good") };
        draft.fault = key.to_owned();
    }
    let site = site_of(&way)?;
    let page = &visit.page;
    let save = match (is_held, has_drafts) {
        (true, _) => page.s("page.save-copy"),
        (_, true) => page.s("page.save-draft"),
        _ if draft.is_overtaken => page.s("page.save-over"),
        _ => page.s("action.save"),
    };
    let mut response: Response = html(&Editor {
        page,
        crumbs,
        draft,
        is_page: page_document::is_page(item),
        tools: tools(page),
        kinds: parts::kinds(visit, site).await?,
        site: &site.path,
        folder: item.path.rsplit_once('/').map_or("", |(folder, _)| folder),
        max_comment: MAX_COMMENT,
        save,
        may_publish: has_drafts && settings.may_publish(item.rights),
        user: visit.session.principal().id,
        item,
    });
    *response.status_mut() = status;
    Ok(response)
}

fn tools(page: &Page) -> [Tool; 10] {
    let tool = |word, sign, label| Tool { word, sign, label };
    [
        tool("bold", "B", page.s("editor.bold")),
        tool("italic", "I", page.s("editor.italic")),
        tool("heading", "H", page.s("editor.heading")),
        tool("quote", "❝", page.s("editor.quote")),
        tool("list", "•", page.s("editor.list")),
        tool("numbers", "1.", page.s("editor.numbers")),
        tool("link", "↗", page.s("editor.link")),
        tool("picture", "▣", page.s("editor.picture")),
        tool("table", "▦", page.s("editor.table")),
        tool("code", "{}", page.s("editor.code")),
    ]
}

/// Saves a page or another text. If that fails, the editor is shown again with what was typed.
pub async fn save(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let id: Id = id.parse()?;
    let mut draft = Draft {
        // No text has this character.
        text: fields.text("text").replace('\0', ""),
        comment: fields.trimmed("comment"),
        base: fields.text("base"),
        line_ends: LineEnds::parse(&fields.text("line_ends")),
        fault: String::new(),
        is_overtaken: false,
    };
    let publish = fields.text("do") == "publish";
    let item = visit.session.item(&Target::Id(id)).await?;
    // The length is not checked here: somebody may have saved a longer text meanwhile, and the user may replace it.
    if !preview::is_text(&item) {
        return Err(not_editable(&item).into());
    }
    let media_type = if preview::is_markdown(&item) { MARKDOWN.to_owned() } else { item.media_type };
    let options = UploadOptions {
        comment: draft.comment.clone(),
        media_type: Some(media_type),
        publish,
        // A second click sends the same, and is no other person's change.
        idempotency_key: Some(key_of(&draft, publish)),
        preconditions: Preconditions { if_match: Some(vec![draft.base.clone()]), ..Preconditions::default() },
        ..UploadOptions::default()
    };
    let text = draft.line_ends.write(&draft.text);
    let error = match store(&visit.session, &Destination::Document(id), options, text).await {
        Ok(saved) => {
            let is_published = publish && saved.number.is_major();
            let toast = if is_published { "toast.published" } else { "toast.page-saved" };
            return Ok(done(&address::browse(&saved.path), &Flash::new(toast, saved.number.to_string())));
        }
        Err(error) => error,
    };
    let status = error::status(&error);
    error::log(&error, status);
    // What cannot even be found any more has no editor. Scripts keep the text until the window is closed.
    let Ok(present) = visit.session.item(&Target::Id(id)).await else { return Err(error.into()) };
    draft.is_overtaken = error.code() == Code::PreconditionFailed;
    match draft.is_overtaken {
        // With the tag of the present version, the next attempt replaces it.
        true => draft.base = present.etag(),
        false => draft.fault = refuse::message_for(&visit.page, &error),
    }
    show_editor(&mut visit, id, draft, status).await
}

/// Returns a key that the same text on the same version of the page has.
fn key_of(draft: &Draft, publish: bool) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [&draft.base, &draft.text, &draft.comment] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    format!("page-{publish}-{}", hasher.finalize().to_hex())
}

async fn store(session: &Session, destination: &Destination, options: UploadOptions, text: String) -> Result<Saved> {
    if text.len() as u64 > MAX_PAGE {
        return Err(too_large());
    }
    session.upload_bytes(destination, options, text.into_bytes().into()).await
}

/// Draws what is in the editor, as the caller would see it.
pub async fn preview(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item = find(&visit, &id).await?;
    require(&item, Right::Edit)?;
    let text = fields.text("text");
    if text.len() as u64 > MAX_PAGE {
        return Err(too_large().into());
    }
    let way = visit.session.item_with_ancestors(&Target::Id(item.id)).await?;
    let drawn = show::draw(&visit, site_of(&way)?, &item.path, text, true).await?;
    let title = show::title_of(&drawn, &item, None);
    Ok(html(&EditorPreview { page: &visit.page, title, body: drawn.body, fault: drawn.fault }).into_response())
}
