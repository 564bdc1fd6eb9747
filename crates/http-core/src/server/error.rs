//! Maps errors to HTTP for all protocols, and logs those that are the server's own fault.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, ErrorKind};

use super::request;

/// Seconds before a client may retry when something is unavailable.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");
/// Seconds before a throttled client may retry, if the error gives no time.
const THROTTLED_RETRY_AFTER: HeaderValue = HeaderValue::from_static("30");

/// An error as `application/problem+json` (RFC 9457).
///
/// Fields: `type` (always `about:blank`), `title` (of the status), `status`, `detail` (the error and its remedy, in the
/// language of `Accept-Language`), `code` (stable, for scripts), `instance` (the request identifier).
pub struct Problem(Error);

/// The error behind a response, for the layer that translates it.
#[derive(Clone)]
pub struct ReportedError(pub Arc<Error>);

/// Return type of handlers for programs, as opposed to those for pages.
pub type Answer<T = Response> = Result<T, Problem>;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = status(&self.0);
        log(&self.0, status);
        let kind = HeaderValue::from_static("application/problem+json");
        let body = problem(&self.0, public_message(&self.0));
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"Strongroom\", charset=\"UTF-8\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            response.headers_mut().append(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        add_retry_after(&self.0, &mut response);
        response.extensions_mut().insert(ReportedError(Arc::new(self.0)));
        response
    }
}

/// Returns the body of a problem with this `detail`.
pub fn problem(error: &Error, detail: &str) -> String {
    let status = status(error);
    let body = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Checksum Mismatch"),
        "status": status.as_u16(),
        "detail": detail,
        "code": error.code().as_str(),
        "instance": request::current_id(),
    });
    body.to_string()
}

/// Returns the status of an error: by its code, otherwise by its kind.
pub fn status(error: &Error) -> StatusCode {
    by_code(error).unwrap_or(match error.kind() {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::Locked => StatusCode::LOCKED,
        ErrorKind::Invalid => StatusCode::BAD_REQUEST,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::Exhausted => StatusCode::INSUFFICIENT_STORAGE,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Corrupt => StatusCode::INTERNAL_SERVER_ERROR,
    })
}

/// Returns the status that a code has regardless of its kind; `None` where the kind decides.
#[expect(clippy::too_many_lines, reason = "a list of all codes, so that none is forgotten")]
fn by_code(error: &Error) -> Option<StatusCode> {
    let if_kind = |kind: ErrorKind, status: StatusCode| (error.kind() == kind).then_some(status);
    match error.code() {
        Code::PreconditionFailed => Some(StatusCode::PRECONDITION_FAILED),
        Code::Unauthenticated | Code::BadCredentials | Code::SignInFailed => Some(StatusCode::UNAUTHORIZED),
        Code::MetricsToken => Some(StatusCode::UNAUTHORIZED),
        // Not "gone": the next repair can restore the content, and synchronising clients must not discard their own
        // copy.
        Code::ContentMissing | Code::ContentDamaged => Some(StatusCode::SERVICE_UNAVAILABLE),
        Code::TooLarge => Some(StatusCode::PAYLOAD_TOO_LARGE),
        Code::TooManyAttempts | Code::SignInBusy | Code::TooManyRequests => Some(StatusCode::TOO_MANY_REQUESTS),
        Code::UnsupportedMediaType => Some(StatusCode::UNSUPPORTED_MEDIA_TYPE),
        Code::NotReadable => Some(StatusCode::UNPROCESSABLE_ENTITY),
        Code::UnsupportedVersion => Some(StatusCode::PRECONDITION_FAILED),
        Code::RangeNotSatisfiable => Some(StatusCode::RANGE_NOT_SATISFIABLE),
        Code::HeadersTooLarge => Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        Code::MethodNotAllowed => Some(StatusCode::METHOD_NOT_ALLOWED),
        // Defined by tus 1.0, extension "checksum".
        Code::ChecksumMismatch => {
            if_kind(ErrorKind::Invalid, StatusCode::from_u16(460).unwrap_or(StatusCode::BAD_REQUEST))
        }
        Code::LengthRequired => Some(StatusCode::LENGTH_REQUIRED),
        Code::BodyTimeout => Some(StatusCode::REQUEST_TIMEOUT),
        Code::CopyTooLarge | Code::TooMany | Code::TooManyEditTokens | Code::TooManyTokens => {
            if_kind(ErrorKind::Exhausted, StatusCode::CONFLICT)
        }
        Code::Aborted
        | Code::AdministratorsOnly
        | Code::AmbiguousEntry
        | Code::AmbiguousPerson
        | Code::ApprovalRequired
        | Code::ApprovalWithoutDrafts
        | Code::ArchiveTooLarge
        | Code::AttachmentsOff
        | Code::BackupBusy
        | Code::BackupIncomplete
        | Code::BackupIsThere
        | Code::BackupNotEmpty
        | Code::BackupNotKept
        | Code::BackupOtherFarm
        | Code::BackupPlaceAbsent
        | Code::BackupPlaceTaken
        | Code::BackupWithinFarm
        | Code::BasicNeedsTls
        | Code::BlobBeingDeleted
        | Code::BlobBytesMissing
        | Code::BlobDeletedLately
        | Code::BlobElsewhere
        | Code::BlobNotWhole
        | Code::BuiltIn
        | Code::Busy
        | Code::Cancelled
        | Code::CannotOpen
        | Code::ChangesLost
        | Code::CheckFailed
        | Code::CheckViolation
        | Code::CheckedOut
        | Code::CheckoutRequired
        | Code::Closed
        | Code::ClusterFirst
        | Code::ColumnRead
        | Code::ColumnRequired
        | Code::CompactionRunning
        | Code::ConditionNotHeeded
        | Code::ConfigurationMissing
        | Code::Conflict
        | Code::ConstraintViolation
        | Code::CopyFailed
        | Code::Corrupt
        | Code::DatabaseAway
        | Code::DatabaseCorrupt
        | Code::DatabaseEmpty
        | Code::DatabaseForeign
        | Code::DatabaseInUse
        | Code::DatabaseMissing
        | Code::DatabaseUnreadable
        | Code::DatabaseUrlNeeded
        | Code::DigestMismatch
        | Code::DiskError
        | Code::DiskFull
        | Code::EasyPassword
        | Code::Encoding
        | Code::Exhausted
        | Code::FarmExists
        | Code::FarmNested
        | Code::Forbidden
        | Code::FieldsTooLong
        | Code::ForeignKeyViolation
        | Code::ForeignOrigin
        | Code::FormExpired
        | Code::FreshSignInNeeded
        | Code::IdempotencyKeyReused
        | Code::IncompleteBody
        | Code::Inherits
        | Code::Internal
        | Code::InternalError
        | Code::Interrupted
        | Code::IntoItself
        | Code::Invalid
        | Code::InvalidAccent
        | Code::InvalidAddress
        | Code::InvalidComment
        | Code::InvalidCursor
        | Code::GrantEndPassed
        | Code::InvalidDays
        | Code::InvalidFileLimit
        | Code::InvalidDigest
        | Code::InvalidEmail
        | Code::InvalidFormula
        | Code::InvalidId
        | Code::InvalidIdempotencyKey
        | Code::InvalidIf
        | Code::InvalidImage
        | Code::InvalidJson
        | Code::InvalidLength
        | Code::InvalidLink
        | Code::InvalidLinkPassword
        | Code::InvalidLockToken
        | Code::InvalidLogin
        | Code::InvalidMetadata
        | Code::InvalidName
        | Code::InvalidNetwork
        | Code::InvalidNumber
        | Code::InvalidPassword
        | Code::InvalidPasswordList
        | Code::InvalidPath
        | Code::InvalidPrecondition
        | Code::InvalidProfile
        | Code::InvalidQuery
        | Code::InvalidScope
        | Code::InvalidStatement
        | Code::InvalidTemplate
        | Code::InvalidText
        | Code::InvalidTime
        | Code::InvalidValue
        | Code::InvalidWebAddress
        | Code::InvalidXml
        | Code::ItemLocked
        | Code::JobState
        | Code::KeyNeeded
        | Code::LastAdministrator
        | Code::LeakedPassword
        | Code::LengthMismatch
        | Code::LinkEnded
        | Code::LinkTakesNoFiles
        | Code::PasswordLinkEnded
        | Code::LinksNotAllowed
        | Code::ListedPassword
        | Code::LockNotFound
        | Code::LockTimeout
        | Code::Locked
        | Code::LoginRefused
        | Code::LoginTaken
        | Code::Misfit
        | Code::MissingColumns
        | Code::MovedMeanwhile
        | Code::NameTaken
        | Code::NeedsPoppler
        | Code::NeedsSoffice
        | Code::NeedsTesseract
        | Code::NewerBlobStore
        | Code::NoBaseBackup
        | Code::NoCopiedServers
        | Code::NoDatabaseRight
        | Code::NoDraft
        | Code::NoGrammarDiscovery
        | Code::NoSharedMemory
        | Code::NoSuchColumn
        | Code::NoSuchDatabase
        | Code::NoSuchPlace
        | Code::NoSuchTokenPlace
        | Code::NoText
        | Code::NotEditable
        | Code::NotABlobStore
        | Code::NotAsScript
        | Code::NotCheckedOut
        | Code::NotFound
        | Code::NotNullViolation
        | Code::NotSubmitted
        | Code::NothingPublished
        | Code::OffsetMismatch
        | Code::OtherCollection
        | Code::OtherDatabase
        | Code::OtherHost
        | Code::OutOfMemory
        | Code::OutcomeUnknown
        | Code::Outside
        | Code::Overloaded
        | Code::Overtaken
        | Code::OwnPermissions
        | Code::PageChecksum
        | Code::ParameterCount
        | Code::ParentMissing
        | Code::PasswordsDiffer
        | Code::PathTooDeep
        | Code::PlaceNested
        | Code::PlaceTaken
        | Code::ProgramMissing
        | Code::ProgramName
        | Code::PropfindInfinite
        | Code::QuotaExceeded
        | Code::ReadOnly
        | Code::ReaderFailed
        | Code::ReasonRequired
        | Code::RestoreIncomplete
        | Code::RestoreNested
        | Code::RestoreNotEmpty
        | Code::RestoreUnfinished
        | Code::RightLost
        | Code::RoleInUse
        | Code::RoleTooGreat
        | Code::SameItem
        | Code::SamePassword
        | Code::SchemaForeign
        | Code::SchemaNewer
        | Code::SchemaOther
        | Code::SearchTooLong
        | Code::SerializationFailure
        | Code::ServerExhausted
        | Code::ServerTooOld
        | Code::ServerUnreachable
        | Code::SeveralScopes
        | Code::StoreAbsent
        | Code::StoreAway
        | Code::StoreBucketMissing
        | Code::StoreBusy
        | Code::StoreCertificate
        | Code::StoreClock
        | Code::StoreCredentialRefused
        | Code::StoreFull
        | Code::StoreInUse
        | Code::StoreKeyMissing
        | Code::StoreKeyNeeded
        | Code::StoreNotActive
        | Code::StoreNotEmpty
        | Code::StoreOfAnotherFarm
        | Code::StoreOrder
        | Code::StoreRegion
        | Code::StoreRemoved
        | Code::StoreTakenOver
        | Code::StoreUnreadable
        | Code::TitleColumn
        | Code::TlsUnsupported
        | Code::TokenExists
        | Code::TokenScope
        | Code::TokenTooLong
        | Code::TooManyAttachments
        | Code::TooManyNetworks
        | Code::TooManyPlaces
        | Code::TooManyProperties
        | Code::TooManyUploads
        | Code::TooMuchAtOnce
        | Code::TooMuchUnfinished
        | Code::TookTooLong
        | Code::TypeMismatch
        | Code::Unavailable
        | Code::UnexpectedQuery
        | Code::UnexpectedRange
        | Code::UniqueViolation
        | Code::UnknownGrammar
        | Code::UnknownEntry
        | Code::UnknownPerson
        | Code::UnknownReport
        | Code::UnlikelyShare
        | Code::Unreadable
        | Code::UnsupportedChecksum
        | Code::UnsupportedQuery
        | Code::UploadBusy
        | Code::ValueChanged
        | Code::ValueTaken
        | Code::ValueTooLarge
        | Code::VersionAddress
        | Code::VersionInUse
        | Code::WouldPublish
        | Code::WrongKey
        | Code::WrongKind
        | Code::WrongLinkPassword
        | Code::WrongPassword => None,
    }
}

/// Returns the message that the caller may read: the error's own, unless it would reveal internals of the server.
pub fn public_message(error: &Error) -> &str {
    match error.kind() {
        ErrorKind::Corrupt if ![Code::Internal, Code::ContentMissing, Code::ContentDamaged].contains(&error.code()) => {
            "stored data is damaged; an administrator finds the details in the log under the request id"
        }
        _ => error.message(),
    }
}

/// Logs an error of the server. An error of the caller is logged at a level that is off by default.
pub fn log(error: &Error, status: StatusCode) {
    let (report, request_id) = (error.report(), request::current_id());
    // Not the server's own fault: a full site, one user's limits, and a destination on another server.
    let is_quota = matches!(error.code(), Code::QuotaExceeded | Code::TooMuchUnfinished | Code::TooManyUploads);
    let code = error.code().as_str();
    if status == StatusCode::BAD_GATEWAY || is_quota {
        tracing::info!(target: "http", code, status = status.as_u16(), request_id, "{report}");
    } else if status.is_server_error() {
        tracing::error!(target: "http", code, status = status.as_u16(), request_id, "{report}");
    } else {
        tracing::debug!(target: "http", code, status = status.as_u16(), request_id, "{report}");
    }
}

/// Sets `Retry-After` where a retry makes sense: the delay of the error, otherwise a default.
pub fn add_retry_after(error: &Error, response: &mut Response) {
    let usual = match response.status() {
        StatusCode::SERVICE_UNAVAILABLE => RETRY_AFTER,
        StatusCode::TOO_MANY_REQUESTS => THROTTLED_RETRY_AFTER,
        _ => return,
    };
    let after = error.retry_after().map_or(usual, |time| HeaderValue::from(time.as_secs().max(1)));
    response.headers_mut().insert(header::RETRY_AFTER, after);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_codes_have_their_status() {
        let cases = [
            (Error::not_found("x"), 404),
            (Error::conflict("x"), 409),
            (Error::conflict("x").with_code(Code::PreconditionFailed), 412),
            (Error::locked("x"), 423),
            (Error::invalid("x"), 400),
            (Error::invalid("x").with_code(Code::UnsupportedMediaType), 415),
            (Error::invalid("x").with_code(Code::NotReadable), 422),
            (Error::exhausted("x").with_code(Code::TooLarge), 413),
            (Error::forbidden("x"), 403),
            (Error::forbidden("x").with_code(Code::Unauthenticated), 401),
            (Error::exhausted("x"), 507),
            (Error::exhausted("x").with_code(Code::TooManyAttempts), 429),
            (Error::unavailable("x"), 503),
            (Error::corrupt("x"), 500),
        ];
        for (error, expected) in cases {
            assert_eq!(status(&error).as_u16(), expected, "{error:?}");
        }
    }

    #[test]
    fn a_problem_shows_the_message_and_never_the_source() {
        let error = Error::corrupt("row 7 of nodes is torn").with_source("/data/main.db");
        assert!(!public_message(&error).contains("nodes"));
        let response = Problem(Error::unavailable("the store \"files\" does not answer")).into_response();
        assert_eq!(response.headers()[header::RETRY_AFTER], "5");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
        let throttled = Error::exhausted("too often").with_code(Code::TooManyAttempts);
        let throttled = Problem(throttled.with_retry_after(std::time::Duration::from_secs(241))).into_response();
        assert_eq!(throttled.headers()[header::RETRY_AFTER], "241");
        let refused = Problem(Error::forbidden("sign in").with_code(Code::Unauthenticated)).into_response();
        assert_eq!(refused.headers().get_all(header::WWW_AUTHENTICATE).iter().count(), 2);
    }
}
