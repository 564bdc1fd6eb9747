//! COPY and MOVE.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use model::{Code, Error, ErrorKind, NodeKind};
use repository::Transfer;

use crate::error::{DavResult, Failure};
use crate::request::DavRequest;
use crate::wire::headers::{self, Depth};
use crate::wire::href;

use super::content::refuse_place;

/// Copies or moves the item to the URL in the `Destination` field.
pub async fn place(ask: DavRequest) -> DavResult {
    let fields = &ask.parts.headers;
    let to = href::parse(&headers::destination(fields)?)?;
    let (overwrite, depth) = (headers::overwrite(fields)?, headers::depth(fields)?);
    let item = ask.session.item(&ask.target()).await?;
    refuse_place(&item)?;
    let copies = ask.parts.method.as_str() == "COPY";
    let shallow = match (depth, item.kind) {
        (Some(Depth::Zero), NodeKind::Folder) if copies => true,
        (None | Some(Depth::Infinity), _) | (_, NodeKind::Document) => false,
        _ => {
            return Err(Error::invalid(
                "a folder can be copied with Depth 0 or infinity, and moved only with infinity",
            )
            .into());
        }
    };
    let (parent, name) = to.split_last().ok_or_else(|| {
        Error::forbidden("there is a site at that address, which cannot be replaced").with_code(Code::WrongKind)
    })?;
    let place = ask.session.item(&parent.into()).await.map_err(|error| Failure::from(error).not_found_as_conflict())?;
    let how = Transfer { overwrite, shallow, preconditions: ask.preconditions().await? };
    let (source, place) = (item.id.into(), place.id.into());
    let placed = if copies {
        ask.session.copy_onto(&source, &place, name, how).await
    } else {
        ask.session.move_onto(&source, &place, name, how).await
    };
    let placed = match placed {
        Ok(placed) => placed,
        Err(error) => {
            // The lock is either on the moved item or at the destination. An error of the lookup is ignored, because it
            // adds nothing.
            let is_moved = !copies && error.kind() == ErrorKind::Locked;
            let is_source = is_moved && ask.session.is_held_in_place(&source).await.unwrap_or(false);
            let href = if is_source { ask.href } else { href::write(&to.to_string(), false) };
            return Err(Failure::from(error).locked_at(&href));
        }
    };
    Ok(if placed.replaced { StatusCode::NO_CONTENT } else { StatusCode::CREATED }.into_response())
}
