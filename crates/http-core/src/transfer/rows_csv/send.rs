//! Sending the rows of a list.

use std::borrow::Cow;

use async_recursion::async_recursion as boxed;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use model::{Code, Error, Id, MAX_PAGE, NodeKind, Result};
use repository::{Column, Item, ListRequest, Listed, Session, SortKey, Target, ValueNames};

use super::fields::{BYTE_ORDER_MARK, NUMBER, guarded, line, written};
use crate::protocol::disposition;
use crate::server::request;

/// The rest of an export.
struct Export {
    session: Session,
    list: Id,
    request: ListRequest,
    after: Option<SortKey>,
    ended: bool,
}

/// Sends the rows of a list in the order and with the filter of `request`. `for_spreadsheets` adds a byte order mark.
///
/// # Errors
/// Those of [`Session::list_filtered`]; `Conflict` with code `wrong_kind` for an item that is not a list.
#[boxed]
pub async fn send(session: Session, list: &Target, request: ListRequest, for_spreadsheets: bool) -> Result<Response> {
    let place = request::acquire_costly()?;
    let request = ListRequest { limit: MAX_PAGE, columns: usize::MAX, ..request };
    // The first page is read before the response begins, because this read refuses callers who may not see the list.
    let listed = session.list_filtered(list, request.clone()).await?;
    if listed.place.kind != NodeKind::List {
        return Err(Error::conflict("only lists have rows").with_code(Code::WrongKind));
    }
    let (name, id) = (listed.place.name.clone(), listed.place.id);
    let mut first = if for_spreadsheets { BYTE_ORDER_MARK.to_owned() } else { String::new() };
    let titles = std::iter::once(NUMBER.into()).chain(listed.columns.iter().map(|column| guarded(&column.name)));
    first.push_str(&line(titles));
    first.push_str(&lines(&session, &listed).await?);
    let after = listed.page.next;
    let rest = Export { session, list: id, request, ended: after.is_none(), after };
    let parts = stream::unfold((Some(first), Some((rest, place))), |(first, rest)| async move {
        let (mut rest, place) = rest?;
        let part = match first {
            Some(text) => Ok(text),
            None => rest.next().await.transpose()?,
        };
        let rest = part.is_ok().then_some((rest, place));
        Some((part.map(Bytes::from), (None, rest)))
    });
    let fields = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, disposition::attachment(&format!("{name}.csv"))),
    ];
    // The compression layer polls again after the end.
    Ok((fields, Body::from_stream(parts.fuse())).into_response())
}

impl Export {
    async fn next(&mut self) -> Result<Option<String>> {
        if self.ended {
            return Ok(None);
        }
        let request = ListRequest { after: self.after.take(), ..self.request.clone() };
        let listed = self.session.list_filtered(&self.list.into(), request).await?;
        let text = lines(&self.session, &listed).await?;
        self.after = listed.page.next;
        self.ended = self.after.is_none();
        Ok(Some(text))
    }
}

async fn lines(session: &Session, listed: &Listed) -> Result<String> {
    let names = names_in(session, listed).await?;
    let of = |item: &Item| {
        let value = |column: &Column| {
            listed.values.get(&(item.id, column.id)).map_or(Cow::Borrowed(""), |value| written(value, &names))
        };
        line(std::iter::once(Cow::Borrowed(item.name.as_str())).chain(listed.columns.iter().map(value)))
    };
    Ok(listed.page.items.iter().map(of).collect())
}

/// Returns the names of what the values of a page stand for.
pub(crate) async fn names_in(session: &Session, listed: &Listed) -> Result<ValueNames> {
    session.value_names(&listed.place.id.into(), &listed.values.values().collect::<Vec<_>>()).await
}
