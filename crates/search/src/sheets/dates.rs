//! Times as Excel stores them: days since a beginning, as decimal numbers (ECMA-376 part 1, 18.17.4).
//!
//! The usual beginning makes 1 January 1900 the day 1. For the sake of an older program, that calendar has a 29
//! February 1900, the day 60, so all later days are one more than they should be. Workbooks from old Macintosh
//! computers count from 1 January 1904, the day 0.

use model::Timestamp;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
/// The day 1970-01-01 in the calendar that begins in 1900, after and before its wrong day, and in that of 1904.
const UNIX_DAY: i64 = 25_569;
const UNIX_DAY_EARLY: i64 = 25_568;
const UNIX_DAY_1904: i64 = 24_107;
/// The day that does not exist.
const WRONG_DAY: i64 = 60;
/// The day after 9999-12-31 in the calendar that begins in 1900.
const END: i64 = 2_958_466;

/// Returns the time that a stored number means, to the millisecond; `None` for a number without a day.
pub fn moment(number: f64, since_1904: bool) -> Option<Timestamp> {
    if !(0.0..END as f64).contains(&number) {
        return None;
    }
    let millis = (number * DAY as f64).round() as i64;
    let day = millis.div_euclid(DAY);
    let unix_day = match (since_1904, day) {
        (true, _) => UNIX_DAY_1904,
        (false, 0 | WRONG_DAY) => return None,
        (false, ..WRONG_DAY) => UNIX_DAY_EARLY,
        (false, _) => UNIX_DAY,
    };
    let unix = millis - unix_day * DAY;
    (unix < (END - UNIX_DAY) * DAY).then(|| Timestamp::from_micros(unix * 1_000))
}

/// Returns the number that Excel stores for a time, in the calendar that begins in 1900; `None` for a time that it
/// would not give back: before March 1900, after 9999, or finer than milliseconds.
pub fn serial(at: Timestamp) -> Option<f64> {
    let number = at.micros() as f64 / (DAY as f64 * 1_000.0) + UNIX_DAY as f64;
    (number > WRONG_DAY as f64 + 0.5 && moment(number, false) == Some(at)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(number: f64, since_1904: bool) -> Option<i64> {
        moment(number, since_1904).map(|at| at.micros().div_euclid(86_400_000_000))
    }

    #[test]
    fn both_calendars_are_known_with_the_wrong_day() {
        // Days since 1970: 1899-12-31 is -25568.
        assert_eq!((day(0.0, false), day(0.5, false)), (None, None));
        assert_eq!((day(1.0, false), day(59.0, false)), (Some(-25_567), Some(-25_509)), "1 January, 28 February 1900");
        assert_eq!((day(60.0, false), day(60.9, false)), (None, None), "29 February 1900");
        assert_eq!((day(61.0, false), day(25_569.0, false)), (Some(-25_508), Some(0)), "1 March 1900");
        assert_eq!((day(0.0, true), day(24_107.0, true)), (Some(-24_107), Some(0)));
        assert_eq!(day(46_354.0, false), day(44_892.0, true));
        assert_eq!(moment(2_958_465.999_999_99, false).unwrap().micros(), 253_402_300_799_999_000);
        let beyond = [-0.1, 2_958_466.0, 2_958_465.999_999_999_9, f64::NAN, f64::INFINITY, f64::MAX];
        assert!(beyond.iter().all(|number| moment(*number, false).is_none()));
        assert!([2_957_004.0, 2_958_465.0].iter().all(|number| moment(*number, true).is_none()));
    }

    #[test]
    fn times_come_back_or_have_no_number() {
        for micros in [0, -1_000, 1_795_867_200_000_000, 1_795_867_199_999_000, 253_402_300_799_999_000] {
            let at = Timestamp::from_micros(micros);
            assert_eq!(serial(at).and_then(|number| moment(number, false)), Some(at), "{micros}");
        }
        let first = -2_203_891_200_000_000;
        assert_eq!(serial(Timestamp::from_micros(first)), Some(61.0), "1900-03-01");
        for micros in [1, first - 1_000, 253_402_300_800_000_000, i64::MIN, i64::MAX] {
            assert_eq!(serial(Timestamp::from_micros(micros)), None, "{micros}");
        }
    }
}
