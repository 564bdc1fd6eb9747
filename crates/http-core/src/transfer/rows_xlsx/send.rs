//! Sending the rows of a list as a workbook.

use async_recursion::async_recursion as boxed;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use model::{Code, ColumnKind, Error, Id, MAX_PAGE, NodeKind, Result};
use repository::{Column, ListRequest, Listed, Session, SortKey, Target, ValueNames};

use super::cells::Rows;
use super::parts;
use super::style::Style;
use super::workbook::Workbook;
use crate::protocol::disposition;
use crate::server::concurrency::KeyedPermit;
use crate::server::{request, request_body};
use crate::transfer::rows_csv::{NUMBER, names_in};

/// Media type of workbooks.
pub const MEDIA_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
/// Limits of Excel on the rows and columns of a sheet.
const MAX_ROWS: u32 = 1_048_576;
const MAX_COLUMNS: usize = 16_384;

/// The rest of an export.
struct Export {
    session: Session,
    list: Id,
    name: String,
    /// The columns as they were at the beginning.
    columns: Vec<Column>,
    request: ListRequest,
    after: Option<SortKey>,
    /// The workbook; `None` once it has ended.
    book: Option<(Workbook, Rows)>,
    /// Permit of the user's costly requests, held while the workbook is sent.
    _permit: Option<KeyedPermit<String>>,
}

/// Sends the rows of a list in the order and with the filter of `request`.
///
/// # Errors
/// Those of [`Session::list_filtered`]; `Conflict` with code `wrong_kind` for an item that is not a list.
#[boxed]
pub async fn send(session: Session, list: &Target, request: ListRequest) -> Result<Response> {
    let permit = request::acquire_costly()?;
    let request = ListRequest { limit: MAX_PAGE, columns: usize::MAX, ..request };
    // The first page is read before the response begins, because this read refuses callers who may not see the list.
    let listed = session.list_filtered(list, request.clone()).await?;
    if listed.place.kind != NodeKind::List {
        return Err(Error::conflict("only lists have rows").with_code(Code::WrongKind));
    }
    if listed.columns.len() >= MAX_COLUMNS {
        return Err(Error::exhausted("the list has too many columns for a workbook: download it as CSV")
            .with_code(Code::TooLarge));
    }
    let (name, id, columns) = (listed.place.name.clone(), listed.place.id, listed.columns.clone());
    let after = listed.page.next.clone();
    let mut export =
        Export { session, list: id, name: name.clone(), columns, request, after, book: None, _permit: permit };
    let first = export.begin(listed).await?;
    let parts = stream::unfold((Some(first), Some(export)), |(first, export)| async move {
        let mut export = export?;
        let part = match first {
            Some(bytes) => Ok(bytes),
            None => export.next().await.transpose()?,
        };
        let export = part.is_ok().then_some(export);
        Some((part.map(Bytes::from), (None, export)))
    });
    let fields = [
        (header::CONTENT_TYPE, MEDIA_TYPE.to_owned()),
        (header::CONTENT_DISPOSITION, disposition::attachment(&format!("{name}.xlsx"))),
    ];
    // The compression layer polls again after the end.
    Ok((fields, Body::from_stream(parts.fuse())).into_response())
}

impl Export {
    /// Writes the titles and the first page.
    async fn begin(&mut self, listed: Listed) -> Result<Vec<u8>> {
        let (mut book, mut bytes) = Workbook::begin()?;
        let mut rows = Rows::new(self.width());
        let looks = std::iter::once((8, Style::General)).chain(self.columns.iter().map(|column| look(&column.kind)));
        bytes.extend(book.write(&parts::sheet_begin(&looks.collect::<Vec<_>>()))?);
        rows.begin();
        rows.text(NUMBER, Style::Title);
        self.columns.iter().for_each(|column| rows.text(&column.name, Style::Title));
        rows.end();
        self.book = Some((book, rows));
        bytes.extend(self.page(listed).await?);
        Ok(bytes)
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.book.is_none() {
            return Ok(None);
        }
        let Some(after) = self.after.take() else { return self.end().map(Some) };
        let request = ListRequest { after: Some(after), ..self.request.clone() };
        let listed = self.session.list_filtered(&self.list.into(), request).await?;
        self.after = listed.page.next.clone();
        self.page(listed).await.map(Some)
    }

    /// Writes a page on a thread for costly work.
    async fn page(&mut self, listed: Listed) -> Result<Vec<u8>> {
        let Some((mut book, mut rows)) = self.book.take() else { return Ok(Vec::new()) };
        let names = names_in(&self.session, &listed).await?;
        let columns: Vec<Id> = self.columns.iter().map(|column| column.id).collect();
        let write = move || {
            let written = put(&listed, &columns, &names, &mut rows).and_then(|()| book.write(&rows.take()));
            (written, book, rows)
        };
        let (written, book, rows) = request_body::run_cpu_bound(write).await?;
        self.book = Some((book, rows));
        written
    }

    /// Number of columns, with that of the numbers of rows.
    fn width(&self) -> usize {
        self.columns.len() + 1
    }

    fn end(&mut self) -> Result<Vec<u8>> {
        let Some((mut book, rows)) = self.book.take() else { return Ok(Vec::new()) };
        let mut bytes = book.write(&parts::sheet_end(self.width(), rows.count()))?;
        bytes.extend(book.finish(&parts::workbook(&parts::sheet_name(&self.name), self.width(), rows.count()))?);
        Ok(bytes)
    }
}

/// Returns the width of a column in characters, and the style of its empty cells.
fn look(kind: &ColumnKind) -> (u8, Style) {
    let width = match kind {
        ColumnKind::Number | ColumnKind::YesNo => 12,
        ColumnKind::Date => 24,
        ColumnKind::Choice(_) | ColumnKind::Person | ColumnKind::Lookup(_) | ColumnKind::Multiple(_) => 20,
        ColumnKind::Text | ColumnKind::Link => 40,
        ColumnKind::Note => 60,
    };
    (width, Style::of_column(kind))
}

fn put(listed: &Listed, columns: &[Id], names: &ValueNames, rows: &mut Rows) -> Result<()> {
    for item in &listed.page.items {
        if rows.count() == MAX_ROWS {
            return Err(Error::exhausted("the list has too many rows for a workbook: download it as CSV")
                .with_code(Code::TooLarge));
        }
        rows.begin();
        match item.name.parse::<u32>() {
            Ok(number) => rows.number(f64::from(number)),
            Err(_) => rows.text(&item.name, Style::Text),
        }
        for column in columns {
            match listed.values.get(&(item.id, *column)) {
                Some(value) => rows.cell(value, names),
                None => rows.skip(),
            }
        }
        rows.end();
    }
    Ok(())
}
