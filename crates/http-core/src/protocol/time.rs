//! Times in RFC 3339 format, in UTC.

use std::time::Duration;

use model::{Code, Error, Result, Timestamp};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Formats a time with its microseconds.
pub fn format(time: Timestamp) -> String {
    let nanos = i128::from(time.micros()) * 1_000;
    // Times outside the years 0 to 9999 have no such form; the server stores none.
    let written = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok().and_then(|time| time.format(&Rfc3339).ok());
    written.unwrap_or_else(|| "9999-12-31T23:59:59Z".to_owned())
}

/// Parses a time between the years 1 and 9999.
pub fn parse(text: &str) -> Result<Timestamp> {
    let bad = || {
        Error::invalid(format!("\"{}\" is not a time: write it like 2026-03-01T12:00:00Z", text.escape_debug()))
            .with_code(Code::InvalidTime)
    };
    let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| bad())?;
    i64::try_from(time.unix_timestamp_nanos().div_euclid(1_000)).map(Timestamp::from_micros).map_err(|_| bad())
}

/// Parses a time, or a day, which means midnight UTC at its beginning.
pub fn parse_day(text: &str) -> Result<Timestamp> {
    if text.len() == 10 { parse(&format!("{text}T00:00:00Z")) } else { parse(text) }
}

/// Parses the exclusive end of a period: a time, or a day, which means the end of that day.
pub fn parse_last_day(text: &str) -> Result<Timestamp> {
    let day = Duration::from_secs(if text.len() == 10 { 86_400 } else { 0 });
    Ok(parse_day(text)?.after(day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back() {
        for (text, micros) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-03-01T12:00:00.000001Z", 1_772_366_400_000_001),
            ("1969-12-31T23:59:59.999999Z", -1),
        ] {
            assert_eq!(parse(text).unwrap().micros(), micros, "{text}");
            assert_eq!(format(Timestamp::from_micros(micros)), text);
        }
        assert_eq!(parse("2026-03-01T13:00:00+01:00").unwrap(), parse("2026-03-01T12:00:00Z").unwrap());
        assert_eq!(parse_day("2026-03-01").unwrap(), parse("2026-03-01T00:00:00Z").unwrap());
        assert_eq!(parse_last_day("2026-02-28").unwrap(), parse("2026-03-01T00:00:00Z").unwrap());
        assert_eq!(parse_last_day("2026-03-01T12:00:00Z").unwrap(), parse("2026-03-01T12:00:00Z").unwrap());
        assert_eq!(parse_day("2026-02-30").unwrap_err().code(), "invalid_time");
        for bad in ["", "yesterday", "2026-03-01", "2026-13-01T00:00:00Z", "99999-01-01T00:00:00Z"] {
            assert_eq!(parse(bad).unwrap_err().code(), "invalid_time", "{bad}");
        }
        assert_eq!(format(Timestamp::from_micros(i64::MAX)), "9999-12-31T23:59:59Z");
    }
}
