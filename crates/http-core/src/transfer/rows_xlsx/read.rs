//! Reading a workbook for a list.

use async_recursion::async_recursion as boxed;
use model::{Code, Digest, Error, Result};
use repository::{Session, Target};

use crate::server::request_body::{self, BufferedBody};
use crate::transfer::rows_csv::Table;

/// First bytes of a workbook of Excel before 2007, and of an encrypted one.
const OLD: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// Reads the rows of a workbook: those of the sheet with this name, or of the first one that is visible. Returns them
/// with the digest of the workbook.
///
/// # Errors
/// Those of [`Session::read_cells`] and [`Table::of_sheet`].
#[boxed]
pub async fn read(
    session: &Session,
    list: &Target,
    workbook: BufferedBody,
    sheet: Option<&str>,
) -> Result<(Table, Digest)> {
    if workbook.starts_with(OLD) {
        let text = "the workbook is encrypted, or from before Excel 2007: save it without a password as .xlsx";
        return Err(Error::invalid(text).with_code(Code::NotReadable));
    }
    let cells = session.read_cells(list, &workbook, sheet).await?;
    let read = move |workbook: &[u8]| Ok((Table::of_sheet(cells)?, Digest::new(*blake3::hash(workbook).as_bytes())));
    request_body::parse_off_thread(workbook, read).await
}
