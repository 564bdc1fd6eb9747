//! Schemas of texts that follow a rule, for the OpenAPI document.
//!
//! Fields and parameters name these types as their `value_type`. The rules themselves are enforced where texts are
//! parsed, in the model and the repository. The tests here compare the patterns with those of the model; `./check
//! fuzz-api` compares all of them with the server.

use model::{
    Accent, MAX_COMMENT, MAX_NAME_CHARS, PolicyLevel, Right, SearchAlert, StoreKind, StoreState, Theme, TokenScope,
    Versioning,
};
use repository::{
    AUDIT_ACTIONS, FARM_ACTIONS, MAX_ABOUT_CHARS, MAX_PASSWORD_CHARS, MAX_QUERY_CHARS, MIN_PASSWORD_CHARS,
};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Control characters, for use inside a character class.
macro_rules! control {
    () => {
        r"\u0000-\u001f\u007f-\u009f"
    };
}

/// White space other than control characters, for use inside a character class.
macro_rules! blank {
    () => {
        r" \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
    };
}

/// White space at either end, which is trimmed.
macro_rules! trimmed {
    () => {
        concat!(r"[\u0009-\u000d\u0085", blank!(), "]*")
    };
}

/// Invisible characters other than white space, for use inside a character class.
macro_rules! invisible {
    () => {
        concat!(
            r"\u00ad\u034f\u061c\u115f\u1160\u180e\u3164\ufeff\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f",
            "\u{e0000}-\u{e0fff}"
        )
    };
}

/// One part of an IPv4 address.
macro_rules! octet {
    () => {
        "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    };
}

/// One group of an IPv6 address.
macro_rules! group {
    () => {
        "[0-9A-Fa-f]{1,4}"
    };
}

/// Prefix length of an IPv6 network.
macro_rules! bits {
    () => {
        "(?:/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9]))?"
    };
}

/// A name: has a visible character, neither begins nor ends with white space, and does not end with a dot.
macro_rules! name {
    () => {
        concat!(
            r"(?:[^/\\",
            control!(),
            blank!(),
            r"][^/\\",
            control!(),
            "]*)?",
            r"(?:[^/\\.",
            control!(),
            blank!(),
            invisible!(),
            "]",
            r"|[^/\\",
            control!(),
            blank!(),
            invisible!(),
            r"][^/\\",
            control!(),
            r"]*[^/\\.",
            control!(),
            blank!(),
            "])"
        )
    };
}

/// An identifier: decimal digits.
macro_rules! id {
    () => {
        "(?:[1-9][0-9]{0,17}|[1-8][0-9]{18})"
    };
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

/// A text with a minimum and maximum length in characters.
fn of_length(least: usize, most: usize) -> ObjectBuilder {
    text().min_length(Some(least).filter(|least| *least > 0)).max_length(Some(most))
}

/// One of these words.
fn one_of(words: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    text().enum_values(Some(words))
}

/// Declares types that stand for texts in the OpenAPI document, and lists them all.
macro_rules! rules {
    ($($(#[doc = $about:literal])+ $name:ident => $schema:expr;)+) => {
        $(
            $(#[doc = $about])+
            pub enum $name {}

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    let about = concat!($($about),+).trim();
                    ObjectBuilder::from($schema).description(Some(about)).into()
                }
            }

            impl ToSchema for $name {}
        )+

        /// All schemas by name.
        pub fn all() -> Vec<(String, RefOr<Schema>)> {
            let mut all = vec![$(($name::name().into_owned(), $name::schema())),+];
            all.push((DayOrTime::name().into_owned(), DayOrTime::schema()));
            all
        }
    };
}

rules! {
    /// The name of an item, group, role, column, view or store: 1 to 255 characters, without slashes, backslashes and
    /// control characters, no white space at either end and no dot at the end.
    ItemName => of_length(1, MAX_NAME_CHARS).pattern(Some(concat!("^", name!(), "$")));
    /// Names separated by slashes; empty for the root.
    ItemPath => text().pattern(Some(concat!("^/*(?:", name!(), "(?:/+", name!(), ")*/*)?$")));
    /// At most four names separated by slashes.
    CollectionPath => text().pattern(Some(concat!("^/*(?:", name!(), "(?:/+", name!(), "){0,3}/*)?$")));
    /// A title: 1 to 255 characters, without control characters and not only white space.
    Title => of_length(1, MAX_NAME_CHARS).pattern(Some(concat!(
        "^[^", control!(), "]*[^", control!(), blank!(), "][^", control!(), "]*$"
    )));
    /// A display name: 1 to 255 characters without control characters. White space at either end is trimmed.
    DisplayName => of_length(1, MAX_NAME_CHARS).pattern(Some(concat!(
        "^",
        trimmed!(),
        "[^", control!(), blank!(), "](?:[^", control!(), "]*[^", control!(), blank!(), "])?", trimmed!(), "$"
    )));
    /// A display name or nothing: up to 255 characters without control characters.
    OptionalDisplayName => of_length(0, MAX_NAME_CHARS).pattern(Some(concat!(
        "^",
        trimmed!(),
        "(?:[^", control!(), blank!(), "](?:[^", control!(), "]*[^", control!(), blank!(), "])?", trimmed!(), ")?$"
    )));
    /// A line of a profile: up to 255 characters without control characters. White space at either end is trimmed.
    ProfileLine => of_length(0, MAX_NAME_CHARS).pattern(Some(concat!(
        "^", trimmed!(), "[^", control!(), "]*", trimmed!(), "$"
    )));
    /// An address that begins with http://, https:// or mailto:, or nothing; up to 255 characters.
    WebAddress => of_length(0, MAX_NAME_CHARS).pattern(Some(concat!(
        "^",
        trimmed!(),
        "(?:(?:[hH][tT][tT][pP][sS]?://|[mM][aA][iI][lL][tT][oO]:)[^", control!(), blank!(), "]*)?", trimmed!(), "$"
    )));
    /// A text of up to 10,000 characters, without control characters other than line ends and tabs.
    AboutText => of_length(0, MAX_ABOUT_CHARS).pattern(Some(
        r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$"
    ));
    /// A login name: 1 to 64 characters, none of `/ \ :`, no white space and no control characters.
    Login => of_length(1, 64).pattern(Some(concat!(r"^[^/\\:", control!(), blank!(), "]+$")));
    /// An e-mail address of at most 254 bytes, or nothing.
    EmailAddress => of_length(0, 254).pattern(Some(concat!(
        "^",
        trimmed!(),
        "(?:[^<>,;\"", control!(), blank!(), "]+@[^@<>,;\"", control!(), blank!(), "]+", trimmed!(), ")?$"
    )));
    /// The description of a group: up to 4,000 characters. The only control characters allowed are line ends and tabs.
    Description => of_length(0, MAX_COMMENT).pattern(Some(concat!(
        "^", trimmed!(), r"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*", trimmed!(), "$"
    )));
    /// An author's comment on a version: up to 4,000 characters.
    CommentText => of_length(0, MAX_COMMENT).pattern(Some(r"^[^\u0000]*$"));
    /// The reason of a rejection: 1 to 4,000 characters, not only white space.
    ReasonText => of_length(1, MAX_COMMENT).pattern(Some(concat!(
        r"^[^\u0000]*[^", control!(), blank!(), r"][^\u0000]*$"
    )));
    /// A text without the character U+0000.
    PlainText => text().pattern(Some(r"^[^\u0000]*$"));
    /// A search query: up to 4,096 characters.
    Sought => of_length(0, MAX_QUERY_CHARS);
    /// A query that is saved: 1 to 4,096 characters, not only white space and control characters, and without the
    /// character U+0000.
    SavedQuery => of_length(1, MAX_QUERY_CHARS).pattern(Some(concat!(
        r"^[^\u0000]*[^", control!(), blank!(), r"][^\u0000]*$"
    )));
    /// Alerts of a saved search.
    SearchAlertWord => one_of(SearchAlert::ALL.map(SearchAlert::as_str));
    /// A password: 10 to 1,024 characters.
    Password => of_length(MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS);
    /// The password of a link: 8 to 1,024 characters.
    LinkPassword => of_length(8, MAX_PASSWORD_CHARS);
    /// An option of a choice column: 1 to 255 characters without control characters.
    Choice => of_length(1, MAX_NAME_CHARS).pattern(Some(concat!("^[^", control!(), "]+$")));
    /// The formula of a column: at most 2,000 characters; empty for none.
    Formula => of_length(0, 2_000);
    /// Message to authors whose values do not pass a check: one line of at most 255 characters.
    CheckMessage => of_length(0, 255).pattern(Some(concat!("^[^", control!(), "]*$")));
    /// Description of what to enter in a column: one line of at most 1,000 characters.
    ColumnDescription => of_length(0, 1_000).pattern(Some(concat!("^[^", control!(), "]*$")));
    /// A file type: the extension without its dot.
    FileType => of_length(1, 32).pattern(Some(concat!(r"^\.*[^./", control!(), blank!(), "]+$")));
    /// The name of a language of text in pictures, such as `deu`.
    RecognitionLanguage => of_length(2, 20).pattern(Some("^[0-9A-Za-z_]+$"));
    /// The name of a template: small letters, digits and hyphens.
    TemplateName => of_length(1, 63).pattern(Some("^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$"));
    /// Order, filter and columns in the form of the query string of a library's page: at most 4,000 bytes without
    /// control characters.
    ViewQuery => of_length(0, 4_000).pattern(Some(concat!("^[^", control!(), "]*$")));
    /// The number of a version, such as `2.0`.
    VersionText => text().pattern(Some(r"^[0-9]{1,9}\.[0-9]{1,9}$"));
    /// An address, or `ADDRESS/BITS`.
    NetworkText => text().pattern(Some(concat!(
        "^(?:(?:", octet!(), r"\.){3}", octet!(), "(?:/(?:3[0-2]|[12]?[0-9]))?|",
        "(?:", group!(), ":){7}", group!(), bits!(), "|(?:", group!(), ":){1,6}:", group!(), bits!(),
        "|(?:", group!(), ":){1,7}:", bits!(), ")$"
    )));
    /// BLAKE3-256 in hexadecimal digits.
    DigestText => text().pattern(Some("^[0-9A-Fa-f]{64}$"));
    /// A position in a list: `next` of the previous page.
    CursorText => of_length(1, 4_096).pattern(Some("^[A-Za-z0-9_-]+$"));
    /// Identifiers separated by commas.
    IdList => text().pattern(Some(concat!("^,*", id!(), "(?:,+", id!(), ")*,*$")));
    /// A time (RFC 3339).
    Time => text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    /// A language tag such as `de`, or nothing.
    LanguageTag => of_length(0, 35).pattern(Some("^[A-Za-z0-9-]*$"));
    /// The client's own key for a request: 1 to 128 printable ASCII characters, with or without quotes around them.
    RequestKey => of_length(1, 128).pattern(Some("^(?:[!-~]|[!#-~][!-~]|\"[!#-~]|[!-~][ -~]+[!-~])$"));
    /// Entity tags in quotes, separated by commas, or `*`.
    EntityTags => text().pattern(Some(r#"^(?:\*|(?:W/)?"[!#-~]*"(?: *, *(?:W/)?"[!#-~]*")*)$"#));
    /// `sha1` and the digest of the part in Base64.
    Sha1Text => text().pattern(Some("^sha1 [A-Za-z0-9+/]{26}[AEIMQUYcgkosw048]=$"));
    /// Keys and values of an upload, each value in Base64.
    UploadMetadata => of_length(1, 8_192)
        .pattern(Some("^[!-+\\--~]+ (?:[A-Za-z0-9+/]{4})*(?:,[!-+\\--~]+ (?:[A-Za-z0-9+/]{4})*)*$"));
    /// An identifier in an address or a body: a positive decimal number.
    Identifier => text().pattern(Some(concat!("^", id!(), "$")));
    /// `name`, `modified`, `size`, `person`, `type`, or the identifier of a column.
    SortKeyText => text().pattern(Some(concat!("^(?:name|modified|size|person|type|", id!(), ")$")));
    /// `added`, `modified`, `person`, or the identifier of a column.
    RowSortText => text().pattern(Some(concat!("^(?:added|modified|person|", id!(), ")$")));
    /// Columns with their totals: `COLUMN:TOTAL`, separated by commas.
    TotalsText => of_length(1, 2_000).pattern(Some(concat!(
        "^", id!(), ":(?:count|sum|average|min|max)(?:,", id!(), ":(?:count|sum|average|min|max)){0,59}$"
    )));
    /// The entity tag of a row, without quotes.
    RowTag => text().pattern(Some("^[0-9a-f]{1,16}$"));
    /// The order of a list.
    Order => one_of(["ascending", "descending"]);
    /// A recycle bin: the caller's own, or that of the site collection.
    BinWord => one_of(["mine", "site"]);
    /// An order of search results.
    SearchOrderWord => one_of(["relevance", "newest", "oldest", "largest", "smallest"]);
    /// Behaviour when a document with the same name exists.
    Conflict => one_of(["replace", "fail", "keep-both"]);
    /// The label of a link of a site: one line of at most 100 characters, or nothing.
    LinkLabel => of_length(0, 100).pattern(Some(concat!("^[^", control!(), "]*$")));
    /// The target of a link of a site: begins with a single slash, http:// or https://, at most 2,000 characters
    /// without spaces and backslashes.
    LinkAddress => of_length(1, 2_000).pattern(Some(concat!(
        r"^(?:/(?:[^/\\", control!(), blank!(), r"][^\\", control!(), blank!(), "]*)?|",
        r"[hH][tT][tT][pP][sS]?://[^\\", control!(), blank!(), "]+)$"
    )));
    /// The colour of pages.
    AccentWord => one_of(Accent::ALL.map(Accent::as_str));
    /// Name of a time zone: empty, or one that exists.
    ZoneName => of_length(0, 64).pattern(Some("^(?:[A-Za-z][A-Za-z0-9_+/-]*)?$"));
    /// The theme of the pages.
    ThemeWord => one_of(Theme::ALL.map(Theme::as_str));
    /// Versioning of a library.
    VersioningWord => one_of([Versioning::None, Versioning::Major, Versioning::MajorMinor].map(Versioning::as_str));
    /// A right.
    RightWord => one_of(Right::ALL.map(Right::as_str));
    /// A permitted use of a token.
    ScopeWord => one_of(TokenScope::ALL.map(TokenScope::as_str));
    /// The kind of value in a column.
    ColumnWord => one_of(["text", "note", "number", "date", "choice", "person", "yes-no", "link", "lookup"]);
    /// Start of the age of a BLOB.
    BasisWord => one_of(["age", "access"]);
    /// Kind of the provider of a BLOB store.
    StoreWord => one_of(
        StoreKind::ALL.into_iter().filter(|kind| *kind != StoreKind::Database).map(StoreKind::as_str)
    );
    /// State of a BLOB store with regard to new BLOBs.
    StoreStateWord => one_of(StoreState::ALL.map(StoreState::as_str));
    /// The kind of target that a storage policy applies to.
    PolicyWord => one_of(PolicyLevel::ALL.map(PolicyLevel::as_str));
    /// An action in a site collection.
    AuditAction => one_of(AUDIT_ACTIONS);
    /// An action in the farm, outside of content.
    FarmAction => one_of(FARM_ACTIONS);
    /// Seconds between samples.
    FigureStep => ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([10, 120]));
    /// The supported version of tus.
    TusVersion => one_of([http_core::protocol::tus::VERSION]);
}

/// A day (`2026-03-01`) or a time (RFC 3339).
pub enum DayOrTime {}

impl PartialSchema for DayOrTime {
    fn schema() -> RefOr<Schema> {
        let format = |format| text().format(Some(SchemaFormat::KnownFormat(format))).build();
        let either = OneOfBuilder::new().item(format(KnownFormat::Date)).item(format(KnownFormat::DateTime));
        either.description(Some("A day (`2026-03-01`) or a time (RFC 3339).")).into()
    }
}

impl ToSchema for DayOrTime {}

/// Returns the schema of a path parameter, by its name.
pub fn of_path(path: &str, word: &str) -> Option<RefOr<Schema>> {
    let plain = || text().min_length(Some(1)).into();
    Some(match (path, word) {
        (_, "number") => VersionText::schema(),
        (_, "digest") => DigestText::schema(),
        (_, "kind") => PolicyWord::schema(),
        (_, "path") => ItemPath::schema(),
        (path, "name") if path.contains("/templates/") => TemplateName::schema(),
        (_, "store" | "target") => plain(),
        (path, "token") if path.contains("/locks/") => plain(),
        (path, "id") if path.contains("/uploads/") => plain(),
        (
            _,
            "id" | "column" | "entry" | "link" | "principal" | "role" | "session" | "token" | "type" | "user" | "view",
        ) => Identifier::schema(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        ColumnKind, Digest, Id, LoginName, Name, Network, Preferences, Result, SitePath, TierBasis, VersionNumber,
    };
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::string::string_regex;
    use proptest::test_runner::TestRunner;

    /// Returns the schema of a type as JSON.
    fn rule<T: PartialSchema>() -> serde_json::Value {
        serde_json::to_value(T::schema()).unwrap()
    }

    /// Asserts that `read` accepts texts that match the pattern and the length of a type.
    fn fits<T: PartialSchema>(read: impl Fn(&str) -> Result<()>) {
        let rule = rule::<T>();
        let pattern = rule["pattern"].as_str().unwrap().trim_start_matches('^').trim_end_matches('$').to_owned();
        let most = rule["maxLength"].as_u64().unwrap_or(u64::MAX);
        let strategy = string_regex(&pattern).unwrap();
        let mut runner = TestRunner::deterministic();
        for _ in 0..2_000 {
            let text = strategy.new_tree(&mut runner).unwrap().current();
            if text.chars().count() as u64 <= most {
                assert!(read(&text).is_ok(), "{text:?} fits {pattern}");
            }
        }
    }

    #[test]
    fn what_fits_a_pattern_is_what_the_model_reads() {
        fits::<ItemName>(|text| Name::new(text).map(drop));
        fits::<CollectionPath>(|text| SitePath::parse(text).map(drop));
        fits::<Login>(|text| LoginName::new(text).map(drop));
        fits::<Identifier>(|text| text.parse::<Id>().map(drop));
        fits::<VersionText>(|text| text.parse::<VersionNumber>().map(drop));
        fits::<DigestText>(|text| text.parse::<Digest>().map(drop));
        fits::<LanguageTag>(|text| Preferences::new(text, Theme::System, "").map(drop));
        fits::<NetworkText>(|text| text.parse::<Network>().map(drop));
        fits::<CursorText>(|_| Ok(()));
    }

    #[test]
    fn words_are_those_that_the_model_reads() {
        let words = |rule: serde_json::Value| -> Vec<String> {
            rule["enum"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        for word in words(rule::<ColumnWord>()) {
            assert_eq!(ColumnKind::parse(&word, vec!["1".to_owned()]).unwrap().as_str(), word);
        }
        for word in words(rule::<BasisWord>()) {
            assert_eq!(TierBasis::parse(&word).unwrap().as_str(), word);
        }
        assert_eq!(words(rule::<RightWord>()).len(), Right::ALL.len());
    }
}
