//! The reasons for which a template cannot be used.

use model::{Code, Error};

/// The error for a template that cannot be used.
pub(in crate::templates) fn invalid(reason: String) -> Error {
    Error::invalid(format!("the template cannot be used: {reason}"))
        .with_code(Code::InvalidTemplate)
        .naming(&[reason.as_str()])
}
