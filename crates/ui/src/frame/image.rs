//! Receiving small images, such as logos and portraits, with forms.

use axum::extract::Request;
use model::{MAX_IMAGE_BYTES, Result};

use super::file_form::{self, broken};
use super::visit::Visit;
use http_core::identity::csrf;
use http_core::server::request_body::ReadAheadLimit;
use http_core::server::state::AppState;

/// Reads the file of a form, at most a byte more than an image may have.
pub async fn receive(state: &AppState, visit: &Visit, request: Request) -> Result<Vec<u8>> {
    let ahead = ReadAheadLimit::default();
    let mut parts = file_form::open(state, request, &ahead).await?;
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
    Err(file_form::no_file())
}
