//! Checks of a list or library in a template.

use std::collections::HashSet;

use database::content::column::ColumnRow;
use model::{ColumnKind, ColumnRole, ColumnValue, Id, Name, NodeKind, Result, Total, Versioning};

use crate::columns::{MAX_CHOICES, MAX_COLUMNS, MAX_DESCRIPTION, MAX_LOOKUPS, MAX_MESSAGE};
use crate::is_built_in_column;
use crate::templates::formulas::{condition_of, set_options};

use super::reason::invalid;
use super::rules::{at_most, check_line, check_name, distinct, is_template_name, short};
use super::template::{ColumnTemplate, Holds, ListTemplate, PageTemplate, ViewColumn, ViewTemplate};
use super::text::Text;
use super::values::value_of;

const MAX_TYPES: usize = 100;
const MAX_CHOICE: usize = 255;
const MAX_VIEWS: usize = 50;
const MAX_VIEW_COLUMNS: usize = 60;
const MAX_FILTER: usize = 300;
/// Limit on the languages of one list. What is checked by language is checked in each of them.
const MAX_LANGUAGES: usize = 40;
/// Limit on the rows of one list.
pub(in crate::templates) const MAX_ROWS: usize = 200;
/// Limit on the pages of one library, and on the bytes of each of their texts.
pub(in crate::templates) const MAX_PAGES: usize = 50;
pub(in crate::templates) const MAX_PAGE_BYTES: usize = 64 << 10;
/// The end of the names of pages.
pub(in crate::templates) const PAGE_EXTENSION: &str = ".md";
/// Limit on the bytes of all texts of one row.
const MAX_ROW_BYTES: usize = 256 << 10;

/// Columns that every list has, and whether a view can be sorted by them.
const COMMON: [(&str, bool); 7] = [
    ("name", true),
    ("type", true),
    ("modified", true),
    ("by", true),
    ("size", true),
    ("created", false),
    ("version", false),
];
/// Columns that every list has and by which a view can be limited.
const FILTERED: [&str; 3] = ["name", "type", "modified"];

/// Checks a list of a template for sites.
pub(super) fn check(list: &ListTemplate) -> Result<()> {
    let Some(name) = &list.template else { return check_parts(list) };
    let fail = |what: String| Err(invalid(format!("list {:?}: {what}", short(list.name.key()))));
    check_name("a list", &list.name)?;
    if !is_template_name(name) {
        return fail(format!("{:?} cannot be the name of a template", short(name)));
    }
    let bare = ListTemplate { name: list.name.clone(), template: list.template.clone(), ..ListTemplate::default() };
    if *list != bare {
        return fail("a list with a template has nothing else but a name".to_owned());
    }
    Ok(())
}

/// Checks the list of a template for one list.
pub(super) fn check_own(list: &ListTemplate) -> Result<()> {
    if list.template.is_some() {
        return Err(invalid("the list of a template for lists has no `template` itself".to_owned()));
    }
    if list.holds != Holds::Rows {
        return Err(invalid("a template for a list says holds = \"rows\"".to_owned()));
    }
    check_parts(list)?;
    check_lookups(std::slice::from_ref(list))
}

/// Checks which lists and which of their rows the lookup columns of a template's lists name. The rows of a list that
/// comes from another template are not known here.
pub(in crate::templates) fn check_lookups(lists: &[ListTemplate]) -> Result<()> {
    for list in lists {
        let fail = |what: String| Err(invalid(format!("list {:?}: {what}", short(list.name.key()))));
        let lookups = || list.columns.iter().filter_map(|column| Some((column, column.list.as_deref()?)));
        if lookups().count() > MAX_LOOKUPS {
            return fail(format!("it has more than {MAX_LOOKUPS} lookup columns"));
        }
        for (column, named) in lookups() {
            let key = column.name.key();
            let Some(of) = lists.iter().find(|known| known.name.key() == named) else {
                return fail(format!("column {:?}: {:?} is no list of the template", short(key), short(named)));
            };
            if of.template.is_none() && of.holds != Holds::Rows {
                return fail(format!(
                    "column {:?}: {:?} is a library, whose documents are no entries",
                    short(key),
                    short(named)
                ));
            }
            let is_there =
                |row: i64| of.template.is_some() || usize::try_from(row).is_ok_and(|row| row <= of.rows.len());
            let values =
                list.rows.iter().filter_map(|row| row.get(key)).flat_map(each).filter_map(toml::Value::as_integer);
            if let Some(row) = values.into_iter().find(|row| !is_there(*row)) {
                return fail(format!("column {:?}: {:?} has no row {row}", short(key), short(named)));
            }
        }
    }
    Ok(())
}

fn check_parts(list: &ListTemplate) -> Result<()> {
    check_name("a list", &list.name)?;
    let parts = || -> Result<()> {
        at_most("languages", languages_of(list).len(), MAX_LANGUAGES)?;
        check_settings(list)?;
        at_most("content types", list.types.len(), MAX_TYPES)?;
        at_most("columns", list.columns.len(), MAX_COLUMNS)?;
        at_most("views", list.views.len(), MAX_VIEWS)?;
        at_most("rows", list.rows.len(), MAX_ROWS)?;
        list.types.iter().try_for_each(|one| check_name("a content type", one))?;
        distinct("content type", list.types.iter())?;
        list.columns.iter().try_for_each(|column| check_column(list, column))?;
        distinct("column", list.columns.iter().map(|column| &column.name))?;
        check_options(list)?;
        let titles = list.columns.iter().filter(|column| column.role.is_some()).count();
        match (list.holds, titles) {
            (Holds::Rows, 1) | (Holds::Documents, 0) => {}
            (Holds::Rows, _) => return Err(invalid("exactly one column has role = \"title\"".to_owned())),
            (Holds::Documents, _) => return Err(invalid("no column of a library has role = \"title\"".to_owned())),
        }
        list.views.iter().try_for_each(|view| check_view(list, view))?;
        distinct("view", list.views.iter().map(|view| &view.name))?;
        if list.views.iter().filter(|view| view.default).count() > 1 {
            return Err(invalid("more than one view is the default".to_owned()));
        }
        let languages = languages_of(list);
        check_pages(list)?;
        list.rows.iter().enumerate().try_for_each(|(index, row)| {
            check_row(list, row, &languages).map_err(|why| invalid(format!("row {}: {why}", index + 1)))
        })
    };
    // The reason alone, without the words that every such error begins with.
    parts().map_err(|error| match error.named() {
        [reason] => invalid(format!("list {:?}: {reason}", short(list.name.key()))),
        _ => error,
    })
}

fn check_pages(list: &ListTemplate) -> Result<()> {
    at_most("pages", list.pages.len(), MAX_PAGES)?;
    if list.holds == Holds::Rows && !list.pages.is_empty() {
        return Err(invalid("pages are documents of a library, not rows of a list".to_owned()));
    }
    distinct("page", list.pages.iter().map(|page| &page.name))?;
    for PageTemplate { name, text, .. } in &list.pages {
        check_name("a page", name)?;
        if name.all().iter().any(|name| !name.ends_with(PAGE_EXTENSION)) {
            return Err(invalid(format!(
                "the name of the page {:?} must end with {PAGE_EXTENSION}",
                short(name.key())
            )));
        }
        if text.all().iter().any(|text| text.len() > MAX_PAGE_BYTES) {
            let most = MAX_PAGE_BYTES >> 10;
            return Err(invalid(format!("the page {:?} has more than {most} KiB of text", short(name.key()))));
        }
    }
    Ok(())
}

fn check_settings(list: &ListTemplate) -> Result<()> {
    let settings = list.settings().map_err(|error| invalid(error.message().to_owned()))?;
    let drafts = settings.versioning == Versioning::MajorMinor || settings.require_checkout;
    match list.holds {
        Holds::Rows if drafts || list.minor_limit.is_some() => {
            Err(invalid("the rows of a list have neither drafts nor check-outs".to_owned()))
        }
        Holds::Rows if !list.types.is_empty() => Err(invalid("rows have no content types".to_owned())),
        Holds::Documents if list.attachments.is_some() => {
            Err(invalid("only the rows of a list have attachments".to_owned()))
        }
        Holds::Documents if !list.rows.is_empty() => Err(invalid("a library has no rows".to_owned())),
        _ => Ok(()),
    }
}

fn check_column(list: &ListTemplate, column: &ColumnTemplate) -> Result<()> {
    let fail = |what: String| Err(invalid(format!("column {:?}: {what}", short(column.name.key()))));
    check_name("a column", &column.name)?;
    let place = match list.holds {
        Holds::Documents => NodeKind::Library,
        Holds::Rows => NodeKind::List,
    };
    for name in column.name.all() {
        if Name::new(name).is_ok_and(|name| is_built_in_column(place, &name)) {
            return fail(format!("every list has a column {name:?} already"));
        }
    }
    let kind = match kind_of(column, "en") {
        Ok(kind) => kind,
        Err(error) => return fail(error.message().to_owned()),
    };
    match kind.single() {
        ColumnKind::Choice(_) => {
            let bad =
                |text: &str| text.is_empty() || text.chars().count() > MAX_CHOICE || text.chars().any(char::is_control);
            if column.choices.len() > MAX_CHOICES || column.choices.iter().flat_map(Text::all).any(bad) {
                return fail(format!("it has 1 to {MAX_CHOICES} choices of 1 to {MAX_CHOICE} characters in one line"));
            }
            if let Err(error) = distinct("choice", column.choices.iter()) {
                return fail(error.named().first().cloned().unwrap_or_default());
            }
        }
        _ if !column.choices.is_empty() => return fail("only a choice column has choices".to_owned()),
        _ => {}
    }
    match (kind.single(), &column.list) {
        (ColumnKind::Lookup(_), None) => {
            return fail("a lookup column needs the `list` whose entries it takes".to_owned());
        }
        (ColumnKind::Lookup(_), Some(_)) | (_, None) => {}
        (_, Some(_)) => return fail("only a lookup column has a `list`".to_owned()),
    }
    match column.role.as_deref() {
        None => {}
        Some("title") if kind == ColumnKind::Text => {}
        Some("title") => return fail("the column of titles is a text column".to_owned()),
        Some(other) => return fail(format!("the role {:?} is unknown; there is \"title\"", short(other))),
    }
    match &column.content_type {
        Some(name) if !list.types.iter().any(|known| known.key() == name) => {
            fail(format!("the content type {:?} is not in `types`", short(name)))
        }
        _ => Ok(()),
    }
}

/// Returns the languages of all texts of a list, and English.
fn languages_of(list: &ListTemplate) -> Vec<&str> {
    let of_columns = list.columns.iter().flat_map(|column| {
        column.choices.iter().chain(&column.message).chain(&column.description).chain([&column.name])
    });
    let texts = of_columns.chain(&list.types).chain(list.views.iter().map(|view| &view.name)).chain([&list.name]);
    let of_rows = list.rows.iter().flat_map(|row| row.values()).filter_map(toml::Value::as_table);
    let of_rows = of_rows.flat_map(|table| table.keys().map(String::as_str));
    let mut languages: Vec<&str> = texts.flat_map(Text::tags).chain(of_rows).chain(["en"]).collect();
    languages.sort_unstable();
    languages.dedup();
    languages
}

/// Checks formulas, default values, checks, and the conditions of views. They name columns and choices as the template
/// does, so they are the same in every language.
fn check_options(list: &ListTemplate) -> Result<()> {
    let place = match list.holds {
        Holds::Documents => NodeKind::Library,
        Holds::Rows => NodeKind::List,
    };
    for column in &list.columns {
        for (what, text, most) in
            [("the message", &column.message, MAX_MESSAGE), ("the description", &column.description, MAX_DESCRIPTION)]
        {
            if let Some(text) = text {
                check_line(&format!("column {:?}: {what}", short(column.name.key())), text, most, true)?;
            }
        }
    }
    let rows = list.columns.iter().zip(1..).map(|(column, id)| column_row(column, id, "en"));
    let mut rows = rows.collect::<Result<Vec<_>>>()?;
    set_options(&list.columns, place, &mut rows, "en")?;
    for (view, condition) in list.views.iter().filter_map(|view| Some((view, view.condition.as_deref()?))) {
        condition_of(&list.columns, &rows, condition)
            .map_err(|error| invalid(format!("view {:?}: {}", short(view.name.key()), error.message())))?;
    }
    Ok(())
}

/// Returns a column as it would be stored, with a number for an identifier.
fn column_row(column: &ColumnTemplate, id: i64, language: &str) -> Result<ColumnRow> {
    let name = column.name.in_language(language).to_owned();
    let is_title = column.role.is_some();
    Ok(ColumnRow {
        id: Id::new(id),
        library_id: Id::NONE,
        content_type_id: column.content_type.is_some().then_some(Id::new(id)),
        folded: model::fold(&name),
        name,
        kind: kind_of(column, language)?,
        required: column.required || is_title,
        position: id,
        slot: id,
        role: is_title.then_some(ColumnRole::Title),
        options: String::new(),
    })
}

/// Returns the kind of a column, with its choices in a language. The list of a lookup column has no identifier yet.
pub(in crate::templates) fn kind_of(column: &ColumnTemplate, language: &str) -> Result<ColumnKind> {
    let kind = match column.kind.as_str() {
        "lookup" => ColumnKind::Lookup(Id::NONE),
        word => {
            let choices = column.choices.iter().map(|choice| choice.in_language(language).to_owned()).collect();
            ColumnKind::parse(word, choices)?
        }
    };
    kind.taking_multiple(column.multiple)
}

/// Returns each of the values in an array, or the only value.
pub(in crate::templates) fn each(value: &toml::Value) -> &[toml::Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

fn check_view(list: &ListTemplate, view: &ViewTemplate) -> Result<()> {
    let fail = |what: String| Err(invalid(format!("view {:?}: {what}", short(view.name.key()))));
    check_name("a view", &view.name)?;
    let own = |name: &str| list.columns.iter().find(|column| column.name.key() == name);
    let common = |name: &str| COMMON.iter().find(|(known, _)| *known == name);
    match view.shape.as_deref() {
        None | Some("table") => {}
        Some("grid") if list.holds == Holds::Rows => {}
        Some(other) => return fail(format!("it cannot be shown as {:?}", short(other))),
    }
    if view.columns.len() > MAX_VIEW_COLUMNS {
        return fail(format!("it has more than {MAX_VIEW_COLUMNS} columns"));
    }
    let mut seen = HashSet::new();
    for ViewColumn { column, width } in &view.columns {
        if own(column).is_none() && (column == "name" || common(column).is_none()) {
            return fail(format!("there is no column {:?}", short(column)));
        }
        if !seen.insert(column) {
            return fail(format!("the column {:?} is shown twice", short(column)));
        }
        if width.is_some_and(|width| !(40..=900).contains(&width)) {
            return fail("the width of a column is 40 to 900".to_owned());
        }
    }
    match &view.sort {
        Some(sort) if own(sort).is_none() && !common(sort).is_some_and(|(_, sorts)| *sorts) => {
            return fail(format!("it cannot be sorted by {:?}", short(sort)));
        }
        None if view.group || view.descending => {
            return fail("group and descending need a column to sort by".to_owned());
        }
        _ => {}
    }
    for (name, total) in &view.totals {
        let fits = match (own(name), Total::parse(total)) {
            (Some(column), Ok(total)) => total.fits(&kind_of(column, "en")?),
            _ => false,
        };
        if !fits {
            return fail(format!("there is no total {:?} of {:?}", short(total), short(name)));
        }
    }
    for (name, value) in &view.filter {
        if value.is_empty() || value.chars().count() > MAX_FILTER || value.chars().any(char::is_control) {
            return fail(format!("a condition has 1 to {MAX_FILTER} characters in one line"));
        }
        match own(name) {
            None if FILTERED.contains(&name.as_str()) => {}
            None => return fail(format!("it cannot be limited by {:?}", short(name))),
            Some(column) if column.kind == "person" => return fail("a template has no people".to_owned()),
            Some(column) if column.kind == "lookup" => {
                return fail("a template cannot limit a view to entries of a list".to_owned());
            }
            Some(column) if column.kind == "choice" && !column.choices.iter().any(|choice| choice.key() == value) => {
                return fail(format!("the column {:?} has no choice {:?}", short(name), short(value)));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Checks a row in every language of its texts.
fn check_row(list: &ListTemplate, row: &toml::Table, languages: &[&str]) -> std::result::Result<(), String> {
    for language in languages {
        let mut bytes = 0;
        for (name, value) in row {
            let column = list.columns.iter().find(|column| column.name.key() == name);
            let column = column.ok_or_else(|| format!("there is no column {:?}", short(name)))?;
            if column.formula.is_some() {
                return Err(format!("the values of the column {:?} are calculated", short(name)));
            }
            let kind = kind_of(column, language).map_err(|error| error.message().to_owned())?;
            let read = value_of(&kind, &column.choices, value, language);
            for one in read.map_err(|why| format!("column {:?}: {why}", short(name)))?.each() {
                bytes += if let ColumnValue::Text(text) = one { text.len() } else { 16 };
            }
        }
        if bytes > MAX_ROW_BYTES {
            return Err(format!("its texts have more than {} KiB", MAX_ROW_BYTES >> 10));
        }
    }
    let needed = |column: &&ColumnTemplate| (column.required || column.role.is_some()) && column.default.is_none();
    match list.columns.iter().filter(needed).find(|column| !row.contains_key(column.name.key())) {
        Some(column) => Err(format!("the column {:?} needs a value", short(column.name.key()))),
        None => Ok(()),
    }
}
