//! Sizes in queries: a number with a unit. Units are powers of 1,024, as they are shown on the pages.

use std::ops::Range;

/// Returns the bytes that a text such as "10MB", "1.5 GB" or "300" stands for: from the number itself up to the next
/// one in the same unit.
pub fn size(text: &str) -> Option<Range<u64>> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    let number: f64 = text[..end].replace(',', ".").parse().ok()?;
    let unit = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 1_u64,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    let bytes = |number: f64| (number * unit as f64) as u64;
    let step = if text[..end].contains(['.', ',']) { 0.1 } else { 1.0 };
    Some(bytes(number)..bytes(number + step).max(bytes(number).saturating_add(1)))
}

/// Returns whether a word is the unit of a number before it.
pub(super) fn is_unit(word: &str) -> bool {
    matches!(
        word.to_ascii_lowercase().as_str(),
        "byte" | "bytes" | "kb" | "kib" | "mb" | "mib" | "gb" | "gib" | "tb" | "tib"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(size("300"), Some(300..301));
        assert_eq!(size("10 kB"), Some(10_240..11_264));
        assert_eq!(size("1.5MB"), Some(1_572_864..1_677_721));
        assert_eq!(size("1,5 MB"), size("1.5MB"));
        assert_eq!(size("99999999999999999999T").map(|size| size.start), Some(u64::MAX));
        for wrong in ["", "MB", "ten", "1.2.3", "1 XB", "-1", "."] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
