//! Remarks on a query: what was read otherwise than it may have been meant.

use std::ops::Range;

/// A remark on a part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The part, in bytes of the query.
    pub range: Range<usize>,
    /// The reason.
    pub reason: RemarkReason,
    /// The part as it was entered, shortened.
    pub text: String,
}

/// The reason of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemarkReason {
    /// A quotation mark is not closed. The phrase extends to the end.
    UnclosedPhrase,
    /// A parenthesis is not closed, or closes nothing. It was left out.
    UnmatchedParenthesis,
    /// An operator such as AND has nothing to connect. It was read as a word.
    LoneOperator,
    /// The beginning of a word before an asterisk is too short, or there is none. The asterisk was left out.
    ShortPrefix,
    /// No date could be read. The filter was left out.
    NoDate,
    /// No size could be read. The filter was left out.
    NoSize,
    /// A filter has no value. It was left out.
    NoValue,
    /// Nobody and nothing within reach has this name.
    UnknownName,
    /// The query is too long, or nested too deep. The rest was left out.
    TooMuch,
}

impl RemarkReason {
    /// Returns the code by which programs know the reason.
    pub const fn code(self) -> &'static str {
        match self {
            Self::UnclosedPhrase => "unclosed_phrase",
            Self::UnmatchedParenthesis => "unmatched_parenthesis",
            Self::LoneOperator => "lone_operator",
            Self::ShortPrefix => "short_prefix",
            Self::NoDate => "no_date",
            Self::NoSize => "no_size",
            Self::NoValue => "no_value",
            Self::UnknownName => "unknown_name",
            Self::TooMuch => "too_much",
        }
    }
}
