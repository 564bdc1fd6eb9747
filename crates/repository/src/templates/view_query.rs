//! The views of templates, and of copies, as the queries that pages store and read (decision 15). Only this file and
//! the pages know their form.

use std::borrow::Cow;

use form_urlencoded::Serializer;
use model::{ColumnKind, FormulaColumn, Id, Total};

use super::format::{ViewColumn, ViewTemplate};
use crate::items::condition;

/// A column of the list, as the query names it and as the template names it.
pub(super) struct NamedColumn<'a> {
    pub(super) id: Id,
    pub(super) name: Cow<'a, str>,
    /// What the filter of a choice column compares, by what the template says. Empty for other columns.
    pub(super) choices: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

/// Returns the query of a view, with its condition as it is stored; empty for none.
pub(super) fn write(view: &ViewTemplate, columns: &[NamedColumn<'_>], condition: &str) -> String {
    let own = |name: &str| columns.iter().find(|column| column.name == name);
    let word = |name: &str| own(name).map_or_else(|| name.to_owned(), |column| column.id.to_string());
    let mut query = Serializer::new(String::new());
    if let Some(shape) = &view.shape {
        query.append_pair("as", shape);
    }
    query.append_pair("sort", &view.sort.as_deref().map_or_else(|| "name".to_owned(), word));
    if view.descending {
        query.append_pair("order", "descending");
    }
    if view.group {
        query.append_pair("group", "yes");
    }
    for (name, value) in &view.filter {
        match (own(name), name.as_str()) {
            (Some(column), _) => {
                let choice = column.choices.iter().find(|(key, _)| key == value);
                let value = choice.map_or(value.as_str(), |(_, shown)| shown);
                query.append_pair(&format!("f-{}", column.id), value);
            }
            (None, "type") => drop(query.append_pair("kind", value)),
            (None, "modified") => {
                let (from, to) = value.split_once("..").unwrap_or((value, value));
                for (key, day) in [("from", from), ("to", to)].into_iter().filter(|(_, day)| !day.is_empty()) {
                    query.append_pair(key, day);
                }
            }
            (None, _) => drop(query.append_pair("name", value)),
        }
    }
    if !condition.is_empty() {
        query.append_pair("filter", condition);
    }
    let totals = view.totals.iter().map(|(column, total)| format!("{}:{total}", word(column)));
    let totals = totals.collect::<Vec<_>>().join(",");
    let shown = view.columns.iter().map(|ViewColumn { column, width }| match width {
        Some(width) => format!("{}:{width}", word(column)),
        None => word(column),
    });
    let shown = shown.collect::<Vec<_>>().join(",");
    if !shown.is_empty() {
        query.append_pair("cols", &shown);
    }
    if !totals.is_empty() {
        query.append_pair("totals", &totals);
    }
    query.finish()
}

/// Reads the query of a view. Conditions on people and parts that name nothing are left out.
pub(super) fn read(query: &str, columns: &[(Id, &str, &ColumnKind)]) -> ViewTemplate {
    const COMMON: [&str; 6] = ["type", "modified", "by", "size", "created", "version"];
    let own = |word: &str| word.parse().ok().and_then(|id: Id| columns.iter().find(|(known, ..)| *known == id));
    // A list can have a column of its own that is called like one of those that libraries have.
    let is_free = |word: &str| columns.iter().all(|(_, name, _)| *name != word);
    let name = |word: &str| match COMMON.contains(&word) {
        true => Some(word.to_owned()).filter(|word| is_free(word)),
        false => own(word).map(|(_, name, _)| (*name).to_owned()),
    };
    let (mut view, mut days) = (ViewTemplate::default(), [String::new(), String::new()]);
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = value.trim();
        match &*key {
            "sort" => view.sort = name(value).filter(|name| !matches!(name.as_str(), "created" | "version")),
            "as" if matches!(value, "table" | "grid") => view.shape = Some(value.to_owned()),
            "order" => view.descending = value == "descending",
            "group" => view.group = value == "yes",
            "from" => value.clone_into(&mut days[0]),
            "to" => value.clone_into(&mut days[1]),
            "name" | "kind" if !value.is_empty() => {
                let key = if key == "name" { "name" } else { "type" };
                if is_free(key) {
                    view.filter.insert(key.to_owned(), value.to_owned());
                }
            }
            "filter" if !value.is_empty() => {
                let columns = columns.iter().map(|(id, name, kind)| FormulaColumn { id: *id, name, kind });
                let columns: Vec<_> = columns.collect();
                view.condition = condition::parse(value, &columns).ok().map(|formula| formula.text(&columns));
            }
            "totals" => {
                for (word, total) in value.split(',').filter_map(|one| one.split_once(':')) {
                    let fits = |kind: &ColumnKind| Total::parse(total).is_ok_and(|total| total.fits(kind));
                    if let Some((_, name, _)) = own(word).filter(|(_, _, kind)| fits(kind)) {
                        view.totals.insert((*name).to_owned(), total.to_owned());
                    }
                }
            }
            "cols" => {
                for word in value.split(',') {
                    let (word, width) =
                        word.split_once(':').map_or((word, None), |(word, width)| (word, width.parse().ok()));
                    let width = width.map(|width: u16| width.clamp(40, 900));
                    let column = name(word).filter(|name| view.columns.iter().all(|known| known.column != *name));
                    view.columns.extend(column.map(|column| ViewColumn { column, width }));
                }
            }
            _ => {
                let column = key.strip_prefix("f-").and_then(own).map(|(id, name, kind)| (id, name, kind.single()));
                match column {
                    Some((_, _, ColumnKind::Person | ColumnKind::Lookup(_))) | None => {}
                    Some((_, _, ColumnKind::Choice(choices))) if !choices.iter().any(|choice| choice == value) => {}
                    Some(_) if value.is_empty() => {}
                    Some((_, name, _)) => drop(view.filter.insert((*name).to_owned(), value.to_owned())),
                }
            }
        }
    }
    if days.iter().any(|day| !day.is_empty()) {
        view.filter.insert("modified".to_owned(), days.join(".."));
    }
    if view.sort.is_none() {
        (view.group, view.descending) = (false, false);
    }
    view
}

/// Returns the query of a view for a copy of its library or list: with the copies of its columns, which `copy` returns.
/// A condition that cannot be read is left out.
pub(crate) fn for_copy(query: &str, columns: &[FormulaColumn<'_>], copy: &dyn Fn(Id) -> Id) -> String {
    let word = |word: &str| word.parse().map_or_else(|_| word.to_owned(), |id| copy(id).to_string());
    let words = |words: &str| {
        let each = words.split(',').map(|one| match one.split_once(':') {
            Some((column, further)) => format!("{}:{further}", word(column)),
            None => word(one),
        });
        each.collect::<Vec<_>>().join(",")
    };
    let mut written = Serializer::new(String::new());
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*key {
            "sort" => written.append_pair(&key, &word(&value)),
            "cols" | "totals" => written.append_pair(&key, &words(&value)),
            "filter" => match condition::parse(&value, columns) {
                Ok(formula) => written.append_pair(&key, &formula.with_columns(copy).stored()),
                Err(_) => &mut written,
            },
            _ => match key.strip_prefix("f-") {
                Some(column) => written.append_pair(&format!("f-{}", word(column)), &value),
                None => written.append_pair(&key, &value),
            },
        };
    }
    written.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_reads_back_from_its_query() {
        let kinds = [ColumnKind::Choice(vec!["Offen & neu".into()]), ColumnKind::Date, ColumnKind::Person];
        let names = ["Status", "Due: a, b", "Who"];
        let columns: Vec<_> = (1..).zip(names).map(|(id, name)| (Id::new(id), name)).collect();
        let named: Vec<_> = columns
            .iter()
            .map(|(id, name)| NamedColumn { id: *id, name: (*name).into(), choices: Vec::new() })
            .collect();
        let known: Vec<_> = columns.iter().zip(&kinds).map(|((id, name), kind)| (*id, *name, kind)).collect();
        let shown = |column: &str, width| ViewColumn { column: column.into(), width };
        let view = ViewTemplate {
            columns: vec![shown("Due: a, b", Some(120)), shown("modified", None)],
            shape: Some("grid".into()),
            sort: Some("Status".into()),
            descending: true,
            group: true,
            filter: [("Status", "Offen & neu"), ("name", "a+b"), ("modified", "2026-01-01.."), ("type", "text/plain")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            totals: [("Due: a, b".to_owned(), "max".to_owned())].into(),
            ..ViewTemplate::default()
        };
        let query = write(&view, &named, "");
        assert_eq!(
            query,
            "as=grid&sort=1&order=descending&group=yes&f-1=Offen+%26+neu&from=2026-01-01&name=a%2Bb&kind=text%2Fplain\
             &cols=2%3A120%2Cmodified&totals=2%3Amax"
        );
        assert_eq!(read(&query, &known), view);
        // What names a person or nothing is left out.
        let odd = read(
            "sort=9&group=yes&f-3=anna&f-1=Shut&f-8=x&cols=9,2,2,9:1&totals=1:max,2:sum,9:max&who=anna&%ff",
            &known,
        );
        assert_eq!(odd, ViewTemplate { columns: vec![shown("Due: a, b", None)], ..ViewTemplate::default() });
    }

    #[test]
    fn choices_are_those_of_the_language() {
        let column =
            NamedColumn { id: Id::new(1), name: "Status".into(), choices: vec![("Open".into(), "Offen".into())] };
        let filter = [("Status".to_owned(), "Open".to_owned())].into();
        let view = ViewTemplate { filter, ..ViewTemplate::default() };
        assert_eq!(write(&view, &[column], ""), "sort=name&f-1=Offen");
    }

    #[test]
    fn a_view_follows_the_copies_of_its_columns() {
        let (date, number) = (ColumnKind::Date, ColumnKind::Number);
        let column = |id, name, kind| FormulaColumn { id: Id::new(id), name, kind };
        let columns = [column(7, "Due", &date), column(8, "Effort", &number)];
        let copy = |id: Id| if id.get() < 10 { Id::new(id.get() + 100) } else { id };
        let copied = |query: &str| for_copy(query, &columns, &copy);
        assert_eq!(
            copied("sort=7&as=grid&order=descending&f-8=7&filter=%5B%238%5D+%3E+7&cols=7:120,modified,8&totals=8:sum"),
            "sort=107&as=grid&order=descending&f-108=7&filter=%5B%23108%5D+%3E+7&cols=107%3A120%2Cmodified%2C108\
             &totals=108%3Asum"
        );
        assert_eq!(copied("sort=name&name=7"), "sort=name&name=7");
        assert_eq!(copied("sort=modified&filter=broken("), "sort=modified");
    }
}
