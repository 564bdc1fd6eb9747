//! Parsing and formatting of storage figures and states for the pages.

use model::{Error, Result, StoreKind};
use repository::Work;

use crate::frame::page::Page;
use crate::frame::texts::Language;

/// Kinds of stores that the pages can add.
pub const KINDS: [StoreKind; 4] = [StoreKind::Directory, StoreKind::S3, StoreKind::Azure, StoreKind::Gcs];

/// Size units for input. With or without an i they are binary: both 1 KB and 1 KiB are 1,024 bytes.
const UNITS: [(&str, u32); 5] = [("t", 40), ("g", 30), ("m", 20), ("k", 10), ("", 0)];

/// Parses a size such as `64 KiB`, `10M` or `512`. Returns `None` for an empty text.
pub fn parse_size(text: &str) -> Result<Option<u64>> {
    let bad = || Error::invalid(format!("\"{text}\" is not a size: write 64 KiB, 10 MiB or a number of bytes"));
    let plain = text.trim().to_lowercase();
    if plain.is_empty() {
        return Ok(None);
    }
    let end = plain.find(|c: char| !c.is_ascii_digit()).unwrap_or(plain.len());
    let number: u64 = plain[..end].parse().map_err(|_| bad())?;
    let unit = plain[end..].trim_start().trim_end_matches('b').trim_end_matches('i');
    let (_, bits) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?;
    number.checked_mul(1 << bits).filter(|bytes| i64::try_from(*bytes).is_ok()).map(Some).ok_or_else(bad)
}

/// Formats a size for input, exact to the byte.
pub fn typed_size(bytes: u64) -> String {
    let fitting = UNITS.iter().find(|(_, bits)| bytes > 0 && bytes.trailing_zeros() >= *bits);
    match fitting {
        Some((name, bits)) if !name.is_empty() => format!("{} {}iB", bytes >> bits, name.to_uppercase()),
        _ => bytes.to_string(),
    }
}

/// Parses a whole number. Returns `None` for an empty text.
pub fn parse_number<T: std::str::FromStr>(text: &str) -> Result<Option<T>> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| Error::invalid(format!("\"{text}\" is not a whole number within the limits")))
}

/// Returns the text unless it is empty.
pub fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Formats a number with one decimal place.
pub fn decimal(page: &Page, number: f64) -> String {
    page.language.decimal(format!("{number:.1}"))
}

/// Formats a duration, rounded to a single unit.
pub fn length(page: &Page, seconds: u64) -> String {
    match seconds {
        0..100 => page.n("length.seconds", seconds),
        100..6_000 => page.n("length.minutes", (seconds + 30) / 60),
        6_000..172_800 => page.n("length.hours", (seconds + 1_800) / 3_600),
        _ => page.n("length.days", (seconds + 43_200) / 86_400),
    }
}

/// Returns the name of a kind of store.
pub fn kind(page: &Page, kind: StoreKind) -> String {
    page.language.find(&format!("store-kind.{kind}")).unwrap_or(kind.as_str()).to_owned()
}

/// Returns the name of a job's phase, with the error that may follow its words after a colon.
pub fn phase(language: Language, text: &str) -> String {
    let words = text.split(": ").next().unwrap_or_default();
    let name = language.find(&format!("phase.{}", words.to_lowercase().replace(' ', "-")));
    name.map_or_else(|| text.to_owned(), |name| format!("{name}{}", &text[words.len()..]))
}

/// Returns the name of a kind of job, as the audit log names it.
pub fn kind_of_work(page: &Page, word: &str) -> String {
    page.language.find(&format!("work.{word}")).map_or_else(|| word.to_owned(), ToOwned::to_owned)
}

/// Describes a job in one line.
pub fn work(page: &Page, work: &Work) -> String {
    let mut text = match work {
        Work::Migrate(work) => {
            let to = work.to.as_deref().unwrap_or_else(|| page.s("job.active-store"));
            let mut text = match &work.from {
                Some(from) => page.f2("job.migrate-from", from, to),
                None => page.f1("job.migrate", to),
            };
            if let Some(database) = &work.database {
                text += &page.f1("job.of-database", database);
            }
            text
        }
        Work::Collect(work) if work.dry_run => page.s("job.collect-dry").to_owned(),
        Work::Collect(_) => page.s("job.collect").to_owned(),
        Work::Check(work) => match &work.store {
            Some(store) => page.f1("job.check-one", store),
            None => page.s("job.check").to_owned(),
        },
        Work::Crawl(work) => match &work.database {
            Some(database) => page.f1("job.crawl-one", database),
            None => page.s("job.crawl").to_owned(),
        },
    };
    if let Some(rate) = work.rate() {
        text += &page.f1("job.at-most", page.size(&rate));
    }
    text
}

#[cfg(test)]
mod tests {
    use model::JobPhase;

    use super::*;

    #[test]
    fn every_phase_of_a_job_has_a_name_in_every_language() {
        for language in Language::all() {
            for phase in JobPhase::ALL {
                let text = format!("{}: the disk is full", phase.as_str());
                let name = super::phase(language, &text);
                assert!(name.ends_with(": the disk is full"), "{name}");
                assert_ne!(name, text, "{phase:?} has no name in {}", language.tag());
            }
        }
    }

    #[test]
    fn sizes_are_read_as_people_type_them_and_shown_so_that_they_come_back() {
        for (text, bytes) in
            [("64 KiB", 65_536), ("64 KB", 65_536), ("10M", 10 << 20), ("2gib", 2 << 30), ("0", 0), ("1000", 1_000)]
        {
            assert_eq!(parse_size(text).unwrap(), Some(bytes), "{text}");
        }
        assert_eq!(parse_size(" ").unwrap(), None);
        for bad in ["x", "-1", "1.5 MB", "10 parsecs", "9999999999 TB", "KB"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        for bytes in [0, 1, 1_000, 65_536, 65_537, 3 << 20, 5 << 30] {
            assert_eq!(parse_size(&typed_size(bytes)).unwrap(), Some(bytes));
        }
        assert_eq!((typed_size(65_536).as_str(), typed_size(1_000).as_str()), ("64 KiB", "1000"));
    }
}
