//! How a site looks, as its settings page changes it: links, accent, logo and home page.

use axum::extract::{Path, Query, Request, State};
use model::{Accent, Code, Error, Id, Result, SmallImage};
use repository::{LinkTarget, SiteLink, SiteLookChange, Target};
use serde::Deserialize;

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::image;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::pages::page_document;
use http_core::server::state::AppState;
use http_core::transfer;

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
    let logo = SmallImage::new(image::receive(&state, &visit, request).await?)?;
    let change = SiteLookChange { logo: Some(Some(logo)), ..SiteLookChange::default() };
    visit.session.change_site_look(&Target::Id(site), change).await?;
    Ok(done(&format!("/items/{site}/site-settings#look"), &Flash::new("toast.logo", "")))
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
    Ok(transfer::image::response(logo, mark.is_some()))
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
