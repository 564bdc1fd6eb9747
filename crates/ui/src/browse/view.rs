//! How a listing is wanted: order, groups, columns and filter, as the query of its address and as saved views write them.

use model::Code;
use model::{ColumnKind, ColumnValue, Error, Id, Result, Timestamp};
use repository::{Column, Filter, Session, Sort, ValueTest};

use crate::frame::page::Page;
use crate::frame::value_format;
use crate::wording::people;
use http_core::protocol::segments::encode_query;

/// Own columns that a listing shows when nobody chose.
const FIRST_COLUMNS: usize = 20;
/// Most columns of one view.
const MOST_COLUMNS: usize = 60;
/// Widths that a column can have, in CSS pixels.
const WIDTHS: std::ops::RangeInclusive<u16> = 40..=900;

/// A column of a listing, beside the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// What kind of document it is.
    Type,
    /// When it was last changed.
    Modified,
    /// By whom.
    By,
    /// Bytes.
    Size,
    /// When it was created.
    Created,
    /// Its version.
    Version,
    /// A column of the library.
    Own(Id),
}

impl Key {
    /// Those that every library has, with their words.
    pub const COMMON: [(Key, &'static str); 6] = [
        (Key::Type, "type"),
        (Key::Modified, "modified"),
        (Key::By, "by"),
        (Key::Size, "size"),
        (Key::Created, "created"),
        (Key::Version, "version"),
    ];

    fn parse(word: &str) -> Option<Self> {
        let common = Self::COMMON.iter().find(|(_, known)| *known == word).map(|(key, _)| *key);
        common.or_else(|| word.parse().ok().map(Key::Own))
    }

    /// The word in addresses.
    pub fn word(self) -> String {
        match (self, Self::COMMON.iter().find(|(key, _)| *key == self)) {
            (Self::Own(id), _) => id.to_string(),
            (_, Some((_, word))) => (*word).to_owned(),
            (_, None) => String::new(),
        }
    }

    /// The order by this column, if there is one.
    pub fn sort(self) -> Option<Sort> {
        match self {
            Self::Type => Some(Sort::Type),
            Self::Modified => Some(Sort::Modified),
            Self::By => Some(Sort::Person),
            Self::Size => Some(Sort::Size),
            Self::Created | Self::Version => None,
            Self::Own(id) => Some(Sort::Column(id)),
        }
    }

    /// Whether one looks for the greatest first.
    pub fn falls(self) -> bool {
        matches!(self, Self::Modified | Self::Size)
    }
}

/// A column with its width in CSS pixels, if somebody chose one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide {
    /// The column.
    pub key: Key,
    /// Its width.
    pub width: Option<u16>,
}

/// How a listing is wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The order.
    pub sort: Sort,
    /// Whether it is turned round.
    pub descending: bool,
    /// Whether rows that are alike in it stand under a title.
    pub grouped: bool,
    /// Words of the name.
    pub name: String,
    /// Media type.
    pub kind: String,
    /// Who changed it, as typed.
    pub who: String,
    /// First and last day of the change, as typed.
    pub days: [String; 2],
    /// What must stand in columns, as typed.
    pub values: Vec<(Id, String)>,
    /// The columns that somebody chose; empty for the usual ones.
    pub columns: Vec<Wide>,
    /// The saved view that this is; `none` when somebody wants no saved view.
    pub saved: String,
    /// The place where the page begins.
    pub after: String,
}

impl View {
    /// Reads the query of an address; what cannot be read is left out.
    pub fn parse(query: &str) -> Self {
        let mut view = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            view.set(&key, value.trim());
        }
        view
    }

    /// Sets one part, from an address or a form.
    pub fn set(&mut self, key: &str, value: &str) {
        let text = || value.chars().take(300).collect::<String>();
        match key {
            "sort" => {
                self.sort =
                    if value == "name" { None } else { Key::parse(value) }.and_then(Key::sort).unwrap_or_default();
            }
            "order" => self.descending = value == "descending",
            "group" => self.grouped = value == "yes",
            "name" => self.name = text(),
            "kind" => self.kind = text(),
            "who" => self.who = text(),
            "from" => self.days[0] = text(),
            "to" => self.days[1] = text(),
            "cols" => self.columns = value.split(',').filter_map(read_column).take(MOST_COLUMNS).collect(),
            "view" => self.saved = text(),
            // A cursor is as long as a name.
            "after" => self.after = value.to_owned(),
            _ => {
                let column = key.strip_prefix("f-").and_then(|id| id.parse().ok());
                if let (Some(id), false) = (column, value.is_empty() || self.values.len() >= MOST_COLUMNS) {
                    self.values.push((id, text()));
                }
            }
        }
    }

    /// Whether only a saved view is named, or nothing at all, so that the rest comes from there.
    pub fn says_nothing(&self) -> bool {
        self.shows_the_same(&Self::default())
    }

    /// Whether another shows the same, from whatever page on and under whatever name.
    pub fn shows_the_same(&self, other: &Self) -> bool {
        let bare = |view: &Self| Self { saved: String::new(), after: String::new(), ..view.clone() };
        bare(self) == bare(other)
    }

    /// Whether anything is left out.
    pub fn filters(&self) -> bool {
        let texts = [&self.name, &self.kind, &self.who, &self.days[0], &self.days[1]];
        texts.iter().any(|text| !text.is_empty()) || !self.values.is_empty()
    }

    /// The order as a word.
    pub fn sort_word(&self) -> String {
        match self.sort {
            Sort::Name => "name".to_owned(),
            Sort::Modified => "modified".to_owned(),
            Sort::Size => "size".to_owned(),
            Sort::Person => "by".to_owned(),
            Sort::Type => "type".to_owned(),
            Sort::Column(id) => id.to_string(),
        }
    }

    /// All of it but the place, as a query; never empty.
    pub fn query(&self) -> String {
        let mut query = format!("sort={}", self.sort_word());
        let mut add = |key: &str, value: &str| {
            if !value.is_empty() {
                query.push_str(&format!("&{key}={}", encode_query(value)));
            }
        };
        add("order", if self.descending { "descending" } else { "" });
        add("group", if self.grouped { "yes" } else { "" });
        add("name", &self.name);
        add("kind", &self.kind);
        add("who", &self.who);
        add("from", &self.days[0]);
        add("to", &self.days[1]);
        for (id, value) in &self.values {
            add(&format!("f-{id}"), value);
        }
        add("cols", &self.columns_word(&self.columns));
        add("view", &self.saved);
        query
    }

    /// Columns as one word.
    pub fn columns_word(&self, columns: &[Wide]) -> String {
        let one = |column: &Wide| match column.width {
            Some(width) => format!("{}:{width}", column.key.word()),
            None => column.key.word(),
        };
        columns.iter().map(one).collect::<Vec<_>>().join(",")
    }

    /// The same with another order, as a column's title links to it.
    pub fn sorted_by(&self, sort: Sort, descending: bool) -> String {
        Self { sort, descending, ..self.clone() }.query()
    }

    /// The columns to show: those that were chosen and still are there, else the usual ones.
    pub fn shown(&self, own: &[Column]) -> Vec<Wide> {
        let known = |wide: &Wide| !matches!(wide.key, Key::Own(id) if !own.iter().any(|column| column.id == id));
        let chosen: Vec<Wide> = self.columns.iter().copied().filter(known).collect();
        if !chosen.is_empty() {
            return chosen;
        }
        let first = own.iter().take(FIRST_COLUMNS).map(|column| Key::Own(column.id));
        first.chain([Key::Modified, Key::By, Key::Size]).map(|key| Wide { key, width: None }).collect()
    }

    /// What the filter means. The reasons why parts of it cannot be understood come beside it; those parts leave nothing out.
    pub async fn filter(&self, page: &Page, session: &Session, own: &[Column]) -> Result<(Filter, Vec<String>)> {
        let mut faults = Vec::new();
        let mut filter = Filter { name: self.name.clone(), ..Filter::default() };
        filter.media_type = Some(self.kind.clone()).filter(|kind| !kind.is_empty());
        if !self.who.is_empty() {
            filter.person = self.person(page, session, &self.who, &mut faults).await?;
        }
        let mut day = |text: &str| match value_format::read_day(text) {
            _ if text.is_empty() => None,
            None => {
                faults.push(page.f1("filter.no-day", text));
                None
            }
            day => day,
        };
        filter.since = day(&self.days[0]);
        filter.until = day(&self.days[1]).map(next_day);
        for (id, text) in &self.values {
            let Some(column) = own.iter().find(|column| column.id == *id) else { continue };
            let test = match column.kind {
                ColumnKind::Person => self
                    .person(page, session, text, &mut faults)
                    .await?
                    .map(|id| ValueTest::Is(ColumnValue::Person(id))),
                _ => match value_test(page, column, text) {
                    None => {
                        faults.push(page.f2("filter.misfit", text, &column.name));
                        None
                    }
                    test => test,
                },
            };
            filter.values.extend(test.map(|test| (*id, test)));
        }
        Ok((filter, faults))
    }

    async fn person(&self, page: &Page, session: &Session, text: &str, faults: &mut Vec<String>) -> Result<Option<Id>> {
        match people::find(session, text).await {
            Ok(id) => Ok(Some(id)),
            Err(error) if matches!(error.code(), Code::UnknownPerson | Code::AmbiguousPerson) => {
                faults.push(crate::frame::refuse::explain(page, &error));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn read_column(word: &str) -> Option<Wide> {
    let (word, width) = word.split_once(':').map_or((word, None), |(word, width)| (word, width.parse().ok()));
    let width = width.map(|width: u16| width.clamp(*WIDTHS.start(), *WIDTHS.end()));
    Key::parse(word).map(|key| Wide { key, width })
}

fn next_day(day: Timestamp) -> Timestamp {
    day.after(std::time::Duration::from_secs(24 * 60 * 60))
}

/// What was typed for a column: `10..20` and `2026-01-01..2026-01-31` are ranges, one end may be missing.
fn value_test(page: &Page, column: &Column, text: &str) -> Option<ValueTest> {
    let (low, high) = text.split_once("..").map_or((text, text), |(low, high)| (low.trim(), high.trim()));
    match column.kind {
        ColumnKind::Text | ColumnKind::Link => Some(ValueTest::Contains(text.to_owned())),
        ColumnKind::Choice(_) => Some(ValueTest::Is(ColumnValue::Text(text.to_owned()))),
        ColumnKind::YesNo => Some(ValueTest::Is(ColumnValue::YesNo(text == "yes"))),
        ColumnKind::Number => {
            let end = |text: &str, far: f64| match text {
                "" => Some(far),
                text => value_format::read_number(page.language, text),
            };
            Some(ValueTest::Between(end(low, f64::MIN)?, end(high, f64::MAX)?))
        }
        ColumnKind::Date => {
            let end = |text: &str, far: i64| match text {
                "" => Some(Timestamp::from_micros(far)),
                text => value_format::read_day(text),
            };
            let until = if high.is_empty() { end(high, i64::MAX)? } else { next_day(end(high, 0)?) };
            Some(ValueTest::During(end(low, i64::MIN)?, until))
        }
        ColumnKind::Person => None,
    }
}

/// The saved view that the word of an address means; none when none is wanted or there is none.
pub fn find<'a>(views: &'a [repository::SavedView], word: &str) -> Result<Option<&'a repository::SavedView>> {
    match word {
        "none" => Ok(None),
        "" => Ok(views.iter().rev().find(|view| view.standard)),
        id => {
            let id: Id = id.parse()?;
            let found = views.iter().find(|view| view.id == id);
            found.map(Some).ok_or_else(|| Error::not_found("there is no such view; it may have been deleted"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::texts::Language;
    use axum::http::HeaderMap;

    #[test]
    fn a_view_reads_back_from_its_query() {
        let query = "sort=12&order=descending&group=yes&name=a%20b&kind=text/plain&who=anna&from=2026-01-01&f-12=x%26y&cols=12:200,modified,type&view=7";
        let view = View::parse(query);
        assert_eq!((view.sort, view.descending, view.grouped), (Sort::Column(Id::new(12)), true, true));
        assert_eq!(view.values, [(Id::new(12), "x&y".to_owned())]);
        assert_eq!(view.columns[0], Wide { key: Key::Own(Id::new(12)), width: Some(200) });
        assert_eq!(View::parse(&view.query()), view);
        assert!(view.filters() && !view.says_nothing());
    }

    #[test]
    fn odd_queries_say_nothing() {
        for odd in ["", "sort=nothing", "cols=,,x:y", "f-x=1", "view=3", "group=no&order=up", "sort=%ff&%00"] {
            assert!(View::parse(odd).says_nothing(), "{odd}");
        }
        let many: String = (1..500).map(|i| format!("{i},")).collect();
        assert_eq!(View::parse(&format!("cols={many}")).columns.len(), MOST_COLUMNS);
        assert_eq!(View::parse("cols=size:9").columns[0].width, Some(40));
    }

    #[test]
    fn ranges_are_read() {
        let page = Page::of(&HeaderMap::new(), "/".into());
        assert_eq!(page.language, Language::ENGLISH);
        let column = |kind| Column { id: Id::new(1), name: "c".into(), kind, required: false, content_type_id: None };
        let number = column(ColumnKind::Number);
        assert_eq!(value_test(&page, &number, "1..2.5"), Some(ValueTest::Between(1.0, 2.5)));
        assert_eq!(value_test(&page, &number, "7"), Some(ValueTest::Between(7.0, 7.0)));
        assert_eq!(value_test(&page, &number, "7.."), Some(ValueTest::Between(7.0, f64::MAX)));
        assert_eq!(value_test(&page, &number, "x"), None);
        let day = |text| value_format::read_day(text).unwrap();
        let wanted = ValueTest::During(day("2026-01-01"), day("2026-02-01"));
        assert_eq!(value_test(&page, &column(ColumnKind::Date), "2026-01-01..2026-01-31"), Some(wanted));
    }
}
