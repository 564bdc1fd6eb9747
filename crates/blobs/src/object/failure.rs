//! What the service's errors mean. Only a definite "no such object" is absence; it is confirmed by whoever saw it.

use model::Code;
use model::{Error, ErrorKind};
use object_store::Error as Cause;

/// The error for a request that failed. A 404 is `Unavailable` here: callers that can confirm the absence of an object ask
/// [`is_absent`] first.
pub fn failed(what: &str, store: &str, cause: Cause) -> Error {
    let text = with_sources(&cause);
    let code = code_in(&text);
    let named = code.map_or_else(String::new, |code| format!(" ({code})"));
    let refused = matches!(cause, Cause::PermissionDenied { .. } | Cause::Unauthenticated { .. })
        || text.contains("status code: 403")
        || text.contains("status code: 401")
        || matches!(code, Some("ExpiredToken" | "InvalidToken" | "InvalidAccessKeyId" | "SignatureDoesNotMatch"));
    let full = ["QuotaExceeded", "XMinioStorageFull", "InsufficientCapacity", "507 Insufficient Storage"];
    let (kind, stable, message) = if code == Some("RequestTimeTooSkewed") {
        let message = format!("cannot {what}: {store} and this machine disagree about the time: set the clock right");
        (ErrorKind::Unavailable, Code::StoreClock, message)
    } else if refused {
        let message = format!(
            "cannot {what}: {store} refuses the credential{named}: renew it or its rights; what is stored there is not lost"
        );
        (ErrorKind::Unavailable, Code::StoreCredentialRefused, message)
    } else if full.iter().any(|word| text.contains(word)) {
        (ErrorKind::Exhausted, Code::StoreFull, format!("cannot {what}: {store} is full{named}: free space there"))
    } else if matches!(code, Some("NoSuchBucket" | "ContainerNotFound")) {
        let message =
            format!("cannot {what}: the bucket of {store} does not exist{named}: create it, or correct its name");
        (ErrorKind::Unavailable, Code::StoreBucketMissing, message)
    } else if text.contains("invalid peer certificate") {
        let message = format!(
            "cannot {what}: the certificate of {store} is not trusted: add its certificate authority to the store's settings"
        );
        (ErrorKind::Unavailable, Code::StoreCertificate, message)
    } else if text.contains("incorrectly configured region") {
        let message = format!("cannot {what}: {store} is in another region or at another address than it is set to");
        (ErrorKind::Unavailable, Code::StoreRegion, message)
    } else {
        let message = format!("cannot {what}: {store} does not answer as it should{named}; try again later");
        (ErrorKind::Unavailable, Code::Unavailable, message)
    };
    Error::new(kind, message).with_code(stable).with_source(cause)
}

/// The error with everything that led to it; what a TLS library has to say comes last.
fn with_sources(cause: &Cause) -> String {
    let mut text = cause.to_string();
    let mut source = std::error::Error::source(cause);
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// Whether the service said that there is no such object, which a missing bucket or a broken gateway may say as well.
pub fn is_absent(cause: &Cause) -> bool {
    matches!(cause, Cause::NotFound { .. })
        && !matches!(code_in(&cause.to_string()), Some("NoSuchBucket" | "ContainerNotFound"))
}

/// Whether a conditional PUT found its object in place, or another one on its way to it.
pub fn is_taken(cause: &Cause) -> bool {
    matches!(cause, Cause::AlreadyExists { .. } | Cause::Precondition { .. })
}

/// Whether no answer came, so that it is not known what the service did.
pub fn is_broken_connection(cause: &Cause) -> bool {
    cause.to_string().contains("HTTP error: ")
}

/// The service's own name for the error, from the XML of its answer.
fn code_in(text: &str) -> Option<&str> {
    let rest = &text[text.find("<Code>")? + 6..];
    let code = &rest[..rest.find("</Code>")?];
    (code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric())).then_some(code)
}
