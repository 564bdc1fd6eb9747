//! Stable error codes.

use std::fmt;

/// Defines the codes, each with the word that scripts and clients see.
macro_rules! codes {
    ($($name:ident = $word:literal,)+) => {
        /// The reason for an error, more specific than its kind. Scripts rely on the words, which never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = concat!("`", $word, "`")] $name,)+
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }
        }
    };
}

codes! {
    // One code for each kind of error.
    NotFound = "not_found",
    Conflict = "conflict",
    Locked = "locked",
    Invalid = "invalid",
    Forbidden = "forbidden",
    Exhausted = "exhausted",
    Unavailable = "unavailable",
    Corrupt = "corrupt",

    // All other codes.
    Aborted = "aborted",
    AdministratorsOnly = "administrators_only",
    AmbiguousEntry = "ambiguous_entry",
    AmbiguousPerson = "ambiguous_person",
    ApprovalRequired = "approval_required",
    ApprovalWithoutDrafts = "approval_without_drafts",
    ArchiveTooLarge = "archive_too_large",
    BackupBusy = "backup_busy",
    BackupIncomplete = "backup_incomplete",
    BackupIsThere = "backup_is_there",
    BackupNotEmpty = "backup_not_empty",
    BackupNotKept = "backup_not_kept",
    BackupOtherFarm = "backup_other_farm",
    BackupPlaceAbsent = "backup_place_absent",
    BackupPlaceTaken = "backup_place_taken",
    BackupWithinFarm = "backup_within_farm",
    BadCredentials = "bad_credentials",
    BasicNeedsTls = "basic_needs_tls",
    BlobBeingDeleted = "blob_being_deleted",
    BlobBytesMissing = "blob_bytes_missing",
    BlobDeletedLately = "blob_deleted_lately",
    BlobElsewhere = "blob_elsewhere",
    BlobNotWhole = "blob_not_whole",
    BodyTimeout = "body_timeout",
    BuiltIn = "built_in",
    Busy = "busy",
    Cancelled = "cancelled",
    CannotOpen = "cannot_open",
    ChangesLost = "changes_lost",
    CheckFailed = "check_failed",
    CheckViolation = "check_violation",
    CheckedOut = "checked_out",
    CheckoutRequired = "checkout_required",
    ChecksumMismatch = "checksum_mismatch",
    Closed = "closed",
    ClusterFirst = "cluster_first",
    ColumnRead = "column_read",
    ColumnRequired = "column_required",
    CompactionRunning = "compaction_running",
    ConditionNotHeeded = "condition_not_heeded",
    ConfigurationMissing = "configuration_missing",
    ConstraintViolation = "constraint_violation",
    ContentDamaged = "content_damaged",
    ContentMissing = "content_missing",
    CopyFailed = "copy_failed",
    DatabaseAway = "database_away",
    DatabaseCorrupt = "database_corrupt",
    DatabaseEmpty = "database_empty",
    DatabaseForeign = "database_foreign",
    DatabaseInUse = "database_in_use",
    DatabaseMissing = "database_missing",
    DatabaseUnreadable = "database_unreadable",
    DatabaseUrlNeeded = "database_url_needed",
    DigestMismatch = "digest_mismatch",
    DiskError = "disk_error",
    DiskFull = "disk_full",
    EasyPassword = "easy_password",
    Encoding = "encoding",
    FarmExists = "farm_exists",
    FarmNested = "farm_nested",
    FieldsTooLong = "fields_too_long",
    ForeignKeyViolation = "foreign_key_violation",
    ForeignOrigin = "foreign_origin",
    FormExpired = "form_expired",
    FreshSignInNeeded = "fresh_sign_in_needed",
    HeadersTooLarge = "headers_too_large",
    IdempotencyKeyReused = "idempotency_key_reused",
    IncompleteBody = "incomplete_body",
    Inherits = "inherits",
    Internal = "internal",
    InternalError = "internal_error",
    Interrupted = "interrupted",
    IntoItself = "into_itself",
    InvalidAccent = "invalid_accent",
    InvalidAddress = "invalid_address",
    InvalidComment = "invalid_comment",
    InvalidCursor = "invalid_cursor",
    InvalidDays = "invalid_days",
    InvalidDigest = "invalid_digest",
    InvalidEmail = "invalid_email",
    InvalidFormula = "invalid_formula",
    InvalidId = "invalid_id",
    InvalidIdempotencyKey = "invalid_idempotency_key",
    InvalidIf = "invalid_if",
    InvalidJson = "invalid_json",
    InvalidLength = "invalid_length",
    InvalidLink = "invalid_link",
    InvalidLinkPassword = "invalid_link_password",
    InvalidLockToken = "invalid_lock_token",
    InvalidLogin = "invalid_login",
    InvalidLogo = "invalid_logo",
    InvalidMetadata = "invalid_metadata",
    InvalidName = "invalid_name",
    InvalidNetwork = "invalid_network",
    InvalidNumber = "invalid_number",
    InvalidPassword = "invalid_password",
    InvalidPasswordList = "invalid_password_list",
    InvalidPath = "invalid_path",
    InvalidPrecondition = "invalid_precondition",
    InvalidQuery = "invalid_query",
    InvalidScope = "invalid_scope",
    InvalidStatement = "invalid_statement",
    InvalidTemplate = "invalid_template",
    InvalidText = "invalid_text",
    InvalidTime = "invalid_time",
    InvalidValue = "invalid_value",
    InvalidXml = "invalid_xml",
    ItemLocked = "item_locked",
    JobState = "job_state",
    KeyNeeded = "key_needed",
    LastAdministrator = "last_administrator",
    LeakedPassword = "leaked_password",
    LengthMismatch = "length_mismatch",
    LengthRequired = "length_required",
    LinkEnded = "link_ended",
    LinksNotAllowed = "links_not_allowed",
    ListedPassword = "listed_password",
    LockNotFound = "lock_not_found",
    LockTimeout = "lock_timeout",
    LoginRefused = "login_refused",
    LoginTaken = "login_taken",
    MethodNotAllowed = "method_not_allowed",
    MetricsToken = "metrics_token",
    Misfit = "misfit",
    MovedMeanwhile = "moved_meanwhile",
    NameTaken = "name_taken",
    NeedsPoppler = "needs_poppler",
    NeedsSoffice = "needs_soffice",
    NeedsTesseract = "needs_tesseract",
    NewerBlobStore = "newer_blob_store",
    NoBaseBackup = "no_base_backup",
    NoCopiedServers = "no_copied_servers",
    NoDatabaseRight = "no_database_right",
    NoDraft = "no_draft",
    NoGrammarDiscovery = "no_grammar_discovery",
    NoSharedMemory = "no_shared_memory",
    NoSuchColumn = "no_such_column",
    NoSuchDatabase = "no_such_database",
    NoSuchPlace = "no_such_place",
    NoSuchTokenPlace = "no_such_token_place",
    NoText = "no_text",
    NotABlobStore = "not_a_blob_store",
    NotAsScript = "not_as_script",
    NotCheckedOut = "not_checked_out",
    NotNullViolation = "not_null_violation",
    NotReadable = "not_readable",
    NotSubmitted = "not_submitted",
    NothingPublished = "nothing_published",
    OffsetMismatch = "offset_mismatch",
    OtherCollection = "other_collection",
    OtherDatabase = "other_database",
    OtherHost = "other_host",
    OutOfMemory = "out_of_memory",
    OutcomeUnknown = "outcome_unknown",
    Outside = "outside",
    Overloaded = "overloaded",
    Overtaken = "overtaken",
    OwnPermissions = "own_permissions",
    PageChecksum = "page_checksum",
    ParameterCount = "parameter_count",
    ParentMissing = "parent_missing",
    PasswordsDiffer = "passwords_differ",
    PathTooDeep = "path_too_deep",
    PlaceNested = "place_nested",
    PlaceTaken = "place_taken",
    PreconditionFailed = "precondition_failed",
    ProgramMissing = "program_missing",
    ProgramName = "program_name",
    PropfindInfinite = "propfind_infinite",
    QuotaExceeded = "quota_exceeded",
    RangeNotSatisfiable = "range_not_satisfiable",
    ReadOnly = "read_only",
    ReaderFailed = "reader_failed",
    ReasonRequired = "reason_required",
    RestoreIncomplete = "restore_incomplete",
    RestoreNested = "restore_nested",
    RestoreNotEmpty = "restore_not_empty",
    RestoreUnfinished = "restore_unfinished",
    RightLost = "right_lost",
    RoleInUse = "role_in_use",
    RoleTooGreat = "role_too_great",
    SameItem = "same_item",
    SamePassword = "same_password",
    SchemaForeign = "schema_foreign",
    SchemaNewer = "schema_newer",
    SchemaOther = "schema_other",
    SearchTooLong = "search_too_long",
    SerializationFailure = "serialization_failure",
    ServerExhausted = "server_exhausted",
    ServerTooOld = "server_too_old",
    ServerUnreachable = "server_unreachable",
    SeveralScopes = "several_scopes",
    SignInBusy = "sign_in_busy",
    SignInFailed = "sign_in_failed",
    StoreAbsent = "store_absent",
    StoreAway = "store_away",
    StoreBucketMissing = "store_bucket_missing",
    StoreBusy = "store_busy",
    StoreCertificate = "store_certificate",
    StoreClock = "store_clock",
    StoreCredentialRefused = "store_credential_refused",
    StoreFull = "store_full",
    StoreInUse = "store_in_use",
    StoreKeyMissing = "store_key_missing",
    StoreKeyNeeded = "store_key_needed",
    StoreNotActive = "store_not_active",
    StoreNotEmpty = "store_not_empty",
    StoreOfAnotherFarm = "store_of_another_farm",
    StoreOrder = "store_order",
    StoreRegion = "store_region",
    StoreRemoved = "store_removed",
    StoreTakenOver = "store_taken_over",
    StoreUnreadable = "store_unreadable",
    TitleColumn = "title_column",
    TlsUnsupported = "tls_unsupported",
    TokenExists = "token_exists",
    TokenScope = "token_scope",
    TokenTooLong = "token_too_long",
    TooLarge = "too_large",
    TooMany = "too_many",
    TooManyAttempts = "too_many_attempts",
    TooManyNetworks = "too_many_networks",
    TooManyPlaces = "too_many_places",
    TooManyProperties = "too_many_properties",
    TooManyRequests = "too_many_requests",
    TooManyTokens = "too_many_tokens",
    TooManyUploads = "too_many_uploads",
    TooMuchAtOnce = "too_much_at_once",
    TooMuchUnfinished = "too_much_unfinished",
    TookTooLong = "took_too_long",
    TypeMismatch = "type_mismatch",
    Unauthenticated = "unauthenticated",
    UnexpectedQuery = "unexpected_query",
    UnexpectedRange = "unexpected_range",
    UniqueViolation = "unique_violation",
    UnknownGrammar = "unknown_grammar",
    UnknownEntry = "unknown_entry",
    UnknownPerson = "unknown_person",
    UnknownReport = "unknown_report",
    UnlikelyShare = "unlikely_share",
    Unreadable = "unreadable",
    UnsupportedChecksum = "unsupported_checksum",
    UnsupportedMediaType = "unsupported_media_type",
    UnsupportedQuery = "unsupported_query",
    UnsupportedVersion = "unsupported_version",
    UploadBusy = "upload_busy",
    ValueChanged = "value_changed",
    ValueTaken = "value_taken",
    ValueTooLarge = "value_too_large",
    VersionAddress = "version_address",
    VersionInUse = "version_in_use",
    WouldPublish = "would_publish",
    WrongKey = "wrong_key",
    WrongKind = "wrong_kind",
    WrongLinkPassword = "wrong_link_password",
    WrongPassword = "wrong_password",
}

impl Code {
    /// Returns the code with this word, if there is one.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == word)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Compares with the word, as clients do.
impl PartialEq<&str> for Code {
    fn eq(&self, word: &&str) -> bool {
        self.as_str() == *word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_word_of_its_own() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
        }
        assert_eq!(Code::parse("no such code"), None);
    }
}
