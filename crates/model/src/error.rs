//! The one error type of all crates.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::{Code, Right};

/// The result of every fallible function of these crates.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The closed set of reasons for which an operation can fail. Each protocol maps them to its own codes in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The object definitely does not exist, or the caller may not know that it exists.
    NotFound,
    /// The request conflicts with the current state: a name is taken, a precondition failed.
    Conflict,
    /// Another user has checked out or locked the document.
    Locked,
    /// The request itself is wrong; repeating it does not help.
    Invalid,
    /// The caller is known but not allowed to do this.
    Forbidden,
    /// A limit was reached: quota, disk space, rate, size.
    Exhausted,
    /// A required service does not answer; it may be unknown whether a change was made.
    Unavailable,
    /// Stored bytes or rows are damaged.
    Corrupt,
}

/// An error: a kind for programs, a message for people (what happened, to what, what to do), and the cause.
///
/// The message may be shown to the caller. The source is for the log only.
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    code: Code,
    retry_after: Option<Duration>,
    known: Option<Box<Known>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// A right that a caller needs and lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The right.
    pub right: Right,
    /// Name of the item; empty for the root site.
    pub name: String,
    /// Set when the right is missing on something inside the item.
    pub inside: bool,
}

/// The details of an error beside its message, for code that words the message differently.
enum Known {
    Lack(Lack),
    Names(Vec<String>),
}

impl Error {
    /// Creates the error for a caller that knows of an item and lacks a right on it.
    pub fn lacking(right: Right, name: &str) -> Self {
        let message = format!(
            "you do not have the right \"{}\" on \"{name}\": ask a person who manages its permissions",
            right.as_str()
        );
        let lack = Lack { right, name: name.to_owned(), inside: false };
        Self { known: Some(Box::new(Known::Lack(lack))), ..Self::forbidden(message) }
    }

    /// Creates the error for a caller that lacks a right on something inside an item.
    pub fn lacking_inside(right: Right, name: &str) -> Self {
        let message = format!("\"{name}\" contains items on which you do not have the right \"{}\"", right.as_str());
        let lack = Lack { right, name: name.to_owned(), inside: true };
        Self { known: Some(Box::new(Known::Lack(lack))), ..Self::forbidden(message) }
    }

    /// Returns the missing right, for code that names rights differently from the message.
    pub fn lack(&self) -> Option<&Lack> {
        match self.known.as_deref() {
            Some(Known::Lack(lack)) => Some(lack),
            _ => None,
        }
    }

    /// Creates an error of `kind` with a `message` that a person can act on.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into(), code: kind.code(), retry_after: None, known: None, source: None }
    }

    /// Replaces the stable machine-readable code, which by default is that of the kind.
    #[must_use]
    pub fn with_code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// Sets the time after which the same request may succeed, where it is known.
    #[must_use]
    pub fn with_retry_after(mut self, time: Duration) -> Self {
        self.retry_after = Some(time);
        self
    }

    /// Attaches the names in the message, in their order, so that the message can be worded in another language.
    #[must_use]
    pub fn naming(mut self, names: &[&str]) -> Self {
        self.known = Some(Box::new(Known::Names(names.iter().map(|name| (*name).to_owned()).collect())));
        self
    }

    /// Returns the names in the message; empty when there are none or they were not attached.
    pub fn named(&self) -> &[String] {
        match self.known.as_deref() {
            Some(Known::Names(names)) => names,
            _ => &[],
        }
    }

    /// Attaches the cause, for the log.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Shorthand for [`ErrorKind::NotFound`].
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Shorthand for [`ErrorKind::Conflict`].
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// Shorthand for [`ErrorKind::Locked`].
    pub fn locked(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Locked, message)
    }

    /// Shorthand for [`ErrorKind::Invalid`].
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Shorthand for [`ErrorKind::Forbidden`].
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }

    /// Shorthand for [`ErrorKind::Exhausted`].
    pub fn exhausted(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Exhausted, message)
    }

    /// Shorthand for [`ErrorKind::Unavailable`].
    pub fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// Shorthand for [`ErrorKind::Corrupt`].
    pub fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Returns the reason, for programs.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Description of the error, its subject and the remedy.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the stable code, such as `name_taken`. Scripts may rely on it.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns whether the same request, unchanged, may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ErrorKind::Unavailable | ErrorKind::Locked | ErrorKind::Exhausted)
    }

    /// Returns the time after which the same request may succeed, where it is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the message with all its causes, for the log.
    pub fn report(&self) -> String {
        let mut text = self.message.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::NotFound,
        Self::Conflict,
        Self::Locked,
        Self::Invalid,
        Self::Forbidden,
        Self::Exhausted,
        Self::Unavailable,
        Self::Corrupt,
    ];

    /// Returns the kind's own stable code.
    pub fn code(self) -> Code {
        match self {
            Self::NotFound => Code::NotFound,
            Self::Conflict => Code::Conflict,
            Self::Locked => Code::Locked,
            Self::Invalid => Code::Invalid,
            Self::Forbidden => Code::Forbidden,
            Self::Exhausted => Code::Exhausted,
            Self::Unavailable => Code::Unavailable,
            Self::Corrupt => Code::Corrupt,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({}): {}", self.kind, self.code, self.report())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}
