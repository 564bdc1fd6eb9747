//! How a site looks, as its settings page changes it: links, accent, logo and home page.

use axum::extract::{FromRequest, Multipart, Path, Query, Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use model::{Accent, Code, Error, Id, Result};
use repository::{LinkTarget, LogoImage, MAX_LOGO_BYTES, SiteLink, SiteLookChange, Target};
use serde::Deserialize;

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::pages::page_document;
use http_core::identity::csrf;
use http_core::server::request_body::{self, ReadAheadLimit};
use http_core::server::secure;
use http_core::server::state::AppState;

/// Prefix of the submitted target of a link to an item.
const ITEM: &str = "item:";

/// A link as it is edited.
pub struct EditedLink {
    /// What it says.
    pub label: String,
    /// Its target, as it is submitted.
    pub target: String,
    /// Its target in words.
    pub shown: String,
    /// The button that moved it last and keeps the focus: `up`, `down` or none.
    pub focus: &'static str,
}

impl EditedLink {
    /// Returns a link of a site for editing.
    pub fn of(link: &SiteLink, index: usize, moved: &str) -> Self {
        let (target, shown) = match &link.target {
            LinkTarget::Item { id, path } => (format!("{ITEM}{id}"), path.clone()),
            LinkTarget::Address(address) => (address.clone(), address.clone()),
        };
        let focus = ["up", "down"].into_iter().find(|way| moved == format!("{way}-{index}")).unwrap_or_default();
        Self { label: link.label.clone(), target, shown, focus }
    }
}

/// Stores the links in the order in which they were sent, after moving, removing or adding one.
pub async fn save_navigation(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let site: Id = id.parse()?;
    let mut links = sent_links(&fields)?;
    let mut moved = String::new();
    match step(&fields.text("do"), links.len()) {
        Some(("up", index)) if index > 0 => {
            links.swap(index, index - 1);
            moved = format!("up-{}", index - 1);
        }
        Some(("down", index)) if index + 1 < links.len() => {
            links.swap(index, index + 1);
            moved = format!("down-{}", index + 1);
        }
        Some(("remove", index)) => drop(links.remove(index)),
        _ => links.extend(added(&visit, &fields).await?),
    }
    let change = SiteLookChange { links: Some(links), ..SiteLookChange::default() };
    visit.session.change_site_look(&Target::Id(site), change).await?;
    let moved = if moved.is_empty() { moved } else { format!("?moved={moved}") };
    Ok(done(&format!("/items/{site}/site-settings{moved}#look"), &Flash::new("toast.navigation", "")))
}

/// Parses what to do with which link, such as `up-3`.
fn step(word: &str, links: usize) -> Option<(&str, usize)> {
    let (what, index) = word.split_once('-')?;
    index.parse().ok().filter(|index| *index < links).map(|index| (what, index))
}

fn sent_links(fields: &Fields) -> Result<Vec<SiteLink>> {
    let links = fields.all("label").zip(fields.all("target")).map(|(label, target)| {
        let target = match target.strip_prefix(ITEM) {
            Some(id) => LinkTarget::Item { id: id.parse()?, path: String::new() },
            None => LinkTarget::Address(target.to_owned()),
        };
        Ok(SiteLink { label: label.trim().to_owned(), target })
    });
    links.collect()
}

/// Returns the link to be added, if one was entered. The address of an item of the site becomes a link to the item,
/// which lasts when the item is renamed.
async fn added(visit: &Visit, fields: &Fields) -> Result<Option<SiteLink>> {
    let (label, item, typed) = (fields.trimmed("new-label"), fields.text("new-item"), fields.trimmed("new-address"));
    if !item.is_empty() {
        return Ok(Some(SiteLink { label, target: LinkTarget::Item { id: item.parse()?, path: String::new() } }));
    }
    if typed.is_empty() {
        return Ok(None);
    }
    let path = typed.strip_prefix(visit.origin.as_str()).filter(|path| path.starts_with('/')).unwrap_or(&typed);
    let is_page = path.starts_with("/browse/") && !path.contains(['?', '#']);
    let target = path.parse().ok().filter(|_| is_page).and_then(|uri| address::target(&uri).ok());
    if let Some(target) = target
        && let Ok(found) = visit.session.item(&target).await
        && let Ok(site) = visit.session.item(&Target::Id(fields.id("site")?)).await
        && site.collection_id == found.collection_id
    {
        return Ok(Some(SiteLink { label, target: LinkTarget::Item { id: found.id, path: String::new() } }));
    }
    Ok(Some(SiteLink { label, target: LinkTarget::Address(path.to_owned()) }))
}

/// Chooses the page that the site opens with; none without a page.
pub async fn save_home(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let site = Target::Id(id.parse()?);
    let home = if fields.text("page").is_empty() { None } else { Some(fields.id("page")?) };
    if let Some(home) = home {
        let found = visit.session.item(&Target::Id(home)).await?;
        if !page_document::is_page(&found) {
            let message = format!("\"{}\" is not a page: only a page can be the home page of a site", found.name);
            return Err(Error::conflict(message).with_code(Code::WrongKind).into());
        }
    }
    let change = SiteLookChange { home: Some(home), ..SiteLookChange::default() };
    visit.session.change_site_look(&site, change).await?;
    let path = visit.session.item(&site).await?.path;
    let toast = if home.is_some() { "toast.home-page" } else { "toast.no-home-page" };
    Ok(done(&address::browse(&path), &Flash::new(toast, "")))
}

/// Stores the colour of the site.
pub async fn save_accent(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let accent = Some(sent.fields.text("accent")).filter(|word| !word.is_empty());
    let accent = accent.as_deref().map(Accent::parse).transpose()?;
    let site: Id = id.parse()?;
    let change = SiteLookChange { accent: Some(accent), ..SiteLookChange::default() };
    sent.visit.session.change_site_look(&Target::Id(site), change).await?;
    Ok(done(&format!("/items/{site}/site-settings#look"), &Flash::new("toast.accent", "")))
}

/// Stores the logo of the site.
pub async fn upload_logo(
    State(state): State<AppState>,
    Path(id): Path<String>,
    visit: Visit,
    request: Request,
) -> PageResult {
    let site: Id = id.parse()?;
    let logo = LogoImage::new(receive(&state, &visit, request).await?)?;
    let change = SiteLookChange { logo: Some(Some(logo)), ..SiteLookChange::default() };
    visit.session.change_site_look(&Target::Id(site), change).await?;
    Ok(done(&format!("/items/{site}/site-settings#look"), &Flash::new("toast.logo", "")))
}

/// Reads the file of the form, at most a byte more than a logo may have.
async fn receive(state: &AppState, visit: &Visit, request: Request) -> Result<Vec<u8>> {
    let ahead = ReadAheadLimit::default();
    let mut parts = Multipart::from_request(request.map(|body| ahead.of(body)), state).await.map_err(|e| {
        Error::invalid("the upload must be a form with a file").with_code(Code::UnsupportedMediaType).with_source(e)
    })?;
    let broken = |error| {
        request_body::refused(&error)
            .unwrap_or_else(|| Error::invalid("the upload did not arrive complete: send it again").with_source(error))
    };
    let mut token = String::new();
    while let Some(mut part) = parts.next_field().await.map_err(broken)? {
        ahead.caught_up();
        let (name, mut bytes) = (part.name().unwrap_or_default().to_owned(), Vec::new());
        while let Some(chunk) = part.chunk().await.map_err(broken)? {
            ahead.caught_up();
            let room = (MAX_LOGO_BYTES + 1).saturating_sub(bytes.len());
            bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        match name.as_str() {
            "form_token" => token = String::from_utf8_lossy(&bytes).into_owned(),
            "file" => {
                csrf::check(&visit.form_key, &token)?;
                return Ok(bytes);
            }
            _ => {}
        }
    }
    Err(Error::invalid("no file was chosen"))
}

/// Removes the logo.
pub async fn remove_logo(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let site: Id = id.parse()?;
    let change = SiteLookChange { logo: Some(None), ..SiteLookChange::default() };
    sent.visit.session.change_site_look(&Target::Id(site), change).await?;
    Ok(done(&format!("/items/{site}/site-settings#look"), &Flash::new("toast.logo-removed", "")))
}

/// Query parameters of the logo.
#[derive(Deserialize)]
pub struct Mark {
    /// Changes with every new logo, so that browsers may keep it for ever.
    mark: Option<String>,
}

/// Sends the logo. It is shown as a picture only: whatever the file contains, the browser runs nothing of it.
pub async fn logo(visit: Visit, Path(id): Path<String>, Query(Mark { mark }): Query<Mark>) -> PageResult {
    let logo = visit.session.site_logo(&Target::Id(id.parse()?)).await?;
    let kind = match logo.media_type.as_str() {
        "image/png" => "image/png",
        "image/jpeg" => "image/jpeg",
        "image/webp" => "image/webp",
        _ => "application/octet-stream",
    };
    let keep = if mark.is_some() { "private, max-age=31536000, immutable" } else { "private, no-cache" };
    let mut response: Response = logo.bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    headers.insert(header::CONTENT_SECURITY_POLICY, secure::CONTENT_POLICY);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_name_links_that_are_there() {
        assert_eq!(step("up-0", 1), Some(("up", 0)));
        assert_eq!(step("remove-2", 3), Some(("remove", 2)));
        for odd in ["up-1", "save", "", "up", "up--1", "up-99999999999999999999"] {
            assert_eq!(step(odd, 1), None, "{odd}");
        }
    }

    #[test]
    fn links_are_read_in_their_order() {
        let fields = Fields::parse(b"label=A&target=item%3A7&label=+B+&target=https%3A%2F%2Fx").unwrap();
        let link = |label: &str, target| SiteLink { label: label.to_owned(), target };
        let expected = vec![
            link("A", LinkTarget::Item { id: Id::new(7), path: String::new() }),
            link("B", LinkTarget::Address("https://x".to_owned())),
        ];
        assert_eq!(sent_links(&fields).unwrap(), expected);
        assert!(sent_links(&Fields::parse(b"label=A&target=item%3Ax").unwrap()).is_err());
    }
}
