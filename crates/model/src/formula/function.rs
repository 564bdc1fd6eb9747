//! The functions of formulas: names, arguments, results, and a line of help for each.

use super::kind::FormulaType;

/// The type that an argument must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// This type.
    Of(FormulaType),
    /// Any type.
    Any,
    /// Any type, the same for all arguments with this mark.
    Same,
    /// A number or a date, the same for all arguments with this mark.
    NumberOrDate,
}

/// The type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// This type.
    Of(FormulaType),
    /// That of the arguments marked [`Parameter::Same`] or [`Parameter::NumberOrDate`].
    Same,
}

/// Arguments and result of a function.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// Name.
    pub name: &'static str,
    /// Types of the arguments.
    pub parameters: &'static [Parameter],
    /// Number of arguments at the end that may be left out.
    pub optional: usize,
    /// True if the last argument may be repeated.
    pub repeats: bool,
    /// Type of the result.
    pub result: ResultType,
    /// A line of help.
    pub help: &'static str,
}

const TEXT: Parameter = Parameter::Of(FormulaType::Text);
const NUMBER: Parameter = Parameter::Of(FormulaType::Number);
const DATE: Parameter = Parameter::Of(FormulaType::Date);
const YES_NO: Parameter = Parameter::Of(FormulaType::YesNo);
const SAME: Parameter = Parameter::Same;
const ANY: Parameter = Parameter::Any;
const NUMBER_OR_DATE: Parameter = Parameter::NumberOrDate;

macro_rules! functions {
    ($($value:ident $name:literal ($($parameter:ident),*) $(optional $optional:literal)? $(repeats $repeats:literal)?
        -> $result:expr, $help:literal;)+) => {
        /// A function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Function {
            $(#[doc = $help] $value,)+
        }

        impl Function {
            /// All functions.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value,)+];

            /// Returns what the function takes and gives.
            pub const fn signature(self) -> Signature {
                match self {
                    $(Self::$value => Signature {
                        name: $name,
                        parameters: &[$($parameter),*],
                        optional: 0 $(+ $optional)?,
                        repeats: false $(|| $repeats)?,
                        result: $result,
                        help: $help,
                    },)+
                }
            }
        }
    };
}

const TO_TEXT: ResultType = ResultType::Of(FormulaType::Text);
const TO_NUMBER: ResultType = ResultType::Of(FormulaType::Number);
const TO_DATE: ResultType = ResultType::Of(FormulaType::Date);
const TO_YES_NO: ResultType = ResultType::Of(FormulaType::YesNo);
const TO_PERSON: ResultType = ResultType::Of(FormulaType::Person);
const TO_SAME: ResultType = ResultType::Same;

functions! {
    If "if" (YES_NO, SAME, SAME) optional 1 -> TO_SAME, "The second value if the first is yes, the third if it is no";
    Blank "blank" (ANY) -> TO_YES_NO, "Whether a value is empty, or an empty text";
    Coalesce "coalesce" (SAME) repeats true -> TO_SAME, "The first value that is not blank";
    Abs "abs" (NUMBER) -> TO_NUMBER, "A number without its sign";
    Round "round" (NUMBER, NUMBER) optional 1 -> TO_NUMBER, "A number rounded to so many decimal places";
    Floor "floor" (NUMBER) -> TO_NUMBER, "The nearest whole number that is not greater";
    Ceiling "ceiling" (NUMBER) -> TO_NUMBER, "The nearest whole number that is not less";
    Mod "mod" (NUMBER, NUMBER) -> TO_NUMBER, "The remainder of a division, with the sign of the divisor";
    Power "power" (NUMBER, NUMBER) -> TO_NUMBER, "A number raised to a power";
    Sqrt "sqrt" (NUMBER) -> TO_NUMBER, "The square root";
    Min "min" (NUMBER_OR_DATE) repeats true -> TO_SAME, "The smallest value that is not empty";
    Max "max" (NUMBER_OR_DATE) repeats true -> TO_SAME, "The largest value that is not empty";
    Sum "sum" (NUMBER) repeats true -> TO_NUMBER, "The sum of the numbers that are not empty";
    Average "average" (NUMBER) repeats true -> TO_NUMBER, "The mean of the numbers that are not empty";
    Len "len" (TEXT) -> TO_NUMBER, "The number of characters of a text";
    Left "left" (TEXT, NUMBER) -> TO_TEXT, "The first characters of a text, so many";
    Right "right" (TEXT, NUMBER) -> TO_TEXT, "The last characters of a text, so many";
    Mid "mid" (TEXT, NUMBER, NUMBER) -> TO_TEXT, "Characters of a text: from a position counted from 1, so many";
    Find "find" (TEXT, TEXT) -> TO_NUMBER, "The position of the first text in the second, counted from 1; 0 if absent";
    Contains "contains" (TEXT, TEXT) -> TO_YES_NO, "Whether the first text contains the second, in whatever case";
    Starts "starts" (TEXT, TEXT) -> TO_YES_NO, "Whether the first text begins with the second, in whatever case";
    Ends "ends" (TEXT, TEXT) -> TO_YES_NO, "Whether the first text ends with the second, in whatever case";
    Upper "upper" (TEXT) -> TO_TEXT, "A text in capitals";
    Lower "lower" (TEXT) -> TO_TEXT, "A text in small letters";
    Trim "trim" (TEXT) -> TO_TEXT, "A text without spaces at its ends";
    Replace "replace" (TEXT, TEXT, TEXT) -> TO_TEXT,
        "A text in which the third replaces the second wherever it occurs in the same case";
    Text "text" (ANY) -> TO_TEXT, "A value as text; a date as its day";
    Value "value" (TEXT) -> TO_NUMBER, "The number that a text says";
    Date "date" (NUMBER, NUMBER, NUMBER) -> TO_DATE, "The day with this year, month and day";
    Year "year" (DATE) -> TO_NUMBER, "The year of a date";
    Month "month" (DATE) -> TO_NUMBER, "The month of a date, 1 to 12";
    Day "day" (DATE) -> TO_NUMBER, "The day of a date in its month, 1 to 31";
    Weekday "weekday" (DATE) -> TO_NUMBER, "The day of a date in its week: 1 for Monday, 7 for Sunday";
    Hour "hour" (DATE) -> TO_NUMBER, "The hour of a time, 0 to 23";
    Minute "minute" (DATE) -> TO_NUMBER, "The minute of a time, 0 to 59";
    Days "days" (DATE, DATE) -> TO_NUMBER, "The whole days from the first date to the second";
    AddDays "adddays" (DATE, NUMBER) -> TO_DATE, "The date so many days later";
    AddMonths "addmonths" (DATE, NUMBER) -> TO_DATE,
        "The date so many months later, on the last day if the month is shorter";
    Workdays "workdays" (DATE, DATE) -> TO_NUMBER,
        "The days from Monday to Friday between two dates, which both count";
    Today "today" () -> TO_DATE, "The present day";
    Now "now" () -> TO_DATE, "The present time";
    Me "me" () -> TO_PERSON, "The person who asks";
}

impl Function {
    /// Finds a function by its name in small letters.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.signature().name == name)
    }

    /// Returns whether it looks for one text in another.
    pub(super) const fn searches(self) -> bool {
        matches!(self, Self::Find | Self::Contains | Self::Starts | Self::Ends | Self::Replace)
    }

    /// Returns whether it leaves empty arguments out. With nothing but empty ones it has no result.
    pub(super) const fn skips_empty(self) -> bool {
        matches!(self, Self::Min | Self::Max | Self::Sum | Self::Average)
    }

    /// Returns whether its result depends on the time or on who asks.
    pub const fn is_momentary(self) -> bool {
        matches!(self, Self::Today | Self::Now | Self::Me)
    }
}
