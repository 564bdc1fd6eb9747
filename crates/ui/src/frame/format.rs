//! Formatting of sizes and times for people, and small pieces of HTML that templates share.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use askama::filters::{Escaper, HtmlSafe};
use model::{Timestamp, Zone};

use super::assets;
use super::texts::Language;
use http_core::protocol::content_type;

/// Formats a size with three significant digits, in the unit that leaves at most three digits before the decimal point.
/// Units are binary, as on the command line: 1 KiB is 1,024 bytes.
pub fn size(language: Language, bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return language.count("size.bytes", bytes);
    }
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    let mut text = format!("{value:.digits$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    format!("{}\u{a0}{}", language.decimal(text), UNITS[unit])
}

/// Formats a time relative to now, from minutes to weeks; older times as a date.
pub fn ago(language: Language, zone: &Zone, then: Timestamp, now: Timestamp) -> String {
    let seconds = now.seconds() - then.seconds();
    let count = |key: &str, n: i64| language.count(key, n.unsigned_abs());
    match seconds {
        ..-60 => day_of(language, zone, then),
        -60..45 => language.text("time.now").to_owned(),
        45..2_700 => count("time.minutes", (seconds + 30) / 60),
        2_700..79_200 => count("time.hours", (seconds + 1_800) / 3_600),
        79_200..2_246_400 => count("time.days", (seconds + 43_200) / 86_400),
        _ => day_of(language, zone, then),
    }
}

/// Formats a stored day as `2026-11-21`, the format of date fields.
pub fn date(time: Timestamp) -> String {
    Written::of(&Zone::UTC, time).day().to_owned()
}

/// Formats the month of a time as `2026-11`.
pub fn month(zone: &Zone, time: Timestamp) -> String {
    Written::of(zone, time).day().get(..7).unwrap_or("?").to_owned()
}

/// Formats the day of a time, as in "29 Nov 2026".
pub fn day_of(language: Language, zone: &Zone, time: Timestamp) -> String {
    zone.local(time).map_or_else(|| "?".to_owned(), |at| language.day(i32::from(at.year), at.month, at.day))
}

/// Formats a time to the minute, as in "29 Nov 2026, 07:53 UTC".
pub fn minute(language: Language, zone: &Zone, time: Timestamp) -> String {
    let written = Written::of(zone, time);
    let clock = written.clock().get(..5).unwrap_or_default();
    format!("{}, {clock} {}", day_of(language, zone, time), written.zone)
}

/// Formats a time to the second in UTC, for files.
pub fn exact(time: Timestamp) -> String {
    let written = Written::of(&Zone::UTC, time);
    if written.is_known() { format!("{} {} UTC", written.day(), written.clock()) } else { written.day().to_owned() }
}

/// A time to the second, as digits, and the abbreviation of its zone. Listings contain many of them, so they are
/// written without parsing a format description.
struct Written {
    digits: [u8; 19],
    zone: String,
}

impl Written {
    /// Formats a time. Times outside of the years 0 to 9999, which are never stored, become a question mark.
    fn of(zone: &Zone, time: Timestamp) -> Self {
        let Some(at) = zone.local(time) else {
            return Self { digits: *b"?..................", zone: String::new() };
        };
        let mut digits = *b"0000-00-00 00:00:00";
        let mut two = |at: usize, n: u8| {
            digits[at] += n / 10;
            digits[at + 1] += n % 10;
        };
        // A year consists of two pairs of digits.
        two(0, (at.year / 100) as u8);
        two(2, (at.year % 100) as u8);
        two(5, at.month);
        two(8, at.day);
        two(11, at.hour);
        two(14, at.minute);
        two(17, at.second);
        Self { digits, zone: at.zone }
    }

    fn is_known(&self) -> bool {
        self.digits[0] != b'?'
    }

    fn part(&self, from: usize, to: usize) -> &str {
        // The bytes are always ASCII.
        std::str::from_utf8(&self.digits[from..to]).unwrap_or("?")
    }

    fn day(&self) -> &str {
        if self.is_known() { self.part(0, 10) } else { "?" }
    }

    fn clock(&self) -> &str {
        self.part(11, 19)
    }
}

/// A time as HTML: relative to now, with the exact time as a tooltip.
pub struct When<'a> {
    language: Language,
    zone: &'a Zone,
    time: Timestamp,
}

/// Returns a time for a template.
pub fn when(language: Language, zone: &Zone, time: Timestamp) -> When<'_> {
    When { language, zone, time }
}

impl fmt::Display for When<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relative = ago(self.language, self.zone, self.time, Timestamp::now());
        let utc = Written::of(&Zone::UTC, self.time);
        let local = Written::of(self.zone, self.time);
        if !utc.is_known() || !local.is_known() {
            return write!(f, "<time>{relative}</time>");
        }
        let Written { zone, .. } = &local;
        let parts = [
            "<time datetime=\"",
            utc.day(),
            "T",
            utc.clock(),
            "Z\" title=\"",
            local.day(),
            " ",
            local.clock(),
            " ",
            zone,
            "\">",
            &relative,
            "</time>",
        ];
        parts.into_iter().try_for_each(|part| f.write_str(part))
    }
}

// Contains only digits, names of zones and our own texts, no user input.
impl HtmlSafe for When<'_> {}

/// A path as HTML that may wrap after each slash.
pub struct Steps<'a>(pub &'a str);

impl fmt::Display for Steps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.split('/').enumerate() {
            if i > 0 {
                f.write_str("/<wbr>")?;
            }
            askama::filters::Html.write_escaped_str(&mut *f, name)?;
        }
        Ok(())
    }
}

// The names are escaped above.
impl HtmlSafe for Steps<'_> {}

/// An icon of the sprite as HTML. Screen readers ignore it, so text is needed beside it.
pub struct Icon(&'static str, &'static str);

/// Returns an icon for a template.
pub fn icon(name: &'static str) -> Icon {
    Icon(name, "")
}

/// Returns an icon in one of the style sheet's colours.
pub fn toned(name: &'static str, tone: &'static str) -> Icon {
    Icon(name, tone)
}

impl fmt::Display for Icon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        static SPRITE: LazyLock<String> = LazyLock::new(|| assets::url("icons.svg"));
        let Self(name, tone) = self;
        let (space, sprite) = (if tone.is_empty() { "" } else { " " }, SPRITE.as_str());
        for part in
            ["<svg class=\"icon", space, tone, "\" aria-hidden=\"true\"><use href=\"", sprite, "#", name, "\"/></svg>"]
        {
            f.write_str(part)?;
        }
        Ok(())
    }
}

// Contains only names from our own sources.
impl HtmlSafe for Icon {}

/// Returns the icon of a document by its file extension.
pub fn file_icon(extension: &str) -> Icon {
    match extension {
        "pdf" => toned("file-text", "tone-red"),
        "doc" | "docx" | "odt" | "rtf" | "dotx" => toned("file-text", "tone-blue"),
        "xls" | "xlsx" | "ods" | "csv" | "tsv" => toned("file-sheet", "tone-green"),
        "ppt" | "pptx" | "odp" | "key" => toned("file-slides", "tone-orange"),
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "svg" | "tif" | "tiff" | "bmp" | "heic" => {
            toned("file-image", "tone-violet")
        }
        "zip" | "tar" | "gz" | "xz" | "zst" | "7z" | "rar" | "bz2" => toned("file-archive", "tone-yellow"),
        "html" | "htm" | "xml" | "json" => toned("file-code", "tone-soft"),
        code if SOURCE_CODE.contains(&code) => toned("file-code", "tone-soft"),
        "mp3" | "mp4" | "mov" | "avi" | "mkv" | "wav" | "ogg" | "webm" => toned("file-media", "tone-violet"),
        "eml" | "msg" => toned("mail", "tone-blue"),
        "txt" | "md" | "log" => toned("file-text", "tone-soft"),
        _ => toned("file", "tone-soft"),
    }
}

/// Extensions of source code. Their media types differ: `text/plain`, `application/octet-stream`, even `video/...`.
const SOURCE_CODE: [&str; 32] = [
    "bash", "c", "cc", "cpp", "cs", "css", "cxx", "go", "h", "hpp", "hs", "java", "js", "jsx", "kt", "lua", "mjs",
    "php", "pl", "ps1", "py", "rb", "rs", "scala", "scss", "sh", "sql", "swift", "ts", "tsx", "vue", "zig",
];

/// Returns a readable name for the kind of a document, as in "PDF document", or the media type itself if there is none.
pub fn media(language: Language, media_type: &str, name: &str) -> Cow<'static, str> {
    let is_code = name.rsplit_once('.').is_some_and(|(_, end)| SOURCE_CODE.contains(&end.to_lowercase().as_str()));
    let key = match content_type::essence(media_type).as_str() {
        _ if is_code => "media.code",
        "application/pdf" => "media.pdf",
        "application/msword"
        | "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        | "application/vnd.openxmlformats-officedocument.wordprocessingml.template"
        | "application/vnd.ms-word.document.macroenabled.12" => "media.word",
        "application/vnd.ms-excel"
        | "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        | "application/vnd.openxmlformats-officedocument.spreadsheetml.template"
        | "application/vnd.ms-excel.sheet.macroenabled.12" => "media.excel",
        "application/vnd.ms-powerpoint"
        | "application/vnd.openxmlformats-officedocument.presentationml.presentation"
        | "application/vnd.openxmlformats-officedocument.presentationml.slideshow" => "media.powerpoint",
        "application/vnd.oasis.opendocument.text" => "media.odt",
        "application/vnd.oasis.opendocument.spreadsheet" => "media.ods",
        "application/vnd.oasis.opendocument.presentation" => "media.odp",
        "application/rtf" | "text/rtf" => "media.rtf",
        "text/plain" => "media.text",
        "text/markdown" => "media.markdown",
        "text/csv" | "text/tab-separated-values" => "media.csv",
        "text/html" | "application/xhtml+xml" => "media.html",
        "application/json" => "media.json",
        "text/xml" | "application/xml" => "media.xml",
        "message/rfc822" | "application/vnd.ms-outlook" => "media.mail",
        "application/zip"
        | "application/x-zip-compressed"
        | "application/x-7z-compressed"
        | "application/x-tar"
        | "application/gzip"
        | "application/x-gzip"
        | "application/vnd.rar" => "media.archive",
        "application/octet-stream" | "" => "media.file",
        "application/javascript" | "application/x-sh" | "application/sql" | "text/javascript" | "text/css" => {
            "media.code"
        }
        other if other.starts_with("text/x-") => "media.code",
        other if other.starts_with("image/") => "media.image",
        other if other.starts_with("audio/") => "media.audio",
        other if other.starts_with("video/") => "media.video",
        _ => return media_type.to_owned().into(),
    };
    let words = language.text(key);
    let tells_little =
        ["media.image", "media.audio", "media.video", "media.archive", "media.code", "media.file"].contains(&key);
    match name.rsplit_once('.') {
        Some((_, end))
            if tells_little && (1..=5).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            format!("{words} ({})", end.to_uppercase()).into()
        }
        _ => words.into(),
    }
}

/// Returns what tells media types of one name apart, such as `PNG` or `JPEG`.
pub fn media_ending(media_type: &str) -> String {
    let kind = content_type::essence(media_type);
    let kind = kind.rsplit('/').next().unwrap_or_default();
    let kind = kind.trim_start_matches("x-").trim_start_matches("vnd.");
    kind.split('+').next().unwrap_or_default().to_uppercase()
}

/// Returns one or two initials of a person.
pub fn initials(name: &str) -> String {
    let mut words = name.split_whitespace().filter_map(|word| word.chars().next());
    let first = words.next().unwrap_or('?');
    first.to_uppercase().chain(words.next_back().into_iter().flat_map(char::to_uppercase)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_and_in_the_language() {
        let cases = [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1,023 bytes"),
            (1024, "1\u{a0}KiB"),
            (1536, "1.5\u{a0}KiB"),
            (102_400, "100\u{a0}KiB"),
            (1_048_575, "1\u{a0}MiB"),
            (5 << 30, "5\u{a0}GiB"),
            (u64::MAX, "16\u{a0}EiB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(size(Language::ENGLISH, bytes), expected);
        }
        assert_eq!(size(Language::parse("de").unwrap(), 1536), "1,5\u{a0}KiB");
    }

    #[test]
    fn times_are_relative_while_that_helps() {
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        let before = |seconds: i64| Timestamp::from_micros(now.micros() - seconds * 1_000_000);
        let cases = [
            (0, "just now"),
            (-30, "just now"),
            (60, "1 minute ago"),
            (185, "3 minutes ago"),
            (3 * 3600, "3 hours ago"),
            (2 * 86_400, "2 days ago"),
            (90 * 86_400, "16 Aug 2023"),
            (-86_400, "15 Nov 2023"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(ago(Language::ENGLISH, &Zone::UTC, before(seconds), now), expected, "{seconds}");
        }
        assert_eq!(ago(Language::parse("de").unwrap(), &Zone::UTC, before(185), now), "vor 3 Minuten");
        assert_eq!(exact(now), "2023-11-14 22:13:20 UTC");
        assert_eq!(exact(Timestamp::from_micros(i64::MAX)), "?");
    }

    #[test]
    fn media_types_have_words() {
        let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        assert_eq!(media(Language::ENGLISH, "application/pdf", "a.pdf"), "PDF document");
        assert_eq!(media(Language::parse("de").unwrap(), word, "a.docx"), "Word-Dokument");
        assert_eq!(media(Language::ENGLISH, "IMAGE/PNG; x=y", "a.png"), "Image (PNG)");
        assert_eq!(media(Language::ENGLISH, "text/x-rust", "add.rs"), "Source code (RS)");
        assert_eq!(media(Language::ENGLISH, "text/plain", "app.PY"), "Source code (PY)");
        assert_eq!(media(Language::ENGLISH, "video/vnd.dlna.mpeg-tts", "a.ts"), "Source code (TS)");
        assert_eq!(media(Language::ENGLISH, "text/plain", "py"), "Text");
        assert_eq!(media(Language::ENGLISH, "", "a.<b>"), "File");
        assert_eq!(media(Language::ENGLISH, "chemical/x-pdb", "a.pdb"), "chemical/x-pdb");
    }

    #[test]
    fn paths_break_between_names_and_stay_text() {
        assert_eq!(Steps("a/<b>/c").to_string(), "a/<wbr>&#60;b&#62;/<wbr>c");
    }

    #[test]
    fn times_are_those_of_the_time_zone() {
        let auckland = Zone::parse("Pacific/Auckland").unwrap();
        // 2026-11-29 20:15 UTC.
        let time = Timestamp::from_micros(1_795_983_300_000_000);
        assert_eq!(minute(Language::ENGLISH, &Zone::UTC, time), "29 Nov 2026, 20:15 UTC");
        assert_eq!(minute(Language::ENGLISH, &auckland, time), "30 Nov 2026, 09:15 NZDT");
        assert_eq!(month(&auckland, Timestamp::from_micros(1_796_083_200_000_000)), "2026-12");
        let html = when(Language::ENGLISH, &auckland, Timestamp::from_micros(1_700_000_000_000_000)).to_string();
        let times = "datetime=\"2023-11-14T22:13:20Z\" title=\"2023-11-15 11:13:20 NZDT\">15 Nov 2023<";
        assert!(html.contains(times), "{html}");
    }

    #[test]
    fn people_have_initials() {
        assert_eq!(initials("Anna Maria Berg"), "AB");
        assert_eq!(initials("ärzte"), "Ä");
        assert_eq!(initials("  "), "?");
    }
}
