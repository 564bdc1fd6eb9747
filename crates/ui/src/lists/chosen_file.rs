//! The form for rows, sent with a file.

use axum::extract::Request;
use axum::http::header;
use model::Result;

use crate::frame::file_form::{self, broken, short};
use crate::frame::visit::Visit;
use http_core::identity::csrf;
use http_core::protocol::content_type;
use http_core::server::request_body::{self, BodyBuffer, BufferedBody, ReadAheadLimit};
use http_core::server::state::AppState;

/// What the form sent.
pub struct SentRows {
    /// The text of the field for rows.
    pub text: String,
    /// The chosen file, if it is not empty.
    pub file: Option<BufferedBody>,
}

/// Returns whether a form was sent in the way that takes files.
pub fn takes_files(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| content_type::essence(kind) == "multipart/form-data")
}

/// Reads the form into memory.
///
/// # Errors
/// `Forbidden` without the form token before the other fields; `Exhausted` with code `too_large`; `Invalid` for what is
/// no form.
pub async fn receive(state: &AppState, visit: &Visit, request: Request) -> Result<SentRows> {
    let ahead = ReadAheadLimit::default();
    let mut parts = file_form::open(state, request, &ahead).await?;
    let (mut sent, mut allowed) = (SentRows { text: String::new(), file: None }, false);
    while let Some(mut part) = parts.next_field().await.map_err(broken)? {
        ahead.caught_up();
        let name = part.name().unwrap_or_default().to_owned();
        if name == "form_token" {
            csrf::check(&visit.form_key, &short(&mut part, &ahead, 200).await?)?;
            allowed = true;
            continue;
        }
        if !allowed {
            csrf::check(&visit.form_key, "")?;
        }
        let most = if name == "file" { request_body::WORKBOOK } else { request_body::FIELDS };
        let mut buffer = BodyBuffer::new(most);
        while let Some(chunk) = part.chunk().await.map_err(broken)? {
            ahead.caught_up();
            buffer.push(&chunk)?;
        }
        let bytes = buffer.finish();
        match name.as_str() {
            "file" => sent.file = Some(bytes).filter(|bytes| !bytes.is_empty()),
            "rows" => sent.text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n"),
            _ => {}
        }
    }
    Ok(sent)
}
