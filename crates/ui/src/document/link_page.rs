//! The pages for the recipients of a link: a document, the contents of a folder, or a form that takes files.

use askama::Template;
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use model::{Code, Error, Id, MAX_COMMENT, Result};
use repository::{LinkContent, LinkListing, LinkProof, OpenedLink, UploadLink, UploadOptions};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::file_form::{self, Part, broken, short};
use crate::frame::format;
use crate::frame::page::{Page, html};
use crate::frame::{fields, refuse};
use http_core::identity;
use http_core::protocol::content_type;
use http_core::server::error;
use http_core::server::request_body::{self, ReadAheadLimit};
use http_core::server::state::AppState;
use http_core::transfer::send;

/// Limit on the characters of the name that a sender of files gives.
const MAX_SENDER: usize = 100;

/// Way in which a browser shows the document itself.
enum Shown {
    Nothing,
    Image,
    Audio,
    Video,
    /// Another document that the browser shows on a page of its own.
    Page,
}

/// The page of a document, and the question for the password of any link.
#[derive(Template)]
#[template(path = "link-front.html")]
struct LinkFrontPage<'a> {
    page: &'a Page,
    opened: &'a OpenedLink,
    /// Kind of the document; empty for a folder.
    kind: String,
    /// Size of the document in bytes; `None` for a folder.
    size: Option<u64>,
    shown: Shown,
    fault: String,
    /// Identifier and secret, as the address has them.
    link_path: String,
}

#[derive(Template)]
#[template(path = "link-folder.html")]
struct FolderPage<'a> {
    page: &'a Page,
    opened: &'a OpenedLink,
    listing: LinkListing,
    password: String,
}

#[derive(Template)]
#[template(path = "link-upload.html")]
struct UploadPage<'a> {
    page: &'a Page,
    opened: &'a OpenedLink,
    /// The password as it was typed; empty for a link without one.
    password: String,
    sender: String,
    /// Names of the files that were sent, as they were sent.
    sent: Vec<String>,
    fault: String,
    /// Identifier and secret, as the address has them.
    link_path: String,
}

/// Query parameters: the folder to show.
#[derive(Default, Deserialize)]
pub struct Within {
    #[serde(default)]
    at: String,
}

/// A link as its address names it, and the language of its visitor.
struct LinkVisitor {
    page: Page,
    proof: LinkProof,
    opened: OpenedLink,
}

impl LinkVisitor {
    async fn of(state: &AppState, (link, secret): (String, String), page: Page, parts: &Parts) -> Result<Self> {
        let link: Id = link.parse().map_err(|_| ended())?;
        let opened = state.repository().open_link(link, &secret).await?;
        let client = identity::client(parts);
        Ok(Self { page, proof: LinkProof { link, secret, password: String::new(), client }, opened })
    }

    fn link_path(&self) -> String {
        format!("{}/{}", self.proof.link, self.proof.secret)
    }

    /// Returns the page of a document, or the question for the password.
    fn front(&self, fault: String) -> Response {
        let opened = &self.opened;
        let (kind, size, shown) = match &opened.content {
            LinkContent::Document { size, media_type } => {
                let kind = format::media(self.page.language, media_type, &opened.name).into_owned();
                // A look at a document is a download, which is counted.
                let may_show = !opened.has_password && !opened.is_counted;
                (kind, Some(*size), if may_show { shown_as(media_type) } else { Shown::Nothing })
            }
            LinkContent::Folder | LinkContent::Uploads => (String::new(), None, Shown::Nothing),
        };
        html(&LinkFrontPage { page: &self.page, opened, kind, size, shown, fault, link_path: self.link_path() })
    }

    async fn folder(self, state: &AppState, at: &str) -> PageResult {
        let at = if at.is_empty() { None } else { Some(at.parse().map_err(|_| ended())?) };
        match state.repository().link_folder(&self.proof, at).await {
            Ok(listing) => {
                let Self { page, proof, opened } = &self;
                Ok(html(&FolderPage { page, opened, listing, password: proof.password.clone() }))
            }
            Err(error) => self.refused(error),
        }
    }

    fn empty_upload_page(&self) -> Response {
        self.upload_page(String::new(), Vec::new(), String::new())
    }

    fn upload_page(&self, sender: String, sent: Vec<String>, fault: String) -> Response {
        let (link_path, password) = (self.link_path(), self.proof.password.clone());
        html(&UploadPage { page: &self.page, opened: &self.opened, password, sender, sent, fault, link_path })
    }

    /// Asks for the password again, or passes another error on.
    fn refused(&self, error: Error) -> PageResult {
        if !matches!(error.code(), Code::WrongLinkPassword | Code::TooManyAttempts) {
            return Err(error.into());
        }
        let mut response = self.front(refuse::message_for(&self.page, &error));
        *response.status_mut() = error::status(&error);
        error::add_retry_after(&error, &mut response);
        Ok(response)
    }
}

fn shown_as(media_type: &str) -> Shown {
    let Some(known) = content_type::shown_as(media_type) else { return Shown::Nothing };
    match known.split('/').next() {
        Some("image") => Shown::Image,
        Some("audio") => Shown::Audio,
        Some("video") => Shown::Video,
        _ => Shown::Page,
    }
}

/// Shows what a link leads to, or asks for its password.
pub async fn open(
    State(state): State<AppState>,
    address: Path<(String, String)>,
    Query(within): Query<Within>,
    page: Page,
    request: Request,
) -> PageResult {
    let (parts, _) = request.into_parts();
    let visitor = LinkVisitor::of(&state, address.0, page, &parts).await?;
    match visitor.opened.content {
        LinkContent::Folder if !visitor.opened.has_password => visitor.folder(&state, &within.at).await,
        LinkContent::Uploads if !visitor.opened.has_password => Ok(visitor.empty_upload_page()),
        _ => Ok(visitor.front(String::new())),
    }
}

/// Sends the document of a link, or one in its folder; or shows the folder, or the form that takes files.
pub async fn download(
    State(state): State<AppState>,
    address: Path<(String, String)>,
    page: Page,
    request: Request,
) -> PageResult<Response> {
    let (parts, body) = request.into_parts();
    let mut visitor = LinkVisitor::of(&state, address.0, page, &parts).await?;
    let fields = fields::read(body, request_body::MAX_ANONYMOUS_BODY).await?;
    visitor.proof.password = fields.text("password");
    let document = fields.trimmed("document");
    if visitor.opened.content == LinkContent::Folder && document.is_empty() {
        return visitor.folder(&state, &fields.trimmed("at")).await;
    }
    if visitor.opened.content == LinkContent::Uploads {
        return match state.repository().upload_link(&visitor.proof).await {
            Ok(_) => Ok(visitor.empty_upload_page()),
            Err(error) => visitor.refused(error),
        };
    }
    let document = if document.is_empty() { None } else { Some(document.parse().map_err(|_| ended())?) };
    match state.repository().download_link(&visitor.proof, document).await {
        Ok(content) => Ok(send::content(&Method::GET, &parts.headers, content, false).await?),
        Err(error) => visitor.refused(error),
    }
}

/// Sends the document of a link without a password and a limit, for the page that shows it.
pub async fn view(
    State(state): State<AppState>,
    address: Path<(String, String)>,
    page: Page,
    request: Request,
) -> PageResult<Response> {
    let (parts, _) = request.into_parts();
    let visitor = LinkVisitor::of(&state, address.0, page, &parts).await?;
    if visitor.opened.has_password || visitor.opened.is_counted {
        return Err(ended().into());
    }
    let content = state.repository().view_link(&visitor.proof).await?;
    Ok(send::content(&parts.method, &parts.headers, content, true).await?)
}

/// Stores the files that the visitor of a link sends.
pub async fn receive(
    State(state): State<AppState>,
    address: Path<(String, String)>,
    request: Request,
) -> PageResult<Response> {
    let (mut parts, body) = request.into_parts();
    let page = Page::from_request_parts(&mut parts, &state).await.unwrap_or_else(|never| match never {});
    let mut visitor = LinkVisitor::of(&state, address.0, page, &parts).await?;
    let request = Request::from_parts(parts, body);
    if visitor.opened.content != LinkContent::Uploads {
        return Err(ended().into());
    }
    let mut typed = Sending::default();
    match store(&state, &mut visitor, request, &mut typed).await {
        Ok(()) => Ok(visitor.upload_page(String::new(), typed.sent, String::new())),
        Err(error) => {
            let status = error::status(&error);
            error::log(&error, status);
            let fault = refuse::message_for(&visitor.page, &error);
            let mut response = visitor.upload_page(typed.sender, typed.sent, fault);
            *response.status_mut() = status;
            error::add_retry_after(&error, &mut response);
            Ok(response)
        }
    }
}

/// Data read from a form with files so far.
#[derive(Default)]
struct Sending {
    sender: String,
    sent: Vec<String>,
}

/// Stores the files of the form one after the other. Password and name stand before them.
async fn store(state: &AppState, visitor: &mut LinkVisitor, request: Request, typed: &mut Sending) -> Result<()> {
    let ahead = ReadAheadLimit::default();
    let mut parts = file_form::open(state, request, &ahead).await?;
    let mut link = None;
    while let Some(mut part) = parts.next_field().await.map_err(broken)? {
        ahead.caught_up();
        match part.name().unwrap_or_default() {
            "password" => visitor.proof.password = short(&mut part, &ahead, 4_096).await?,
            "sender" => {
                let sender = short(&mut part, &ahead, 4 * MAX_SENDER).await?;
                typed.sender = sender.trim().chars().take(MAX_SENDER).collect();
            }
            "file" => {
                let link = match link.as_ref() {
                    Some(link) => link,
                    None => link.insert(state.repository().upload_link(&visitor.proof).await?),
                };
                let name = take_file(link, &mut part, &ahead, visitor, &typed.sender).await?;
                // Not the name under which the file is stored: it would tell what else is in the folder.
                typed.sent.push(name);
            }
            _ => {}
        }
        file_form::drain(&mut part, &ahead).await?;
    }
    if typed.sent.is_empty() { Err(file_form::no_file()) } else { Ok(()) }
}

/// Stores one file, and returns its name as it was sent.
async fn take_file(
    link: &UploadLink,
    part: &mut Part<'_>,
    ahead: &ReadAheadLimit,
    visitor: &LinkVisitor,
    sender: &str,
) -> Result<String> {
    let name = file_form::name_of(part)?;
    let shown = name.as_str().to_owned();
    let comment = match sender {
        "" => visitor.page.s("link.sent-by-link").to_owned(),
        sender => visitor.page.f1("link.sent-by", sender),
    };
    let options = UploadOptions {
        media_type: part.content_type().map(ToOwned::to_owned),
        comment: comment.chars().take(MAX_COMMENT).collect(),
        ..UploadOptions::default()
    };
    let mut upload = link.begin(name, options, &visitor.proof.client).await?;
    while let Some(chunk) = part.chunk().await.map_err(broken)? {
        ahead.caught_up();
        upload.write(chunk).await?;
    }
    upload.finish().await?;
    Ok(shown)
}

fn ended() -> Error {
    Error::not_found("this link has ended or was revoked: ask the sender for a new one").with_code(Code::LinkEnded)
}

impl LinkFrontPage<'_> {
    /// Returns whether the page shows the document itself.
    const fn is_wide(&self) -> bool {
        matches!(self.shown, Shown::Image | Shown::Audio | Shown::Video)
    }

    /// Returns whether the browser shows the document on a page of its own.
    const fn opens_page(&self) -> bool {
        matches!(self.shown, Shown::Page)
    }
}
