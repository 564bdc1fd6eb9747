//! Formatting and parsing of sizes in bytes, and parsing of numbers.

use std::str::FromStr;

/// Formats a number of bytes for people, like the messages of the other crates.
pub use model::readable_size as size;

/// Parses a whole number that is not negative. The error says what is expected.
pub fn whole<T: FromStr>(text: &str) -> std::result::Result<T, String> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match (is_digits, text.parse::<T>()) {
        (true, Ok(number)) => Ok(number),
        (true, Err(_)) => Err("the number is too large".to_owned()),
        (false, _) => Err("write a whole number, such as 30".to_owned()),
    }
}

/// Parses a size such as `64k`, `1.5 GiB` or `1048576`. Units are powers of 1,024.
pub fn parse_size(text: &str) -> std::result::Result<u64, String> {
    let wrong = || format!("\"{text}\" is not a size: write it as 65536, 64k, 10M, 2G or 1T");
    let lower = text.trim().to_lowercase();
    let number = lower.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.');
    let power = match lower[number.len()..].trim() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return Err(wrong()),
    };
    let value: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = value * 1024_f64.powi(power);
    if bytes.is_finite() && (0.0..=i64::MAX as f64).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_only() {
        assert_eq!(whole::<u32>("30").unwrap(), 30);
        assert_eq!(whole::<u8>("0").unwrap(), 0);
        for bad in ["", "abc", "30d", "-1", "+1", "1.5"] {
            assert_eq!(whole::<u32>(bad).unwrap_err(), "write a whole number, such as 30", "{bad}");
        }
        assert_eq!(whole::<u8>("300").unwrap_err(), "the number is too large");
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [("0", 0), ("65536", 65536), ("64k", 65536), ("1.5 GiB", 1_610_612_736), ("2MB", 2 << 20)]
        {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        for bad in ["", "k", "-1", "1x", "1e400", "9999999999999T", "1..2"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
