//! Values as people type them, in forms and in pasted tables.

use std::borrow::Cow;

use model::Timestamp;
use time::macros::format_description;
use time::{Date, OffsetDateTime, Time};

/// Parses a number whose thousands and decimals are separated by these characters. Thousands separators are accepted
/// only in their proper positions. A single misplaced one is taken as the decimal separator, because keyboards and
/// languages differ.
pub fn number(text: &str, (group, decimal): (char, char)) -> Option<f64> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (whole, part) = text.split_once(decimal).map_or((text.as_str(), None), |(whole, part)| (whole, Some(part)));
    let plain = if !whole.contains(group) {
        whole.to_owned()
    } else if is_grouped(whole, group) {
        whole.replace(group, "")
    } else if part.is_none() {
        return finite(&whole.replacen(group, ".", 1));
    } else {
        return None;
    };
    finite(&part.map_or_else(|| plain.clone(), |part| format!("{plain}.{part}")))
}

fn is_grouped(whole: &str, group: char) -> bool {
    let mut groups = whole.trim_start_matches('-').split(group);
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3)
}

/// Accepts only digits, signs, a point and an exponent, so that `inf` and `nan` are not numbers.
fn finite(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'));
    text.parse::<f64>().ok().filter(|value| plain && value.is_finite())
}

/// Parses a day and returns its beginning in UTC. Accepts `2026-11-21`, as browsers send it, and days as pages show
/// them: `21.11.2026` and `21 Nov 2026`, also with the whole English name of the month. A year before 1000 is none, but
/// a part of one that somebody was typing.
pub fn day(text: &str) -> Option<Timestamp> {
    let date = Date::parse(text, format_description!("[year]-[month]-[day]"))
        .or_else(|_| Date::parse(text, format_description!("[day padding:none].[month padding:none].[year]")))
        .or_else(|_| {
            let short = format_description!("[day padding:none] [month repr:short case_sensitive:false] [year]");
            Date::parse(text, short)
        })
        .or_else(|_| {
            let long = format_description!("[day padding:none] [month repr:long case_sensitive:false] [year]");
            Date::parse(text, long)
        })
        .ok()?;
    if !(1000..=9999).contains(&date.year()) {
        return None;
    }
    let seconds = OffsetDateTime::new_utc(date, Time::MIDNIGHT).unix_timestamp();
    Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?))
}

/// Completes a link: an e-mail address becomes one that begins with `mailto:`, and `www.` begins with `https://`.
/// Others stay as they are.
pub fn link(text: &str) -> Cow<'_, str> {
    let is_plain = !text.contains([':', '/', '?', '#']) && !text.contains(char::is_whitespace);
    let is_mail = text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !host.contains('@') && !host.starts_with('.') && !host.ends_with('.')
    });
    if is_plain && is_mail {
        return Cow::Owned(format!("mailto:{text}"));
    }
    match text.get(..4) {
        Some(start) if start.eq_ignore_ascii_case("www.") => Cow::Owned(format!("https://{text}")),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_they_are_shown() {
        let known = day("2026-11-03").unwrap();
        for text in ["3.11.2026", "03.11.2026", "3 Nov 2026", "03 nov 2026", "3 November 2026"] {
            assert_eq!(day(text), Some(known), "{text}");
        }
        for bad in [
            "",
            "2026-13-01",
            "2026-02-30",
            "now",
            "1.2",
            "31 Feb 2026",
            "3 Nov",
            "2026-11-03T00:00:00Z",
            "-0044-03-15",
            "0000-01-01",
        ] {
            assert_eq!(day(bad), None, "{bad}");
        }
    }

    #[test]
    fn links_are_completed() {
        for (typed, expected) in [
            ("max@acme.example", "mailto:max@acme.example"),
            ("www.example.org/a?b=c", "https://www.example.org/a?b=c"),
            ("WWW.example.org", "https://WWW.example.org"),
            ("https://max@acme.example", "https://max@acme.example"),
            ("mailto:max@acme.example", "mailto:max@acme.example"),
            ("max@host", "max@host"),
            ("@acme.example", "@acme.example"),
            ("a b@acme.example", "a b@acme.example"),
            ("example.org", "example.org"),
            ("ww\u{e4}w.", "ww\u{e4}w."),
            ("", ""),
        ] {
            assert_eq!(link(typed), expected);
        }
    }
}
