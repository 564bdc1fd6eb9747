//! Classification of the service's errors. Only a definite "no such object" is absence, and the caller that receives it
//! confirms it.

use model::{Code, Error, ErrorKind};
use object_store::Error as Cause;

/// Converts the error of a failed request. A 404 becomes `Unavailable` here: callers that can confirm the absence of an
/// object check [`is_absent`] first.
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
            "cannot {what}: {store} refuses the credential{named}: renew the credential or its rights; the stored \
             BLOBs are not lost"
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
            "cannot {what}: the certificate of {store} is not trusted: add its certificate authority to the store's \
            settings"
        );
        (ErrorKind::Unavailable, Code::StoreCertificate, message)
    } else if text.contains("incorrectly configured region") {
        let message =
            format!("cannot {what}: {store} is in another region or at another address than its settings say");
        (ErrorKind::Unavailable, Code::StoreRegion, message)
    } else {
        let message = format!("cannot {what}: {store} does not answer as it should{named}; try again later");
        (ErrorKind::Unavailable, Code::Unavailable, message)
    };
    Error::new(kind, message).with_code(stable).with_source(cause)
}

/// Formats an error with its chain of sources. A TLS library's explanation is at the end of that chain.
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

/// Returns whether the service reported that there is no such object. A missing bucket or a broken gateway may report
/// the same.
pub fn is_absent(cause: &Cause) -> bool {
    matches!(cause, Cause::NotFound { .. })
        && !matches!(code_in(&cause.to_string()), Some("NoSuchBucket" | "ContainerNotFound"))
}

/// Returns whether a conditional PUT found an object that its condition excludes, or another PUT to the same key in
/// progress.
pub fn is_taken(cause: &Cause) -> bool {
    matches!(cause, Cause::AlreadyExists { .. } | Cause::Precondition { .. })
}

/// Returns whether the service does not know the condition of a PUT.
pub fn is_unsupported(cause: &Cause) -> bool {
    let text = cause.to_string();
    matches!(cause, Cause::NotImplemented { .. })
        || code_in(&text) == Some("NotImplemented")
        || text.contains("501 Not Implemented")
}

/// Returns whether no response arrived, so that the outcome of the request is unknown.
pub fn is_broken_connection(cause: &Cause) -> bool {
    cause.to_string().contains("HTTP error: ")
}

/// Returns the service's own code for the error, from the XML of its response.
fn code_in(text: &str) -> Option<&str> {
    let rest = &text[text.find("<Code>")? + 6..];
    let code = &rest[..rest.find("</Code>")?];
    (code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric())).then_some(code)
}
