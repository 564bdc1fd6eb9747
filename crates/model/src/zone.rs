//! Time zones. The rules of all zones come with the program (`jiff`), so a server needs no files of its system.

use std::time::Duration;

use jiff::civil::date;
use jiff::tz::TimeZone;

use crate::{Error, Result, Timestamp};

/// Longest name of a time zone, in bytes. The longest one in use has 32.
const MAX_NAME: usize = 64;

const DAY: Duration = Duration::from_hours(24);

/// A time zone of the IANA database, such as `Europe/Berlin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// A time as clocks and calendars of a time zone show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// Year, from 0 to 9999.
    pub year: u16,
    /// Month, from 1 to 12.
    pub month: u8,
    /// Day of the month, from 1 to 31.
    pub day: u8,
    /// Hour, from 0 to 23.
    pub hour: u8,
    /// Minute, from 0 to 59.
    pub minute: u8,
    /// Second, from 0 to 59.
    pub second: u8,
    /// Abbreviation of the zone at this time, such as `CEST`, or its offset from UTC, such as `+13`.
    pub zone: String,
}

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

impl Zone {
    /// Coordinated Universal Time.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// Returns the time zone of a name. Case does not matter.
    ///
    /// # Errors
    /// `Invalid` if there is no time zone of that name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Some(name).filter(|name| name.len() <= MAX_NAME).and_then(|name| TimeZone::get(name).ok());
        // Only names are stored, so a zone without one cannot be used.
        found.filter(|zone| zone.iana_name().is_some() && !zone.is_unknown()).map(Self).ok_or_else(|| {
            Error::invalid("a time zone has a name such as \"Europe/Berlin\", \"America/New_York\" or \"UTC\"")
        })
    }

    /// Returns the name of the zone.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Returns a time as the zone's clocks show it; `None` for a time outside the years 0 to 9999.
    pub fn local(&self, time: Timestamp) -> Option<LocalTime> {
        let moment = jiff::Timestamp::from_second(time.seconds()).ok()?;
        let info = self.0.to_offset_info(moment);
        let local = info.offset().to_datetime(moment);
        Some(LocalTime {
            year: u16::try_from(local.year()).ok()?,
            month: local.month().unsigned_abs(),
            day: local.day().unsigned_abs(),
            hour: local.hour().unsigned_abs(),
            minute: local.minute().unsigned_abs(),
            second: local.second().unsigned_abs(),
            zone: info.abbreviation().to_owned(),
        })
    }

    /// Returns the time at which a day begins in the zone: midnight, or the first time after it where clocks are put
    /// forward at midnight. `None` for a day that does not exist.
    pub fn start_of(&self, year: i32, month: u8, day: u8) -> Option<Timestamp> {
        let day = date_of(year, month, day)?;
        // `to_zoned` moves a time that clocks skip to one after the gap.
        let start = day.to_datetime(jiff::civil::Time::midnight()).to_zoned(self.0.clone()).ok()?;
        Some(Timestamp::from_micros(start.timestamp().as_microsecond()))
    }

    /// Returns the time at which a stored day begins in the zone. Days are stored as their midnight in UTC.
    pub fn start_of_stored(&self, midnight: Timestamp) -> Timestamp {
        let day = Self::UTC.local(midnight);
        day.and_then(|day| self.start_of(i32::from(day.year), day.month, day.day)).unwrap_or(midnight)
    }

    /// Returns the time at which a stored day ends in the zone, which is the beginning of the next one.
    pub fn end_of_stored(&self, midnight: Timestamp) -> Timestamp {
        self.start_of_stored(midnight.after(DAY))
    }
}

fn date_of(year: i32, month: u8, day: u8) -> Option<jiff::civil::Date> {
    let (year, month, day) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    let is_one =
        (1..=12).contains(&month) && (1..=date(year.clamp(-9999, 9999), month, 1).days_in_month()).contains(&day);
    (is_one && (-9999..=9999).contains(&year)).then(|| date(year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(zone: &str, micros: i64) -> String {
        let zone = Zone::parse(zone).unwrap();
        let at = zone.local(Timestamp::from_micros(micros)).unwrap();
        format!(
            "{}-{:02}-{:02} {:02}:{:02}:{:02} {}",
            at.year, at.month, at.day, at.hour, at.minute, at.second, at.zone
        )
    }

    #[test]
    fn clocks_differ_by_zone_and_season() {
        // 2026-11-30 20:15:07 and 2026-06-30 20:15:07, UTC.
        let (winter, summer) = (1_796_069_707_000_000, 1_782_850_507_000_000);
        assert_eq!(shown("UTC", winter), "2026-11-30 20:15:07 UTC");
        assert_eq!(shown("Pacific/Auckland", winter), "2026-12-01 09:15:07 NZDT");
        assert_eq!(shown("Pacific/Auckland", summer), "2026-07-01 08:15:07 NZST");
        assert_eq!(shown("europe/berlin", winter), "2026-11-30 21:15:07 CET");
        assert_eq!(shown("America/Sao_Paulo", winter), "2026-11-30 17:15:07 -03");
        assert_eq!(Zone::parse("europe/berlin").unwrap().name(), "Europe/Berlin");
        assert_eq!(Zone::default().local(Timestamp::from_micros(i64::MAX)), None);
        assert_eq!(Zone::default().local(Timestamp::from_micros(i64::MIN)), None);
    }

    #[test]
    fn days_begin_when_the_zone_says_so() {
        let start = |zone: &str, day: (i32, u8, u8)| Zone::parse(zone).unwrap().start_of(day.0, day.1, day.2);
        assert_eq!(start("UTC", (1970, 1, 2)), Some(Timestamp::from_micros(86_400_000_000)));
        assert_eq!(start("Europe/Berlin", (1970, 1, 2)), Some(Timestamp::from_micros(82_800_000_000)));
        // In Santiago, clocks go from midnight to one o'clock: 2026-09-06 began at 04:00 UTC.
        assert_eq!(start("America/Santiago", (2026, 9, 6)), Some(Timestamp::from_micros(1_788_667_200_000_000)));
        for day in [(2026, 2, 30), (2026, 0, 1), (2026, 13, 1), (2026, 1, 0), (99_999, 1, 1)] {
            assert_eq!(start("Europe/Berlin", day), None, "{day:?}");
        }
        let stored = Timestamp::from_micros(86_400_000_000);
        assert_eq!(
            Zone::parse("Europe/Berlin").unwrap().start_of_stored(stored),
            Timestamp::from_micros(82_800_000_000)
        );
    }

    #[test]
    fn names_that_no_zone_has_are_refused() {
        for bad in ["", "Berlin", "Europe/", "../etc/passwd", "Europe/Berlin\n", "UTC+1", &"x".repeat(100)] {
            assert!(Zone::parse(bad).is_err(), "{bad:?}");
        }
    }
}
