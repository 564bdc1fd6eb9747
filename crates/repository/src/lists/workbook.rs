//! Cells of workbooks, read for a list.

use async_recursion::async_recursion as boxed;
use database::Reader;
use model::{NodeKind, Result};
use search::sheets::Sheet;

use crate::session::known::Viewed;
use crate::{Session, Target};

impl Session {
    /// Reads the cells of a workbook that the caller sends for a list: those of the sheet with this name, or of the
    /// first one that is visible. A child process does the work. It is ended when no caller waits for it any more.
    ///
    /// # Errors
    /// `Conflict` with code `wrong_kind` for an item that is not a list. `Invalid` with code `not_readable` when the
    /// bytes are not a workbook; `too_much_at_once` or `too_large` when it has too many rows, or too much of something
    /// else; `took_too_long` or `reader_failed` when the child process does not finish. `Unavailable` with code `busy`
    /// when others are waiting.
    #[boxed]
    pub async fn read_cells(&self, list: &Target, workbook: &[u8], sheet: Option<&str>) -> Result<Sheet> {
        let require_list = |_: &mut Reader<'_>, located: &Viewed| located.require_kind(NodeKind::List);
        self.view(list, require_list).await?;
        let sandbox = self.repository.sandbox()?;
        let permit = sandbox.permit_to_read(self.principal.id).await?;
        sandbox.read_cells(permit, workbook, sheet).await
    }
}
