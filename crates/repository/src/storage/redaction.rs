//! Errors of stores as users may read them. Locations and messages of stores are for farm administrators and the log.

use model::{Code, Error, ErrorKind};

/// Rewrites a store's error for the caller, unless the caller is an insider, who may see store locations.
pub(crate) fn without_store_details(error: Error, is_insider: bool) -> Error {
    if is_insider { error } else { for_users(error) }
}

/// Rewrites a store's error, whoever the caller is.
pub(crate) fn for_users(error: Error) -> Error {
    let text = match (error.kind(), error.code()) {
        (_, Code::StoreNotActive) => {
            "documents cannot be stored here at the moment: contact an administrator of the farm, who has to change \
             the storage policy"
        }
        (ErrorKind::Unavailable, _) => {
            "the BLOB store does not answer at the moment: try again later; an administrator of the farm finds the \
             reason in the log"
        }
        (ErrorKind::Exhausted, _) => "the BLOB store is full: contact an administrator of the farm",
        _ => return error,
    };
    Error::new(error.kind(), text).with_code(error.code()).with_source(error)
}

/// Rewrites the error of a store that cannot read what it has just stored. It must not count as damage to content that
/// a document refers to.
pub(crate) fn unreadable_after_write(error: Error) -> Error {
    if error.kind() != ErrorKind::Corrupt {
        return for_users(error);
    }
    let text = "the BLOB store does not return the bytes that it has just stored: try again, and have an administrator \
        check its disk";
    Error::unavailable(text).with_code(Code::StoreUnreadable).with_source(error)
}
