//! Days of the Gregorian calendar, in UTC, in the years 1 to 9999. The algorithms are those of Howard Hinnant's
//! "chrono-Compatible Low-Level Date Algorithms" (days_from_civil, civil_from_days).

use crate::Timestamp;

/// Microseconds of a day.
pub const DAY: i64 = 86_400_000_000;

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year, 1 to 9999.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: i64,
    /// Day, 1 to 31.
    pub day: i64,
}

/// Returns the days from 1970-01-01 to a day; `None` if there is no such day.
pub fn days_of(civil: Civil) -> Option<i64> {
    let Civil { year, month, day } = civil;
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=month_length(year, month)).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Returns the day that is so many days after 1970-01-01; `None` outside the years 1 to 9999.
pub fn civil_of(days: i64) -> Option<Civil> {
    // 0001-01-01 and 9999-12-31.
    if !(-719_162..=2_932_896).contains(&days) {
        return None;
    }
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days - era * 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Some(Civil { year, month, day: of_year - (153 * shifted + 2) / 5 + 1 })
}

/// Returns the days of a month.
pub fn month_length(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 31,
    }
}

/// Returns the day of the week of a day after 1970-01-01: 1 for Monday, 7 for Sunday.
pub fn weekday_of(days: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    (days + 3).rem_euclid(7) + 1
}

/// Returns the days from 1970-01-01 to the day of a time.
pub fn day_of(time: Timestamp) -> i64 {
    time.micros().div_euclid(DAY)
}

/// Returns how many days from Monday to Friday there are before a day, counted from some Monday.
pub fn workdays_before(days: i64) -> i64 {
    // 1970-01-05 was a Monday.
    let (weeks, rest) = ((days - 4).div_euclid(7), (days - 4).rem_euclid(7));
    weeks * 5 + rest.min(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_the_same() {
        for days in (-719_162..=2_932_896).step_by(97) {
            let civil = civil_of(days).unwrap();
            assert_eq!(days_of(civil), Some(days), "{civil:?}");
        }
        let civil = |year, month, day| Civil { year, month, day };
        assert_eq!(days_of(civil(1970, 1, 1)), Some(0));
        assert_eq!(civil_of(20_785), Some(civil(2026, 11, 28)));
        for bad in [civil(0, 1, 1), civil(10_000, 1, 1), civil(2026, 2, 29), civil(2026, 13, 1), civil(2026, 4, 31)] {
            assert_eq!(days_of(bad), None, "{bad:?}");
        }
        assert_eq!([civil_of(-719_163), civil_of(2_932_897)], [None, None]);
        assert_eq!((weekday_of(0), weekday_of(20_785), weekday_of(-1)), (4, 6, 3));
        // Friday 27 and Monday 30 November 2026, with the weekend between them.
        assert_eq!(workdays_before(20_788) - workdays_before(20_784), 2);
    }
}
