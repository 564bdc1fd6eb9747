//! Parts of documents for pages, made by child processes: text, files of archives, small pictures.

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Result};
use search::extract::{self, Extract, Format, MemberContent};
use search::sandbox::Document;

use crate::{Session, Target};

use super::open::{Content, VersionChoice};

impl Session {
    /// Extracts the text of a version of an office document, or what an archive or a mail message holds. A child
    /// process does the work. It is ended when no caller waits for it any more.
    ///
    /// # Errors
    /// `Invalid` with code `not_readable` when the document does not have this format; `too_large` when it is longer
    /// than 32 MiB or has no text in its beginning; `took_too_long` or `reader_failed` when the child process does not
    /// finish. `Unavailable` with code `busy` when others are waiting.
    #[boxed]
    pub async fn text(&self, target: &Target, format: Format, version: VersionChoice) -> Result<Extract> {
        let opened = self.open(target, version).await?;
        require_short(&opened)?;
        let sandbox = self.repository.sandbox()?;
        let permit = sandbox.permit_to_read(self.principal.id).await?;
        sandbox.read(permit, format, fill(opened).await?).await
    }
}

/// Reads a member of an archive, or an attachment: the one at this position of the list that [`Session::text`] returns.
/// A child process does the work.
///
/// # Errors
/// `Invalid` with code `not_readable` if there is no such file, or it is encrypted or damaged; with code `too_large` if
/// it is longer than 32 MiB; otherwise those of [`Session::text`].
#[boxed]
pub async fn read_member(session: &Session, opened: Content, format: Format, at: usize) -> Result<MemberContent> {
    require_short(&opened)?;
    let sandbox = session.repository.sandbox()?;
    let permit = sandbox.permit_to_read(session.principal.id).await?;
    sandbox.read_member(permit, format, at, fill(opened).await?).await
}

/// Makes a picture smaller, so that its sides have at most `most` pixels; returns it as PNG or JPEG. A child process
/// does the work.
///
/// # Errors
/// `Invalid` with code `not_readable` for what is no picture that can be read; otherwise those of [`Session::text`].
#[boxed]
pub async fn shrink_picture(session: &Session, opened: Content, most: u32) -> Result<Vec<u8>> {
    require_short(&opened)?;
    let sandbox = session.repository.sandbox()?;
    let permit = sandbox.permit_to_read(session.principal.id).await?;
    sandbox.shrink(permit, most, fill(opened).await?).await
}

fn require_short(opened: &Content) -> Result<()> {
    if opened.size() > extract::MAX_BYTES {
        return Err(Error::invalid("documents over 32 MiB have no preview, and no files can be taken out of them")
            .with_code(Code::TooLarge));
    }
    Ok(())
}

/// Returns the bytes of a document for a child.
async fn fill(mut opened: Content) -> Result<Document> {
    let mut document = Document::new()?;
    while let Some(chunk) = opened.next_chunk().await? {
        document.write(&chunk)?;
    }
    Ok(document)
}
