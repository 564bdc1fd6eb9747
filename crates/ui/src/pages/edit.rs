//! Writing pages: the form for a new one, the editor, its preview, and saving.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use model::{Code, Error, ErrorKind, Id, MAX_COMMENT, Name, Result, Right, Versioning};
use repository::{Destination, Item, OnConflict, Preconditions, Saved, Session, Target, UploadOptions};

use super::page_document::{self, MAX_PAGE, too_large};
use super::parts::{self, PartKind};
use super::show::{self, site_of};
use super::text;
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
    tools: [Tool; 10],
    kinds: [PartKind; 7],
    max_comment: usize,
    /// True if the library has drafts and the caller may publish.
    may_publish: bool,
    has_drafts: bool,
    /// True if the caller has the page checked out.
    is_held: bool,
}

#[derive(Template)]
#[template(path = "page-preview.html")]
struct PreviewPart<'a> {
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
        Ok(saved) => Ok(done(&format!("/items/{}/edit", saved.id), &Flash::new("toast.created", saved.name))),
        Err(error) => refuse::show_form_again(new_form(&visit.page, &place, &title), error),
    }
}

async fn create(session: &Session, place: &Item, title: &str) -> Result<Saved> {
    if title.is_empty() {
        return Err(Error::invalid("a page needs a title").with_code(Code::InvalidName));
    }
    let name = Name::new(format!("{}{EXTENSION}", title.replace('/', "-")))?;
    let destination = Destination::Child { parent: place.id, name };
    let options = UploadOptions { on_conflict: OnConflict::Fail, ..UploadOptions::default() };
    store(session, &destination, options, text::with_title(title)).await
}

/// Shows the editor.
pub async fn ask(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = find_for(&visit, &id, Right::Edit).await?;
    require_page(&item)?;
    let (content, text) = page_document::read(&visit.session, &item).await?;
    let draft = Draft { text, comment: String::new(), base: content.etag(), fault: String::new(), is_overtaken: false };
    show_editor(&mut visit, item.id, draft, StatusCode::OK).await
}

fn require_page(item: &Item) -> Result<()> {
    match page_document::is_page(item) {
        true => Ok(()),
        false => Err(Error::conflict(format!(
            "\"{}\" cannot be edited here: only Markdown documents of up to {} KiB can",
            item.name,
            MAX_PAGE >> 10
        ))
        .with_code(Code::WrongKind)),
    }
}

async fn show_editor(visit: &mut Visit, id: Id, draft: Draft, status: StatusCode) -> PageResult {
    let target = Target::Id(id);
    let way = visit.session.item_with_ancestors(&target).await?;
    navigation::fill_side_bar(visit, &way).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is no such page"))?;
    let settings = visit.session.library_settings(&target).await?;
    let mut crumbs = navigation::crumbs(&way);
    crumbs.push(Crumb { href: address::browse(&item.path), label: item.name.clone() });
    let is_held = item.check_out.is_some_and(|held| held.by == visit.session.principal().id);
    let has_drafts = settings.versioning == Versioning::MajorMinor && !is_held;
    let mut response: Response = html(&Editor {
        page: &visit.page,
        crumbs,
        draft,
        tools: tools(&visit.page),
        kinds: parts::kinds(&visit.page),
        max_comment: MAX_COMMENT,
        may_publish: has_drafts && item.rights.has(Right::Publish),
        has_drafts,
        is_held,
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

/// Saves a page. If somebody else has saved it meanwhile, the editor is shown again with what was typed.
pub async fn save(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let item = find(&visit, &id).await?;
    require_page(&item)?;
    let (text, comment, base) = (fields.text("text").replace('\0', ""), fields.trimmed("comment"), fields.text("base"));
    let publish = fields.text("do") == "publish";
    let options = UploadOptions {
        comment: comment.clone(),
        publish,
        preconditions: Preconditions { if_match: Some(vec![base.clone()]), ..Preconditions::default() },
        ..UploadOptions::default()
    };
    match store(&visit.session, &Destination::Document(item.id), options, text.clone()).await {
        Ok(saved) => {
            let flash =
                Flash::new(if publish { "toast.published" } else { "toast.page-saved" }, saved.number.to_string());
            Ok(done(&address::browse(&saved.path), &flash))
        }
        Err(error) => {
            let is_mendable = matches!(
                error.kind(),
                ErrorKind::Conflict
                    | ErrorKind::Invalid
                    | ErrorKind::Locked
                    | ErrorKind::Exhausted
                    | ErrorKind::Unavailable
            );
            if !is_mendable {
                return Err(error.into());
            }
            let status = error::status(&error);
            error::log(&error, status);
            let is_overtaken = error.code() == Code::PreconditionFailed;
            let (base, fault) = match is_overtaken {
                // With the tag of the present version, the next attempt replaces it.
                true => {
                    let present = page_document::read(&visit.session, &item).await?.0.etag();
                    (present, visit.page.s("page.overtaken").to_owned())
                }
                false => (base, refuse::message_for(&visit.page, &error)),
            };
            show_editor(&mut visit, item.id, Draft { text, comment, base, fault, is_overtaken }, status).await
        }
    }
}

async fn store(session: &Session, destination: &Destination, options: UploadOptions, text: String) -> Result<Saved> {
    if text.len() as u64 > MAX_PAGE {
        return Err(too_large());
    }
    let options = UploadOptions { media_type: Some(MARKDOWN.to_owned()), ..options };
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
    let drawn = show::draw(&visit, site_of(&way)?, &item.path, text).await?;
    let title = if drawn.title.is_empty() { show::stem(&item.name).to_owned() } else { drawn.title };
    Ok(html(&PreviewPart { page: &visit.page, title, body: drawn.body, fault: drawn.fault }).into_response())
}
