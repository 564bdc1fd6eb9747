//! Editing in the browser, in the editor of an office server.

use std::time::Duration;

use askama::Template;
use axum::extract::Path;
use axum::http::header::CONTENT_SECURITY_POLICY;
use model::{Error, Right, Timestamp};
use repository::{Item, Target};

use super::checkout::check_out_if_required;
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::item::{self, find};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use http_core::server::secure;

/// Time for which the editor may expect its token to be valid. The token ends earlier if it is not used.
const VALID_FOR: Duration = Duration::from_hours(24);

#[derive(Template)]
#[template(path = "edit-online.html")]
struct EditOnlinePage<'a> {
    page: &'a Page,
    item: &'a Item,
    /// Address of the editor, and its scheme and host.
    address: String,
    origin: String,
    token: String,
    /// End of the token in milliseconds since 1970 (WOPI, `access_token_ttl`).
    until: i64,
    back: String,
}

/// Returns whether a document can be edited in the browser by an office server.
pub fn can_edit(visit: &Visit, name: &str) -> bool {
    visit.editors.as_ref().is_some_and(|editors| editors.can_edit(&model::extension(name)))
}

/// Returns the extensions of the documents that can be edited in the browser, separated by spaces.
pub fn extensions(visit: &Visit) -> String {
    let known = visit.editors.as_ref();
    known.map(|editors| editors.extensions().collect::<Vec<_>>().join(" ")).unwrap_or_default()
}

/// Shows the page around the editor. Each load makes a token for the editor.
pub async fn open(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let visit = sent.visit;
    let item = find(&visit, &id).await?;
    let source = format!("{}/wopi/files/{}", visit.origin, item.id);
    let extension = model::extension(&item.name);
    let tag = visit.page.language.tag();
    // Nothing is checked out, and no token made, before there is an editor for it.
    item::require(&item, Right::Edit)?;
    let editor = visit.editors.as_ref().and_then(|editors| editors.page(&extension, &source, tag));
    let editor = editor.ok_or_else(|| {
        Error::not_found("no office server edits this kind of document in the browser: edit it in an office program")
    })?;
    let policy = secure::policy_with_frame_of(&editor.origin)?;
    check_out_if_required(&visit.session, item.id).await?;
    let token = visit.session.create_edit_token(&Target::Id(item.id)).await?;
    let mut response = html(&EditOnlinePage {
        page: &visit.page,
        back: address::browse(&item.path),
        address: editor.address,
        origin: editor.origin,
        token: token.secret,
        until: Timestamp::now().after(VALID_FOR).micros() / 1_000,
        item: &item,
    });
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}
