//! Remarks on a query: parts that were ignored, or read differently from what was probably meant.

use std::ops::Range;

/// Limit on the remarks on a query.
const MAX_REMARKS: usize = 10;
/// Limit on the characters that a remark repeats.
const MAX_REMARK_CHARS: usize = 60;

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
    /// An operator such as AND has nothing to connect. It was left out. A query of operators only is read as words.
    LoneOperator,
    /// The beginning of a word before an asterisk is too short, or there is none. The asterisk was left out.
    ShortPrefix,
    /// No date could be read. The filter was left out.
    NoDate,
    /// No size could be read. The filter was left out.
    NoSize,
    /// There is no filter with this name. It was read as words.
    UnknownFilter,
    /// A filter has no value, or one that it cannot have. It was left out.
    NoValue,
    /// No person or place that the caller can see has this name. The filter finds nothing.
    UnknownName,
    /// The query is too long or too deeply nested. Parts of it were left out.
    TooMuch,
}

impl Remark {
    /// Adds a remark on a part of a query, unless there are many already.
    pub fn add(remarks: &mut Vec<Self>, reason: RemarkReason, query: &str, range: Range<usize>) {
        if remarks.len() < MAX_REMARKS {
            let part = query.get(range.clone()).unwrap_or_default();
            remarks.push(Self { text: part.chars().take(MAX_REMARK_CHARS).collect(), range, reason });
        }
    }
}

impl RemarkReason {
    /// Returns whether the part is a filter that was left out.
    pub const fn leaves_out_filter(self) -> bool {
        matches!(self, Self::NoDate | Self::NoSize | Self::NoValue)
    }

    /// Returns the code by which programs know the reason.
    pub const fn code(self) -> &'static str {
        match self {
            Self::UnclosedPhrase => "unclosed_phrase",
            Self::UnmatchedParenthesis => "unmatched_parenthesis",
            Self::LoneOperator => "lone_operator",
            Self::ShortPrefix => "short_prefix",
            Self::NoDate => "no_date",
            Self::NoSize => "no_size",
            Self::UnknownFilter => "unknown_filter",
            Self::NoValue => "no_value",
            Self::UnknownName => "unknown_name",
            Self::TooMuch => "too_much",
        }
    }
}
