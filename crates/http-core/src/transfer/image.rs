//! Sending small images, such as logos and portraits.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use model::SmallImage;

use crate::server::secure;

/// Sends an image. It is shown as a picture only: whatever the file contains, the browser runs nothing of it. Browsers
/// keep it for ever if `is_marked`: its address changes with every new one.
pub fn response(image: SmallImage, is_marked: bool) -> Response {
    let kind = match image.media_type.as_str() {
        "image/png" => "image/png",
        "image/jpeg" => "image/jpeg",
        "image/webp" => "image/webp",
        _ => "application/octet-stream",
    };
    let keep = if is_marked { "private, max-age=31536000, immutable" } else { "private, no-cache" };
    let mut response: Response = image.bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    headers.insert(header::CONTENT_SECURITY_POLICY, secure::CONTENT_POLICY);
    response
}
