//! Receiving small images, such as logos and portraits, with forms.

use axum::extract::{FromRequest, Multipart, Request};
use model::{Code, Error, MAX_IMAGE_BYTES, Result};

use super::visit::Visit;
use http_core::identity::csrf;
use http_core::server::request_body::{self, ReadAheadLimit};
use http_core::server::state::AppState;

/// Reads the file of a form, at most a byte more than an image may have.
pub async fn receive(state: &AppState, visit: &Visit, request: Request) -> Result<Vec<u8>> {
    let ahead = ReadAheadLimit::default();
    let mut parts = Multipart::from_request(request.map(|body| ahead.of(body)), state).await.map_err(|e| {
        Error::invalid("the upload must be a form with a file").with_code(Code::UnsupportedMediaType).with_source(e)
    })?;
    let broken = |error| {
        request_body::refused(&error)
            .unwrap_or_else(|| Error::invalid("the upload did not arrive complete: send it again").with_source(error))
    };
    let mut token = String::new();
    while let Some(mut part) = parts.next_field().await.map_err(broken)? {
        ahead.caught_up();
        let (name, mut bytes) = (part.name().unwrap_or_default().to_owned(), Vec::new());
        while let Some(chunk) = part.chunk().await.map_err(broken)? {
            ahead.caught_up();
            let room = (MAX_IMAGE_BYTES + 1).saturating_sub(bytes.len());
            bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        match name.as_str() {
            "form_token" => token = String::from_utf8_lossy(&bytes).into_owned(),
            "file" => {
                csrf::check(&visit.form_key, &token)?;
                return Ok(bytes);
            }
            _ => {}
        }
    }
    Err(Error::invalid("no file was chosen"))
}
