//! Functions of dates, in UTC.

use super::super::calendar::{Civil, DAY, civil_of, day_of, days_of, month_length, weekday_of, workdays_before};
use super::super::function::Function;
use super::super::value::{Evaluated, FormulaFault, whole};
use crate::ColumnValue::{Date, Number};
use crate::{ColumnValue, Timestamp};

/// Seconds of an hour.
const HOUR: i64 = 3_600;
/// Months of the years 1 to 9999.
const MAX_MONTHS: f64 = 120_000.0;

/// Applies a function of dates.
pub fn apply(function: Function, values: &[ColumnValue]) -> Evaluated {
    match (function, values) {
        (Function::Date, [Number(year), Number(month), Number(day)]) => {
            // Conversion to an integer saturates, and a day that does not exist is refused.
            let civil = Civil { year: *year as i64, month: *month as i64, day: *day as i64 };
            let is_whole = [year, month, day].iter().all(|n| n.fract() == 0.0);
            let days = days_of(civil).filter(|_| is_whole).ok_or(FormulaFault::Date)?;
            Ok(Some(Date(Timestamp::from_micros(days * DAY))))
        }
        (Function::Year, [Date(at)]) => whole(civil(*at)?.year),
        (Function::Month, [Date(at)]) => whole(civil(*at)?.month),
        (Function::Day, [Date(at)]) => whole(civil(*at)?.day),
        (Function::Weekday, [Date(at)]) => whole(weekday_of(day_of(*at))),
        (Function::Hour, [Date(at)]) => whole(at.seconds().rem_euclid(24 * HOUR) / HOUR),
        (Function::Minute, [Date(at)]) => whole(at.seconds().rem_euclid(HOUR) / 60),
        (Function::Days, [Date(from), Date(to)]) => whole(day_of(*to) - day_of(*from)),
        (Function::AddDays, [Date(at), Number(days)]) => later(*at, *days),
        (Function::AddMonths, [Date(at), Number(months)]) => months_later(*at, *months),
        (Function::Workdays, [Date(from), Date(to)]) => {
            let (from, to) = (day_of(*from), day_of(*to));
            let between = |from: i64, to: i64| workdays_before(to + 1) - workdays_before(from);
            whole(if from <= to { between(from, to) } else { -between(to, from) })
        }
        _ => Ok(None),
    }
}

/// Returns the days from one time to another one, with fractions.
pub fn days_between(from: Timestamp, to: Timestamp) -> f64 {
    (to.micros() as f64 - from.micros() as f64) / DAY as f64
}

/// Returns the beginning of the day of a time.
pub fn start_of_day(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(day_of(at).saturating_mul(DAY))
}

/// Returns a time so many days later.
pub fn later(at: Timestamp, days: f64) -> Evaluated {
    // Conversion to an integer saturates, so the check of the year refuses what is too large.
    let moved = at.micros().saturating_add((days * DAY as f64).round() as i64);
    let moved = Timestamp::from_micros(moved);
    civil(moved).map(|_| Some(Date(moved)))
}

fn civil(at: Timestamp) -> Result<Civil, FormulaFault> {
    civil_of(day_of(at)).ok_or(FormulaFault::Date)
}

fn months_later(at: Timestamp, months: f64) -> Evaluated {
    let Civil { year, month, day } = civil(at)?;
    if months.abs() > MAX_MONTHS {
        return Err(FormulaFault::Date);
    }
    let index = year * 12 + month - 1 + months.trunc() as i64;
    let (year, month) = (index.div_euclid(12), index.rem_euclid(12) + 1);
    let days = days_of(Civil { year, month, day: day.min(month_length(year, month)) }).ok_or(FormulaFault::Date)?;
    Ok(Some(Date(Timestamp::from_micros(at.micros() + (days - day_of(at)) * DAY))))
}
