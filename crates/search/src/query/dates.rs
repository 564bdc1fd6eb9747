//! Dates in queries: days, months, years, and words such as "yesterday" and "last week", in English and German.
//! Days begin when they begin in the time zone of the caller.

use std::ops::Range;

use model::{Timestamp, Zone};
use time::{Date, Duration, Month};

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// Returns the time that a text stands for in a time zone; `None` if it names none. Hyphens and underscores stand for
/// spaces.
///
/// Accepted are `2026`, `2026-11`, `2026-11-26`, `26.11.2026`, `today`, `yesterday`, `this week`, `last month`,
/// `last 3 days`, `3d`, and the same words in German. "Last week" is the week before this one; "last 7 days" ends
/// today.
pub fn period(text: &str, now: Timestamp, zone: &Zone) -> Option<Range<Timestamp>> {
    let days = days(text, now, zone)?;
    Some(start_of(days.start, zone)?..start_of(days.end, zone)?)
}

/// Returns the days that a text stands for, as the values of date columns are stored: by their beginning in UTC. Today
/// is that of the time zone.
pub fn day_values(text: &str, now: Timestamp, zone: &Zone) -> Option<Range<Timestamp>> {
    let days = days(text, now, zone)?;
    Some(start_of(days.start, &Zone::UTC)?..start_of(days.end, &Zone::UTC)?)
}

fn days(text: &str, now: Timestamp, zone: &Zone) -> Option<Range<Date>> {
    let local = zone.local(now)?;
    let today = Date::from_calendar_date(i32::from(local.year), Month::try_from(local.month).ok()?, local.day).ok()?;
    let text = text.trim();
    calendar(text).or_else(|| relative(text, today))
}

fn start_of(day: Date, zone: &Zone) -> Option<Timestamp> {
    zone.start_of(day.year(), u8::from(day.month()), day.day())
}

/// Reads a day, a month or a year.
fn calendar(text: &str) -> Option<Range<Date>> {
    let number = |text: &str, digits: Range<usize>| {
        let is_number = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i32>().ok()).flatten()
    };
    let month = |text: &str| Month::try_from(u8::try_from(number(text, 1..3)?).ok()?).ok();
    let day = |text: &str| u8::try_from(number(text, 1..3)?).ok();
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    let dotted: Vec<&str> = text.trim_end_matches('.').split('.').collect();
    if let [d, m, y] = dotted.as_slice() {
        let date = Date::from_calendar_date(number(y, 4..5)?, month(m)?, day(d)?).ok()?;
        return Some(date..date.next_day()?);
    }
    match parts.as_slice() {
        [y] => {
            let first = Date::from_calendar_date(number(y, 4..5)?, Month::January, 1).ok()?;
            Some(first..first_after(first, Unit::Year)?)
        }
        [y, m] => {
            let first = Date::from_calendar_date(number(y, 4..5)?, month(m)?, 1).ok()?;
            Some(first..first_after(first, Unit::Month)?)
        }
        [y, m, d] => {
            let date = Date::from_calendar_date(number(y, 4..5)?, month(m)?, day(d)?).ok()?;
            Some(date..date.next_day()?)
        }
        _ => None,
    }
}

/// Reads words that depend on today.
fn relative(text: &str, today: Date) -> Option<Range<Date>> {
    let folded = crate::language::words::Words::of(text).map(|word| word.folded).collect::<Vec<_>>();
    let words: Vec<&str> = folded.iter().map(String::as_str).collect();
    let tomorrow = today.next_day()?;
    match words.as_slice() {
        ["today" | "heute"] => Some(today..tomorrow),
        ["yesterday" | "gestern"] => Some(today.previous_day()?..today),
        ["this" | "diese" | "dieser" | "dieses" | "diesen" | "diesem", unit] => {
            let first = first_of(today, unit_of(unit)?)?;
            Some(first..first_after(first, unit_of(unit)?)?)
        }
        ["last" | "letzte" | "letzter" | "letztes" | "letzten" | "past", unit] => {
            let this = first_of(today, unit_of(unit)?)?;
            Some(first_of(this.previous_day()?, unit_of(unit)?)?..this)
        }
        ["last" | "letzte" | "letzten" | "past", number, unit] => Some(back(today, number, unit)?..tomorrow),
        [number, unit] => Some(back(today, number, unit)?..tomorrow),
        [short] => {
            let unit = short.find(|c: char| !c.is_ascii_digit())?;
            Some(back(today, &short[..unit], &short[unit..])?..tomorrow)
        }
        _ => None,
    }
}

fn unit_of(word: &str) -> Option<Unit> {
    Some(match word {
        "d" | "day" | "days" | "tag" | "tage" | "tagen" => Unit::Day,
        "w" | "week" | "weeks" | "woche" | "wochen" => Unit::Week,
        "m" | "month" | "months" | "monat" | "monate" | "monaten" | "monats" => Unit::Month,
        "q" | "quarter" | "quarters" | "quartal" | "quartale" | "quartalen" => Unit::Quarter,
        "y" | "year" | "years" | "j" | "jahr" | "jahre" | "jahren" => Unit::Year,
        _ => return None,
    })
}

/// Returns the first day of the last `number` units, which end today.
fn back(today: Date, number: &str, unit: &str) -> Option<Date> {
    let number: i32 = number.parse().ok().filter(|number| *number > 0)?;
    let months = match unit_of(unit)? {
        Unit::Day => return today.checked_sub(Duration::days(i64::from(number.checked_sub(1)?))),
        Unit::Week => return today.checked_sub(Duration::days(7 * i64::from(number) - 1)),
        Unit::Month => number,
        Unit::Quarter => number.checked_mul(3)?,
        Unit::Year => number.checked_mul(12)?,
    };
    let month = (today.year() * 12 + i32::from(u8::from(today.month())) - 1).checked_sub(months)?;
    let (year, month) = (month.div_euclid(12), Month::try_from(month.rem_euclid(12) as u8 + 1).ok()?);
    let day = today.day().min(month.length(year));
    Date::from_calendar_date(year, month, day).ok()
}

/// Returns the first day of the unit that contains a day. Weeks begin on Mondays.
fn first_of(day: Date, unit: Unit) -> Option<Date> {
    match unit {
        Unit::Day => Some(day),
        Unit::Week => day.checked_sub(Duration::days(i64::from(day.weekday().number_days_from_monday()))),
        Unit::Month => day.replace_day(1).ok(),
        Unit::Quarter => {
            let month = Month::try_from((u8::from(day.month()) - 1) / 3 * 3 + 1).ok()?;
            Date::from_calendar_date(day.year(), month, 1).ok()
        }
        Unit::Year => Date::from_calendar_date(day.year(), Month::January, 1).ok(),
    }
}

/// Returns the first day after a unit that begins on a day.
fn first_after(first: Date, unit: Unit) -> Option<Date> {
    let days = match unit {
        Unit::Day => 1,
        Unit::Week => 7,
        Unit::Month => 31,
        Unit::Quarter => 92,
        Unit::Year => 366,
    };
    // Into the next unit, and back to its beginning.
    first_of(first.checked_add(Duration::days(days))?, unit)
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    /// 2026-11-26, a Thursday.
    const NOW: Timestamp = Timestamp::from_micros(1_795_730_400_000_000);

    fn shown(text: &str) -> String {
        let day = |at: Timestamp| OffsetDateTime::from_unix_timestamp(at.seconds()).unwrap().date().to_string();
        let found = period(text, NOW, &Zone::UTC);
        found.map_or_else(String::new, |period| format!("{} {}", day(period.start), day(period.end)))
    }

    #[test]
    fn days_months_and_years_are_read() {
        assert_eq!(shown("2026-11-26"), "2026-11-26 2026-11-27");
        assert_eq!(shown("26.11.2026"), "2026-11-26 2026-11-27");
        assert_eq!(shown("1.2.2024"), "2024-02-01 2024-02-02");
        assert_eq!(shown("2024-02"), "2024-02-01 2024-03-01");
        assert_eq!(shown("2024"), "2024-01-01 2025-01-01");
        for wrong in
            ["", "26", "2026-13", "2026-02-30", "0", "99999", "2026-1-1-1", "tomorrow", "last", "999999999 years"]
        {
            assert_eq!(shown(wrong), "", "{wrong}");
        }
    }

    #[test]
    fn days_are_those_of_the_time_zone() {
        // 2026-11-26 20:20 UTC, which is the next day in Auckland.
        let now = Timestamp::from_micros(1_795_724_400_000_000);
        let auckland = Zone::parse("Pacific/Auckland").unwrap();
        let hour = |hour: i64| Timestamp::from_micros((1_795_651_200 + hour * 3_600) * 1_000_000);
        assert_eq!(period("2026-11-26", now, &Zone::UTC), Some(hour(0)..hour(24)));
        assert_eq!(period("2026-11-26", now, &auckland), Some(hour(-13)..hour(11)));
        assert_eq!(period("today", now, &auckland), Some(hour(11)..hour(35)));
        assert_eq!(day_values("today", now, &auckland), Some(hour(24)..hour(48)));
        assert_eq!(day_values("2026-11-26", now, &auckland), Some(hour(0)..hour(24)));
    }

    #[test]
    fn words_depend_on_today() {
        assert_eq!(shown("today"), "2026-11-26 2026-11-27");
        assert_eq!(shown("gestern"), "2026-11-25 2026-11-26");
        assert_eq!(shown("this-week"), "2026-11-23 2026-11-30");
        assert_eq!(shown("last week"), "2026-11-16 2026-11-23");
        assert_eq!(shown("letzten Monat"), "2026-10-01 2026-11-01");
        assert_eq!(shown("this quarter"), "2026-10-01 2027-01-01");
        assert_eq!(shown("last_year"), "2025-01-01 2026-01-01");
        assert_eq!(shown("last 7 days"), "2026-11-20 2026-11-27");
        assert_eq!(shown("1w"), shown("7d"));
        assert_eq!(shown("0 days"), "");
        assert_eq!(shown("7d"), "2026-11-20 2026-11-27");
        assert_eq!(shown("letzte 3 Monate"), "2026-08-26 2026-11-27");
        assert_eq!(shown("1y"), "2025-11-26 2026-11-27");
    }
}
