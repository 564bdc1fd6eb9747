//! Numbers and sizes in English messages.

/// Converts a size or count that a database keeps as a signed number; 0 for a negative one.
pub fn unsigned(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

/// Formats a number with commas between groups of three digits: `512`, `1,600,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number and its noun, which gets an `s` unless the number is one: `1 BLOB`, `0 BLOBs`, `3,910 BLOBs`.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Formats a size for people, in a unit that leaves at most three digits before the decimal point (sizes below 1 KiB in
/// bytes): `512 bytes`, `1.5 MiB`, `256 GiB`.
pub fn readable_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return counted(bytes, "byte");
    }
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let text = format!("{value:.1}");
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

/// Formats a size for people who compare it with another one: `1.5 MiB (1,600,000 bytes)`. Different sizes never look
/// alike.
pub fn exact_size(bytes: u64) -> String {
    let text = readable_size(bytes);
    if bytes < 1024 { text } else { format!("{text} ({})", counted(bytes, "byte")) }
}

#[cfg(test)]
mod tests {
    use super::{counted, exact_size, grouped, readable_size};

    #[test]
    fn sizes_that_differ_do_not_look_alike() {
        assert_eq!(exact_size(1_023), "1,023 bytes");
        assert_eq!(exact_size(1_600_000), "1.5 MiB (1,600,000 bytes)");
        assert_eq!(readable_size(10 << 30), readable_size((10 << 30) - 1));
        assert_ne!(exact_size(10 << 30), exact_size((10 << 30) - 1));
    }

    #[test]
    fn sizes_have_a_unit_that_suits_them() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1_023, "1,023 bytes"),
            (1_024, "1 KiB"),
            (1_600_000, "1.5 MiB"),
            (1_023 << 20, "1 GiB"),
            (256 << 30, "256 GiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(readable_size(bytes), text);
        }
    }

    #[test]
    fn digits_are_in_groups_of_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (36_500, "36,500"), (1_600_000, "1,600,000")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(3_910, "BLOB"), "3,910 BLOBs");
    }

    #[test]
    fn only_one_is_singular() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "BLOB")), ["0 BLOBs", "1 BLOB", "2 BLOBs"]);
    }
}
