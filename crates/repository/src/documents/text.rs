//! Text of office documents, shown where the documents themselves cannot be displayed.

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Result};
use search::extract::{self, Extract, Format};
use search::sandbox::Document;

use crate::{Session, Target};

use super::open::VersionChoice;

impl Session {
    /// Extracts the text of an office document, in the version that the caller sees. A child process does the work. It
    /// is ended when no caller waits for it any more.
    ///
    /// # Errors
    /// `Invalid` with code `not_readable` when the document does not have this format; `too_large` when it is longer
    /// than 32 MiB or has no text in its beginning; `took_too_long` or `reader_failed` when the child process does not
    /// finish. `Unavailable` with code `busy` when others are waiting.
    #[boxed]
    pub async fn text(&self, target: &Target, format: Format) -> Result<Extract> {
        let mut opened = self.open(target, VersionChoice::Visible).await?;
        if opened.size() > extract::MAX_BYTES {
            return Err(Error::invalid("text is read only from documents of up to 32 MiB").with_code(Code::TooLarge));
        }
        let sandbox = self.repository.sandbox()?;
        let permit = sandbox.permit_to_read(self.principal.id).await?;
        let mut document = Document::new()?;
        while let Some(chunk) = opened.next_chunk().await? {
            document.write(&chunk)?;
        }
        sandbox.read(permit, format, document).await
    }
}
