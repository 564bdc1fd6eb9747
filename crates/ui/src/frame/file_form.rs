//! Forms with files: reading their parts one after the other.

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use http_core::server::request_body::{self, ReadAheadLimit};
use http_core::server::state::AppState;
use model::{Code, Error, Name, Result};

/// A part of a form.
pub type Part<'a> = Field<'a>;

/// Returns the parts of a form. `ahead` bounds what is read ahead of them.
///
/// # Errors
/// `Invalid` with code `unsupported_media_type`.
pub async fn open(state: &AppState, request: Request, ahead: &ReadAheadLimit) -> Result<Multipart> {
    Multipart::from_request(request.map(|body| ahead.of(body)), state).await.map_err(|e| {
        Error::invalid("the upload must be a form with a file").with_code(Code::UnsupportedMediaType).with_source(e)
    })
}

/// Returns the name of a file as it was sent. Some browsers send a whole path, of which only the last segment is the
/// name.
///
/// # Errors
/// `Invalid` for a name that no document can have.
pub fn name_of(part: &Part<'_>) -> Result<Name> {
    let sent = part.file_name().unwrap_or_default();
    Name::new(sent.rsplit(['/', '\\']).next().unwrap_or_default().trim())
}

/// Reads a field into memory.
pub async fn short(part: &mut Part<'_>, ahead: &ReadAheadLimit, most: usize) -> Result<String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = part.chunk().await.map_err(broken)? {
        ahead.caught_up();
        if bytes.len() + chunk.len() > most {
            return Err(Error::invalid("a field of the form is too long").with_code(Code::TooLarge));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|e| Error::invalid("a field of the form is not UTF-8").with_source(e))
}

/// Consumes the unread rest of a part. Otherwise the multipart reader would search for its end itself, without giving
/// anything out that `ahead` could count.
pub async fn drain(part: &mut Part<'_>, ahead: &ReadAheadLimit) -> Result<()> {
    while part.chunk().await.map_err(broken)?.is_some() {
        ahead.caught_up();
    }
    Ok(())
}

/// Returns the error for a truncated or malformed body. Nothing of the current file was stored.
pub fn broken(error: MultipartError) -> Error {
    request_body::refused(&error).unwrap_or_else(|| {
        Error::invalid("the upload did not arrive complete; nothing of this file was stored, send it again")
            .with_code(Code::IncompleteBody)
            .with_source(error)
    })
}

/// The error for a form without a file.
pub fn no_file() -> Error {
    Error::invalid("no file was chosen")
}
