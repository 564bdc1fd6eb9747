//! View of a listing: order, groups, columns and filter, in the form used by URL queries and saved views.

use model::{Code, ColumnKind, ColumnRole, ColumnValue, Error, ErrorKind, Id, Result, Total};
use repository::{Column, Filter, Session, Sort, ValueTest, stored_condition};

use super::value_test::value_test;
use crate::frame::page::Page;
use crate::frame::refuse;
use crate::frame::texts::Language;
use http_core::protocol::segments::encode_query;
use http_core::transfer::typed;

/// Number of library columns shown by default.
const FIRST_COLUMNS: usize = 20;
/// Limit on columns in one view.
const MAX_COLUMNS: usize = 60;
/// Limit on the characters of a condition.
const MAX_CONDITION: usize = 2_000;
/// Allowed column widths, in CSS pixels.
const WIDTHS: std::ops::RangeInclusive<u16> = 40..=900;

/// A column of a listing other than the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Kind of document.
    Type,
    /// Time of the last change.
    Modified,
    /// User who changed it.
    By,
    /// Size in bytes.
    Size,
    /// Creation time.
    Created,
    /// Version number.
    Version,
    /// A column of the library.
    Own(Id),
}

impl Key {
    /// Built-in columns with their names in URLs.
    pub const COMMON: [(Key, &'static str); 6] = [
        (Key::Type, "type"),
        (Key::Modified, "modified"),
        (Key::By, "by"),
        (Key::Size, "size"),
        (Key::Created, "created"),
        (Key::Version, "version"),
    ];

    /// Returns the column with this name in URLs.
    pub fn parse(word: &str) -> Option<Self> {
        let common = Self::COMMON.iter().find(|(_, known)| *known == word).map(|(key, _)| *key);
        common.or_else(|| word.parse().ok().map(Key::Own))
    }

    /// Returns the column's name in URLs.
    pub fn word(self) -> String {
        match (self, Self::COMMON.iter().find(|(key, _)| *key == self)) {
            (Self::Own(id), _) => id.to_string(),
            (_, Some((_, word))) => (*word).to_owned(),
            (_, None) => String::new(),
        }
    }

    /// Returns the sort order for this column, if it can be sorted.
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

    /// Returns whether listings can be filtered by this column.
    pub const fn can_be_filtered(self) -> bool {
        matches!(self, Self::Type | Self::Modified | Self::By | Self::Own(_))
    }

    /// Returns whether the first click sorts in descending order.
    pub fn sorts_descending_first(self) -> bool {
        matches!(self, Self::Modified | Self::Size)
    }
}

/// A column with its width in CSS pixels, if one was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide {
    /// The column.
    pub key: Key,
    /// Chosen width.
    pub width: Option<u16>,
}

/// Form in which a page shows the items of a list, library or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As a table, in which single values can be edited.
    Table,
    /// As a grid, which is edited like a spreadsheet; lists only.
    Grid,
    /// As tiles with pictures; libraries and folders only.
    Tiles,
}

impl Shape {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "table" => Some(Self::Table),
            "grid" => Some(Self::Grid),
            "tiles" => Some(Self::Tiles),
            _ => None,
        }
    }

    /// Returns the shape's name in URLs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Grid => "grid",
            Self::Tiles => "tiles",
        }
    }
}

/// Order, groups, columns and filter of a listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Chosen shape; a table if none was chosen.
    pub shape: Option<Shape>,
    /// Sort order.
    pub sort: Sort,
    /// True for the reverse order.
    pub descending: bool,
    /// True if rows with equal sort values are grouped under a heading.
    pub grouped: bool,
    /// Filter by words in the name.
    pub name: String,
    /// Media type.
    pub kind: String,
    /// Filter by author of the last change, as typed.
    pub who: String,
    /// Filter by first and last day of the change, as typed.
    pub days: [String; 2],
    /// Filters on library columns, as typed.
    pub values: Vec<(Id, String)>,
    /// Language in which numbers among `values` were typed; that of the reader if none is known.
    pub language: Option<Language>,
    /// Formula that the shown items fulfil; empty for none.
    pub condition: String,
    /// Chosen columns; empty for the default.
    pub columns: Vec<Wide>,
    /// Totals of columns below the rows.
    pub totals: Vec<(Id, Total)>,
    /// Identifier of the saved view; `none` for explicitly no saved view.
    pub saved: String,
    /// Cursor of the page.
    pub after: String,
}

impl View {
    /// Parses the query of a URL. Invalid parts are ignored.
    pub fn parse(query: &str) -> Self {
        let mut view = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            view.set(&key, value.trim());
        }
        view
    }

    /// Sets one part, from a URL or a form.
    pub fn set(&mut self, key: &str, value: &str) {
        let text = || value.chars().take(300).collect::<String>();
        match key {
            "as" => self.shape = Shape::parse(value),
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
            "filter" => self.condition = value.chars().take(MAX_CONDITION).collect(),
            "cols" => self.columns = value.split(',').filter_map(read_column).take(MAX_COLUMNS).collect(),
            "totals" => self.totals = value.split(',').filter_map(read_total).take(MAX_COLUMNS).collect(),
            "in" => self.language = Language::parse(value),
            "view" => self.saved = text(),
            // A cursor may be longer than the limit for other texts.
            "after" => self.after = value.to_owned(),
            _ => {
                let column = key.strip_prefix("f-").and_then(|id| id.parse().ok());
                if let (Some(id), false) = (column, value.is_empty() || self.values.len() >= MAX_COLUMNS) {
                    self.values.push((id, text()));
                }
            }
        }
    }

    /// Returns whether the query contains at most a saved view, a shape and a cursor, so that everything else comes
    /// from the saved view.
    pub fn is_default(&self) -> bool {
        Self { shape: None, ..self.clone() }.shows_the_same(&Self::default())
    }

    /// Returns whether items are shown as tiles.
    pub fn is_tiles(&self) -> bool {
        self.shape == Some(Shape::Tiles)
    }

    /// Returns whether rows are shown as a grid.
    pub fn is_grid(&self) -> bool {
        self.shape == Some(Shape::Grid)
    }

    /// Returns whether both views are equal apart from the cursor and the saved view's identifier.
    pub fn shows_the_same(&self, other: &Self) -> bool {
        let bare = |view: &Self| Self {
            shape: view.shape.filter(|shape| *shape != Shape::Table),
            language: None,
            saved: String::new(),
            after: String::new(),
            ..view.clone()
        };
        bare(self) == bare(other)
    }

    /// Returns whether there is any filter.
    pub fn filters(&self) -> bool {
        let texts = [&self.name, &self.kind, &self.who, &self.days[0], &self.days[1]];
        texts.iter().any(|text| !text.is_empty()) || self.asks_for_columns()
    }

    /// Returns the first page of the view without the filter of a column.
    pub fn without_filter(&self, key: Key) -> Self {
        let mut view = Self { after: String::new(), ..self.clone() };
        match key {
            Key::Type => view.kind.clear(),
            Key::By => view.who.clear(),
            Key::Modified => view.days = Default::default(),
            Key::Own(id) => view.values.retain(|(column, _)| *column != id),
            Key::Size | Key::Created | Key::Version => {}
        }
        view
    }

    /// Returns whether there is a filter of a column.
    pub fn is_filtered_by(&self, key: Key) -> bool {
        match key {
            Key::Type => !self.kind.is_empty(),
            Key::By => !self.who.is_empty(),
            Key::Modified => self.days.iter().any(|day| !day.is_empty()),
            Key::Own(id) => self.values.iter().any(|(column, _)| *column == id),
            Key::Size | Key::Created | Key::Version => false,
        }
    }

    /// Returns whether the filter is about columns of the library or list.
    pub fn asks_for_columns(&self) -> bool {
        !self.values.is_empty() || !self.condition.is_empty()
    }

    /// Returns the name of the sort order in URLs.
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

    /// Returns the view as a URL query, without the cursor. Never empty.
    pub fn query(&self) -> String {
        let mut query = format!("sort={}", self.sort_word());
        let mut add = |key: &str, value: &str| {
            if !value.is_empty() {
                query.push_str(&format!("&{key}={}", encode_query(value)));
            }
        };
        add("as", self.shape.map(Shape::word).unwrap_or_default());
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
        add("in", self.language.filter(|_| !self.values.is_empty()).map_or("", Language::tag));
        add("filter", &self.condition);
        add("cols", &self.columns_word(&self.columns));
        add("totals", &self.totals_word());
        add("view", &self.saved);
        query
    }

    /// Returns columns as the value of the `cols` parameter.
    pub fn columns_word(&self, columns: &[Wide]) -> String {
        let one = |column: &Wide| match column.width {
            Some(width) => format!("{}:{width}", column.key.word()),
            None => column.key.word(),
        };
        columns.iter().map(one).collect::<Vec<_>>().join(",")
    }

    fn totals_word(&self) -> String {
        let one = |(id, total): &(Id, Total)| format!("{id}:{}", total.as_str());
        self.totals.iter().map(one).collect::<Vec<_>>().join(",")
    }

    /// Returns the query with another order, for links in column headers.
    pub fn sorted_by(&self, sort: Sort, descending: bool) -> String {
        Self { sort, descending, ..self.clone() }.query()
    }

    /// Returns the columns to show: the chosen ones that still exist, or the default.
    pub fn shown(&self, own: &[Column]) -> Vec<Wide> {
        let known = |wide: &Wide| !matches!(wide.key, Key::Own(id) if !own.iter().any(|column| column.id == id));
        let chosen: Vec<Wide> = self.columns.iter().copied().filter(known).collect();
        if !chosen.is_empty() {
            return chosen;
        }
        let first = own.iter().take(FIRST_COLUMNS).map(|column| Key::Own(column.id));
        first.chain([Key::Modified, Key::By, Key::Size]).map(|key| Wide { key, width: None }).collect()
    }

    /// Returns the columns to show in a list. Titles stand in place of names, and a row has neither size nor type.
    pub fn shown_in_list(&self, own: &[Column]) -> Vec<Wide> {
        let is_title = |id: Id| own.iter().any(|column| column.id == id && column.role == Some(ColumnRole::Title));
        let mut shown = self.shown(own);
        shown.retain(|wide| match wide.key {
            Key::Own(id) => !is_title(id),
            Key::Type | Key::Size | Key::Version => false,
            Key::Modified | Key::By | Key::Created => true,
        });
        shown
    }

    /// Returns whether rows with equal sort values are grouped under a heading. A column with several values has no
    /// headings: rows are sorted by its first value only.
    pub fn groups(&self, own: &[Column]) -> bool {
        let by_several = |id| own.iter().any(|column| column.id == id && column.kind.takes_multiple());
        self.grouped && !matches!(self.sort, Sort::Column(id) if by_several(id))
    }

    /// Parses the filter. Also returns messages about the parts that could not be parsed; those parts are not applied.
    pub async fn filter(&self, page: &Page, session: &Session, own: &[Column]) -> Result<(Filter, Vec<String>)> {
        let mut faults = Vec::new();
        let mut filter = Filter { name: self.name.clone(), ..Filter::default() };
        filter.media_type = Some(self.kind.clone()).filter(|kind| !kind.is_empty());
        if !self.who.is_empty() {
            filter.person = self.person(page, session, &self.who, &mut faults).await?;
        }
        let mut day = |text: &str| match typed::day(text) {
            _ if text.is_empty() => None,
            None => {
                faults.push(page.f1("filter.no-day", text));
                None
            }
            day => day,
        };
        filter.since = day(&self.days[0]).map(|day| page.zone.start_of_stored(day));
        filter.until = day(&self.days[1]).map(|day| page.zone.end_of_stored(day));
        for (id, text) in &self.values {
            let Some(column) = own.iter().find(|column| column.id == *id) else { continue };
            let test = match *column.kind.single() {
                ColumnKind::Person => self
                    .person(page, session, text, &mut faults)
                    .await?
                    .map(|id| ValueTest::Is(ColumnValue::Person(id))),
                ColumnKind::Lookup(list) => match session.find_entry(list, text).await {
                    Ok(id) => Some(ValueTest::Is(ColumnValue::Lookup(id))),
                    Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound) => {
                        faults.push(page.f2("filter.misfit", text, &column.name));
                        None
                    }
                    Err(error) => return Err(error),
                },
                _ => match value_test(self.language.unwrap_or(page.language), column, text) {
                    None => {
                        faults.push(page.f2("filter.misfit", text, &column.name));
                        None
                    }
                    test => test,
                },
            };
            filter.values.extend(test.map(|test| (*id, test)));
        }
        if !self.condition.is_empty() {
            match stored_condition(&self.condition, own) {
                Ok(condition) => filter.condition = condition,
                Err(error) => faults.push(refuse::message_for(page, &error)),
            }
        }
        Ok((filter, faults))
    }

    async fn person(&self, page: &Page, session: &Session, text: &str, faults: &mut Vec<String>) -> Result<Option<Id>> {
        match session.find_principal(text).await {
            Ok(id) => Ok(Some(id)),
            Err(error) if matches!(error.code(), Code::UnknownPerson | Code::AmbiguousPerson) => {
                faults.push(crate::frame::refuse::message_for(page, &error));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Reads a column and its total, such as `17:sum`.
fn read_total(text: &str) -> Option<(Id, Total)> {
    let (id, total) = text.split_once(':')?;
    Some((id.parse().ok()?, Total::parse(total).ok()?))
}

fn read_column(word: &str) -> Option<Wide> {
    let (word, width) = word.split_once(':').map_or((word, None), |(word, width)| (word, width.parse().ok()));
    let width = width.map(|width: u16| width.clamp(*WIDTHS.start(), *WIDTHS.end()));
    Key::parse(word).map(|key| Wide { key, width })
}

/// Returns the saved view selected by the `view` parameter. An empty word selects the standard view, if there is one;
/// `none` selects no view.
///
/// # Errors
/// Invalid for a malformed identifier; NotFound for an unknown one.
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

    #[test]
    fn a_view_reads_back_from_its_query() {
        let query = "sort=12&order=descending&group=yes&name=a%20b&kind=text/plain&who=anna\
            &from=2026-01-01&f-12=x%26y&cols=12:200,modified,type&view=7";
        let view = View::parse(query);
        assert_eq!((view.sort, view.descending, view.grouped), (Sort::Column(Id::new(12)), true, true));
        assert_eq!(view.values, [(Id::new(12), "x&y".to_owned())]);
        assert_eq!(view.columns[0], Wide { key: Key::Own(Id::new(12)), width: Some(200) });
        assert_eq!(View::parse(&view.query()), view);
        assert!(view.filters());
        assert!(!view.is_default());
    }

    #[test]
    fn an_address_says_in_which_language_its_numbers_are() {
        let mut view = View::parse("f-12=10..2,000");
        view.language = Some(Language::ENGLISH);
        assert_eq!(view.query(), "sort=name&f-12=10..2,000&in=en");
        assert_eq!(View::parse(&view.query()), view);
        assert!(view.shows_the_same(&View::parse("f-12=10..2,000")));
        assert_eq!(View { values: Vec::new(), ..view }.query(), "sort=name");
    }

    #[test]
    fn a_shape_alone_leaves_the_rest_to_the_saved_view() {
        let grid = View::parse("as=grid&view=7");
        assert!(grid.is_grid() && grid.is_default() && !grid.shows_the_same(&View::default()));
        assert!(View::parse("as=table").shows_the_same(&View::default()));
        assert!(!View::parse("as=board").is_grid());
        assert_eq!(View::parse(&grid.query()), grid);
    }

    #[test]
    fn odd_queries_say_nothing() {
        for odd in ["", "sort=nothing", "cols=,,x:y", "f-x=1", "view=3", "group=no&order=up", "sort=%ff&%00"] {
            assert!(View::parse(odd).is_default(), "{odd}");
        }
        let many: String = (1..500).map(|i| format!("{i},")).collect();
        assert_eq!(View::parse(&format!("cols={many}")).columns.len(), MAX_COLUMNS);
        assert_eq!(View::parse("cols=size:9").columns[0].width, Some(40));
    }
}
