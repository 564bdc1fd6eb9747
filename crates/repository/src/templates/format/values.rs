//! The values of rows in a template.

use model::{ColumnKind, ColumnValue, Id, Timestamp};
use time::{Month, OffsetDateTime, PrimitiveDateTime};
use toml::value::{Date, Datetime, Offset, Time};

use super::text::Text;

/// Reads a value for a column in a language. `choices` are those of the template, in the order of those in `kind`. The
/// identifier of a lookup is the number of a row of its list in the template, counted from 1.
///
/// # Errors
/// The reason why a value does not fit.
pub(in crate::templates) fn value_of(
    kind: &ColumnKind,
    choices: &[Text],
    value: &toml::Value,
    language: &str,
) -> Result<ColumnValue, String> {
    let read = match (kind, value) {
        (ColumnKind::Multiple(kind), toml::Value::Array(values)) => {
            let values = values.iter().map(|value| value_of(kind, choices, value, language));
            Some(ColumnValue::Multiple(values.collect::<Result<_, _>>()?))
        }
        (ColumnKind::Multiple(_), _) => return Err("the column takes several values: give it an array".to_owned()),
        (ColumnKind::Person, _) => return Err("a template has no people".to_owned()),
        (ColumnKind::Lookup(_), toml::Value::Integer(row)) if *row > 0 => Some(ColumnValue::Lookup(Id::new(*row))),
        (ColumnKind::Lookup(_), _) => return Err("an entry is the number of a row in `rows` of its list".to_owned()),
        (ColumnKind::Number, toml::Value::Integer(number)) => Some(ColumnValue::Number(*number as f64)),
        (ColumnKind::Number, toml::Value::Float(number)) => Some(ColumnValue::Number(*number)),
        (ColumnKind::YesNo, toml::Value::Boolean(yes)) => Some(ColumnValue::YesNo(*yes)),
        (ColumnKind::Date, toml::Value::Datetime(time)) => moment(time).map(ColumnValue::Date),
        (ColumnKind::Choice(_), toml::Value::String(key)) => {
            let choice = choices.iter().find(|choice| choice.key() == key);
            choice.map(|choice| ColumnValue::Text(choice.in_language(language).to_owned()))
        }
        (ColumnKind::Text | ColumnKind::Note | ColumnKind::Link, value) => {
            Text::of_value(value).map(|text| ColumnValue::Text(text.in_language(language).to_owned()))
        }
        _ => None,
    };
    let read = read.ok_or_else(|| format!("the value does not fit a {} column", kind.as_str()))?;
    kind.check(&read).map_err(|error| error.message().to_owned())?;
    match read {
        ColumnValue::Text(text) if text.is_empty() => Err("an empty text: leave the column out".to_owned()),
        read => Ok(read),
    }
}

/// Returns a value as a template has it; `None` for people, who are not in templates. The identifier of a lookup is the
/// number of a row, as [`value_of`] reads it.
pub(in crate::templates) fn value_to_toml(value: &ColumnValue) -> Option<toml::Value> {
    match value {
        ColumnValue::Text(text) => Some(toml::Value::String(text.clone())),
        ColumnValue::Number(number) => Some(toml::Value::Float(*number)),
        ColumnValue::YesNo(yes) => Some(toml::Value::Boolean(*yes)),
        ColumnValue::Date(time) => datetime(*time).map(toml::Value::Datetime),
        ColumnValue::Lookup(row) => Some(toml::Value::Integer(row.get())),
        ColumnValue::Person(_) => None,
        ColumnValue::Multiple(values) => {
            let values: Vec<_> = values.iter().filter_map(value_to_toml).collect();
            (!values.is_empty()).then_some(toml::Value::Array(values))
        }
    }
}

/// Returns the time in UTC: a day begins at midnight, and a time without an offset is in UTC.
fn moment(time: &Datetime) -> Option<Timestamp> {
    let (date, clock) = (time.date?, time.time.unwrap_or(Time { hour: 0, minute: 0, second: None, nanosecond: None }));
    let day = Month::try_from(date.month).ok()?;
    let day = time::Date::from_calendar_date(date.year.into(), day, date.day).ok()?;
    let second = clock.second.unwrap_or(0).min(59);
    let clock = time::Time::from_hms_nano(clock.hour, clock.minute, second, clock.nanosecond.unwrap_or(0)).ok()?;
    let minutes = match time.offset {
        Some(Offset::Custom { minutes }) => minutes,
        _ => 0,
    };
    let nanos = PrimitiveDateTime::new(day, clock).assume_utc().unix_timestamp_nanos();
    let micros = nanos / 1_000 - i128::from(minutes) * 60_000_000;
    i64::try_from(micros).ok().map(Timestamp::from_micros)
}

/// Returns a time in UTC; `None` outside of the years 1 to 9999.
fn datetime(time: Timestamp) -> Option<Datetime> {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(time.micros()) * 1_000).ok()?;
    let year = u16::try_from(at.year()).ok().filter(|year| (1..=9999).contains(year))?;
    Some(Datetime {
        date: Some(Date { year, month: at.month().into(), day: at.day() }),
        time: Some(Time {
            hour: at.hour(),
            minute: at.minute(),
            second: Some(at.second()),
            nanosecond: Some(at.nanosecond()).filter(|nanos| *nanos != 0),
        }),
        offset: Some(Offset::Z),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        let read = |text: &str| moment(&text.parse().unwrap()).unwrap().micros();
        assert_eq!(read("1970-01-01"), 0);
        assert_eq!(read("2026-11-28T10:00:00Z"), 1_795_860_000_000_000);
        assert_eq!(read("2026-11-28T12:00:00+02:00"), 1_795_860_000_000_000);
        assert_eq!(read("1600-02-29T00:00:00.000001Z"), -11_670_998_399_999_999);
        for day in (-719_162_i64..2_932_000).step_by(37) {
            let time = Timestamp::from_micros((day * 86_400 + day.rem_euclid(86_400)) * 1_000_000 + 5);
            assert_eq!(moment(&datetime(time).unwrap()), Some(time), "{day}");
        }
        assert!(datetime(Timestamp::from_micros(i64::MAX)).is_none());
        assert!(datetime(Timestamp::from_micros(i64::MIN)).is_none());
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let kind = ColumnKind::Choice(vec!["Open".into()]);
        let choices = [Text::Same("Open".into())];
        let string = |text: &str| toml::Value::String(text.to_owned());
        assert!(value_of(&kind, &choices, &string("Open"), "en").is_ok());
        assert!(value_of(&kind, &choices, &string("Shut"), "en").is_err());
        assert!(value_of(&ColumnKind::Number, &[], &toml::Value::Float(f64::NAN), "en").is_err());
        assert!(value_of(&ColumnKind::Person, &[], &string("ann"), "en").is_err());
        assert!(value_of(&ColumnKind::Link, &[], &string("javascript:alert(1)"), "en").is_err());
        assert!(value_of(&ColumnKind::Text, &[], &toml::Value::Boolean(true), "en").is_err());
        assert!(value_of(&ColumnKind::Text, &[], &string(""), "en").is_err());
        let several = kind.taking_multiple(true).unwrap();
        let array = |values: &[&str]| toml::Value::Array(values.iter().map(|text| string(text)).collect());
        assert!(value_of(&several, &choices, &array(&["Open"]), "en").is_ok());
        let nested = toml::Value::Array(vec![array(&["Open"])]);
        for bad in [array(&[]), array(&["Open", "Open"]), array(&["Open", "Shut"]), nested, string("Open")] {
            assert!(value_of(&several, &choices, &bad, "en").is_err(), "{bad}");
        }
        assert!(value_of(several.single(), &choices, &array(&["Open"]), "en").is_err());
    }
}
