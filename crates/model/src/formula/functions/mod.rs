//! Functions of formulas, applied to values that are not empty.

mod dates;
mod numbers;
mod texts;

pub use dates::{days_between, later, start_of_day};

use super::function::Function;
use super::value::Evaluated;
use crate::ColumnValue;

/// Applies a function to its arguments. Their types were checked with the formula.
pub fn apply(function: Function, values: &[ColumnValue]) -> Evaluated {
    use Function::{
        Abs, AddDays, AddMonths, Average, Blank, Ceiling, Coalesce, Contains, Date, Day, Days, Ends, Find, Floor, Hour,
        If, Left, Len, Lower, Max, Me, Mid, Min, Minute, Mod, Month, Now, Power, Replace, Right, Round, Sqrt, Starts,
        Sum, Text, Today, Trim, Upper, Value, Weekday, Workdays, Year,
    };
    match function {
        Abs | Round | Floor | Ceiling | Mod | Power | Sqrt | Sum | Average => numbers::apply(function, values),
        Len | Left | Right | Mid | Find | Contains | Starts | Ends | Upper | Lower | Trim | Replace | Value => {
            texts::apply(function, values)
        }
        Date | Year | Month | Day | Weekday | Hour | Minute | Days | AddDays | AddMonths | Workdays => {
            dates::apply(function, values)
        }
        Min | Max => Ok(numbers::extreme(function, values)),
        // The evaluation itself does these.
        If | Blank | Coalesce | Text | Today | Now | Me => Ok(None),
    }
}
