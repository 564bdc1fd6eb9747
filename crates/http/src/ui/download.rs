//! Sending a document's bytes to a browser.

use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use futures_util::stream;
use model::Result;
use repository::{Content as Opened, ReadRange, Session, Target, VersionChoice};
use serde::Deserialize;

use super::caller::Visit;
use super::fault::Shown;
use crate::content::{self, Content};

/// What of the document is wanted, and how.
#[derive(Deserialize)]
pub struct Wish {
    version: Option<String>,
    show: Option<String>,
}

/// The document with this identifier; the name in the address is for people and programs that look at it.
pub async fn download(
    visit: Visit,
    Path((id, _)): Path<(String, String)>,
    Query(wish): Query<Wish>,
    method: Method,
    headers: HeaderMap,
) -> Shown {
    let choice = match &wish.version {
        Some(number) => VersionChoice::Number(number.parse()?),
        None => VersionChoice::Visible,
    };
    let target = Target::Id(id.parse()?);
    Ok(send(&visit.session, &target, choice, &method, &headers, wish.show.is_some()).await?)
}

/// Answers a GET or HEAD of a document; for every protocol.
pub async fn send(
    session: &Session,
    target: &Target,
    choice: VersionChoice,
    method: &Method,
    headers: &HeaderMap,
    inline: bool,
) -> Result<Response> {
    let opened = session.open(target, choice).await?;
    let etag = format!("\"{}\"", opened.etag());
    let content = Content {
        name: &opened.item.name,
        media_type: &opened.version.media_type,
        length: opened.size(),
        etag: &etag,
        modified: opened.item.modified_at,
        inline,
    };
    let plan = content::plan(method, headers, &content)?;
    let mut response = plan.response;
    if let Some((start, count)) = plan.bytes.filter(|(_, count)| *count > 0) {
        *response.body_mut() = body(opened, start, count)?;
    }
    Ok(response)
}

fn body(mut opened: Opened, start: u64, count: u64) -> Result<Body> {
    if count < opened.size() {
        opened.set_range(ReadRange { start, end: start + count });
    } else if let Some(whole) = opened.try_whole() {
        return Ok(Body::from(whole?));
    }
    Ok(Body::from_stream(stream::try_unfold(opened, |mut opened| async move {
        match opened.next_chunk().await {
            Ok(Some(chunk)) => Ok(Some((chunk, opened))),
            Ok(None) => Ok(None),
            Err(error) => {
                // The status is sent already; cutting the body tells the client that something is wrong.
                crate::error::log(&error, crate::error::status(&error));
                Err(error)
            }
        }
    })))
}
