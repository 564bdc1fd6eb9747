//! Human-readable numbers, times and sizes. Independent of reports.

/// Formats a number with its meaningful digits; a dash if it is not a number.
pub fn number(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude.is_nan() => "-".to_owned(),
        magnitude if magnitude >= 1e12 => format!("{value:.1e}"),
        magnitude if magnitude >= 100.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        magnitude if magnitude >= 0.02 => format!("{value:.2}"),
        magnitude if magnitude >= 0.0002 => format!("{value:.4}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.1e}"),
    }
}

/// Formats milliseconds; large values as seconds.
pub fn milliseconds(value: f64) -> String {
    if value >= 10_000.0 { format!("{} s", number(value / 1000.0)) } else { format!("{} ms", number(value)) }
}

/// Formats bytes in powers of ten.
pub fn bytes(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 1e9 => format!("{} GB", number(value / 1e9)),
        magnitude if magnitude >= 1e6 => format!("{} MB", number(value / 1e6)),
        magnitude if magnitude >= 1e3 => format!("{} KB", number(value / 1e3)),
        _ => format!("{value:.0} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_longer_than_can_be_read() {
        for value in [1e300, -1e300, f64::MAX, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, 123_456_789_012.3] {
            for text in [number(value), milliseconds(value), bytes(value)] {
                assert!(text.len() <= 16, "{text}");
            }
        }
        assert_eq!(
            (number(1234.5), number(-0.5), number(0.0)),
            ("1234".to_owned(), "-0.50".to_owned(), "0".to_owned())
        );
        assert_eq!(bytes(2_500_000.0), "2.50 MB");
    }
}
