//! The form for order, filter and columns of a listing, and saved views.

use axum::extract::{Path, RawQuery};
use axum::response::{IntoResponse, Redirect};
use model::{ColumnKind, Id, Name, Result, Total};
use repository::{Column, Item, NewView, SavedView, Target, named_condition, stored_condition};

use super::heads::label;
use super::value_test::in_language;
use super::view::{Key, Shape, View};
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, ColumnPick, Field, Form, Input};
use crate::frame::format::{self, icon};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, item, refuse};
use crate::wording::{entries, people};

/// Shows the form for order, filter and columns.
pub async fn ask(visit: Visit, Path(id): Path<String>, RawQuery(query): RawQuery) -> PageResult {
    let place = item::find(&visit, &id).await?;
    let view = View::parse(&query.unwrap_or_default());
    let (columns, _) = visit.session.columns(&Target::Id(place.id)).await?;
    let types = visit.session.media_types(&Target::Id(place.id)).await?;
    let suggestions = people::suggestions(&visit.session).await?;
    let page = &visit.page;
    let mut fields = order_fields(page, &view, &columns);
    fields.push(Field::line("name", page.s("filter.name"), &view.name));
    fields.push(Field::of("kind", page.s("column.type"), Input::Select(kinds(page, &view, types))));
    let mut who = Field::of("who", page.s("filter.who"), Input::Person(suggestions.clone()));
    who.value.clone_from(&view.who);
    fields.push(who);
    for (name, label, day) in
        [("from", page.s("filter.from"), &view.days[0]), ("to", page.s("filter.to"), &view.days[1])]
    {
        let mut field = Field::of(name, label, Input::Line("date"));
        field.value.clone_from(day);
        fields.push(field);
    }
    for column in &columns {
        let suggested = match column.kind.single() {
            ColumnKind::Lookup(list) => Input::Suggest(entries::suggestions(&visit.session, *list).await?),
            _ => Input::Person(suggestions.clone()),
        };
        fields.push(value_field(page, &view, column, suggested));
    }
    let condition = named_condition(&view.condition, &columns);
    fields.push(Field::line("filter", page.s("filter.condition"), &condition).hint(page.s("filter.condition-hint")));
    fields.extend(columns.iter().filter_map(|column| total_field(page, &view, column)));
    let picks = Input::Columns(picks(page, &view, &columns));
    fields.push(Field::of("", page.s("view.columns"), picks).hint(page.s("view.columns-hint")));
    fields.push(Field::hidden("view", &view.saved));
    fields.push(Field::hidden("as", view.shape.map(Shape::word).unwrap_or_default()));
    let form = Form {
        page,
        title: page.s("view.change").into(),
        icon: icon("sliders"),
        action: format!("/items/{}/view", place.id),
        fields,
        submit: page.s("view.apply").into(),
        danger: false,
        back: format!("{}?{}", address::browse(&place.path), view.query()),
        fault: String::new(),
    };
    Ok(html(&form))
}

fn order_fields(page: &Page, view: &View, columns: &[Column]) -> Vec<Field> {
    let present = view.sort_word();
    let common = Key::COMMON.iter().filter(|(key, _)| key.sort().is_some());
    let common = common.map(|(key, word)| Choice::new(*word, label(page, *key), present == *word));
    let own = columns.iter().map(|column| {
        let word = column.id.to_string();
        let chosen = present == word;
        Choice::new(word, &column.name, chosen)
    });
    let by_name = Choice::new("name", page.s("column.name"), present == "name");
    let choices = std::iter::once(by_name).chain(common).chain(own).collect();
    let orders = [
        Choice::new("ascending", page.s("view.ascending"), !view.descending),
        Choice::new("descending", page.s("view.descending"), view.descending),
    ];
    let has_several = columns.iter().any(|column| column.kind.takes_multiple());
    let group_hint = if has_several { page.s("view.group-hint") } else { "" };
    vec![
        Field::of("sort", page.s("view.sort"), Input::Select(choices)),
        Field::of("order", page.s("view.order"), Input::Select(orders.into())),
        Field::of("group", page.s("view.group"), Input::Tick(view.grouped)).hint(group_hint),
    ]
}

/// Returns the media types of a listing as choices of its filter.
pub fn kinds(page: &Page, view: &View, mut types: Vec<String>) -> Vec<Choice> {
    if !view.kind.is_empty() && !types.contains(&view.kind) {
        types.push(view.kind.clone());
    }
    let words_of = |kind: &str| format::media(page.language, kind, "");
    let words: Vec<_> = types.iter().map(|kind| words_of(kind)).collect();
    let mut choices: Vec<Choice> = types
        .iter()
        .map(|kind| {
            let own = words_of(kind);
            // Types that have one name are told apart, such as Image (PNG).
            let label = match words.iter().filter(|other| **other == own).count() {
                0 | 1 => own.into_owned(),
                _ => format!("{own} ({})", format::media_ending(kind)),
            };
            Choice::new(kind, label, *kind == view.kind)
        })
        .collect();
    choices.sort_by(|a, b| a.label.cmp(&b.label));
    choices.insert(0, Choice::new("", page.s("filter.any"), view.kind.is_empty()));
    choices
}

/// Returns the field for a filter on a column of the library.
pub fn value_field(page: &Page, view: &View, column: &Column, suggested: Input) -> Field {
    let value = view.values.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value.clone()).unwrap_or_default();
    let any = |value: &str| Choice::new("", page.s("filter.any"), value.is_empty());
    let label = column.name.as_str();
    let mut field = match column.kind.single() {
        ColumnKind::Choice(choices) => {
            let all = choices.iter().map(|choice| Choice::new(choice, choice, *choice == value));
            Field::of("", label, Input::Select(std::iter::once(any(&value)).chain(all).collect()))
        }
        ColumnKind::YesNo => {
            let all = [("yes", page.s("word.yes")), ("no", page.s("word.no"))];
            let all = all.map(|(word, label)| Choice::new(word, label, word == value));
            Field::of("", label, Input::Select(std::iter::once(any(&value)).chain(all).collect()))
        }
        ColumnKind::Person | ColumnKind::Lookup(_) => Field::of("", label, suggested),
        ColumnKind::Number => Field::of("", label, Input::Line("text")).hint(page.s("filter.numbers")),
        ColumnKind::Date => Field::of("", label, Input::Line("text")).hint(page.s("filter.dates")),
        ColumnKind::Text | ColumnKind::Note | ColumnKind::Link | ColumnKind::Multiple(_) => {
            Field::of("", label, Input::Line("text"))
        }
    };
    field.name = format!("f-{}", column.id).into();
    field.value = match (column.kind.single(), view.language) {
        (ColumnKind::Number, Some(language)) => in_language(&value, language, page.language),
        _ => value,
    };
    field
}

/// Returns the field for the total of a number or date column.
fn total_field(page: &Page, view: &View, column: &Column) -> Option<Field> {
    if !Total::Max.fits(&column.kind) {
        return None;
    }
    let chosen = view.totals.iter().find(|(id, _)| *id == column.id).map(|(_, total)| *total);
    let none = Choice::new("", "–", chosen.is_none());
    let some = Total::ALL.into_iter().filter(|total| total.fits(&column.kind));
    let some = some.map(|total| Choice::new(total.as_str(), super::totals::label(page, total), chosen == Some(total)));
    let choices = std::iter::once(none).chain(some).collect();
    let mut field = Field::of("", page.f1("total.of", &column.name), Input::Select(choices));
    field.name = format!("total-{}", column.id).into();
    Some(field)
}

fn picks(page: &Page, view: &View, columns: &[Column]) -> Vec<ColumnPick> {
    let shown = view.shown(columns);
    let own = columns.iter().map(|column| (Key::Own(column.id), column.name.clone()));
    let common = Key::COMMON.iter().map(|(key, _)| (*key, label(page, *key).to_owned()));
    let mut picks: Vec<(usize, ColumnPick)> = own
        .chain(common)
        .map(|(key, label)| {
            let position = shown.iter().position(|wide| wide.key == key);
            let width = position.and_then(|position| shown[position].width);
            let pick = ColumnPick {
                word: key.word(),
                label,
                shown: position.is_some(),
                position: position.map(|position| (position + 1).to_string()).unwrap_or_default(),
                width: width.map(|width| width.to_string()).unwrap_or_default(),
            };
            (position.unwrap_or(usize::MAX), pick)
        })
        .collect();
    picks.sort_by_key(|(position, _)| *position);
    picks.into_iter().map(|(_, pick)| pick).collect()
}

/// Redirects from the form to the listing.
pub async fn apply(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let place = item::find(&sent.visit, &id).await?;
    let mut view = read(&sent.fields);
    if !view.condition.is_empty() {
        let (columns, _) = sent.visit.session.columns(&Target::Id(place.id)).await?;
        // The listing says what is wrong with a condition that cannot be used.
        view.condition = stored_condition(&view.condition, &columns).unwrap_or(view.condition);
    }
    Ok(Redirect::to(&format!("{}?{}", address::browse(&place.path), view.query())).into_response())
}

fn read(fields: &Fields) -> View {
    let mut view = View::default();
    for (key, value) in fields.pairs() {
        if key != "cols" {
            view.set(key, value.trim());
        }
    }
    let mut columns: Vec<(u32, String)> = fields
        .all("column")
        .map(|word| {
            let position = fields.trimmed(&format!("position-{word}")).parse().unwrap_or(u32::MAX);
            let width: Option<u16> = fields.trimmed(&format!("width-{word}")).parse().ok();
            (position, width.map_or_else(|| word.to_owned(), |width| format!("{word}:{width}")))
        })
        .collect();
    columns.sort_by_key(|(position, _)| *position);
    let words: Vec<String> = columns.into_iter().map(|(_, word)| word).collect();
    view.set("cols", &words.join(","));
    let totals = fields.pairs().filter_map(|(key, value)| Some((key.strip_prefix("total-")?, value)));
    let totals = totals.filter(|(_, total)| !total.is_empty()).map(|(id, total)| format!("{id}:{total}"));
    view.set("totals", &totals.collect::<Vec<_>>().join(","));
    view
}

/// Context for saving a view.
struct Saving {
    place: Item,
    /// True if the caller may save views for all users.
    for_all: bool,
}

impl Saving {
    async fn of(visit: &Visit, id: &str) -> Result<Self> {
        let place = item::find(visit, id).await?;
        let for_all = visit.session.manages_library(&Target::Id(place.id)).await?;
        Ok(Self { place, for_all })
    }
}

/// Returns the form. It begins with name and settings of the saved view that is shown.
fn save_form<'a>(
    page: &'a Page,
    saving: &Saving,
    view: &View,
    typed: Option<&Fields>,
    saved: Option<&SavedView>,
) -> Form<'a> {
    let place = &saving.place;
    let ticked = |name: &str, first: bool| typed.map_or(first, |fields| fields.yes(name));
    let name = saved.map_or("", |saved| saved.name.as_str());
    let name = typed.map_or_else(|| name.to_owned(), |fields| fields.text("name"));
    let mut fields = vec![Field::line("name", page.s("column.name"), name).required().hint(page.s("view.name-hint"))];
    if saving.for_all {
        fields.push(Field::of(
            "shared",
            page.s("view.shared"),
            Input::Tick(ticked("shared", saved.is_some_and(|saved| saved.shared))),
        ));
    }
    let is_standard = ticked("standard", saved.is_some_and(|saved| saved.standard));
    fields.push(Field::of("standard", page.s("view.standard"), Input::Tick(is_standard)));
    fields.push(Field::hidden("query", View { saved: String::new(), ..view.clone() }.query()));
    Form {
        page,
        title: page.s("view.save").into(),
        icon: icon("columns"),
        action: format!("/items/{}/views", place.id),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: format!("{}?{}", address::browse(&place.path), view.query()),
        fault: String::new(),
    }
}

/// Shows the form for saving the current view.
pub async fn ask_save(visit: Visit, Path(id): Path<String>, RawQuery(query): RawQuery) -> PageResult {
    let saving = Saving::of(&visit, &id).await?;
    let view = View::parse(&query.unwrap_or_default());
    let views = visit.session.views(&Target::Id(saving.place.id)).await?;
    let saved = views.iter().find(|saved| saved.id.to_string() == view.saved);
    Ok(html(&save_form(&visit.page, &saving, &view, None, saved)))
}

/// Saves a view.
pub async fn save(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let saving = Saving::of(&visit, &id).await?;
    let target = Target::Id(saving.place.id);
    let view = View { saved: String::new(), after: String::new(), ..View::parse(&fields.text("query")) };
    let shared = fields.yes("shared");
    let saved: Result<(Name, Id)> = match Name::new(fields.trimmed("name")) {
        Ok(name) => {
            let new = NewView { name: name.clone(), query: view.query(), shared, standard: fields.yes("standard") };
            visit.session.save_view(&target, new).await.map(|id| (name, id))
        }
        Err(error) => Err(error),
    };
    match saved {
        Ok((name, id)) => {
            let next = format!("{}?view={id}", address::browse(&saving.place.path));
            Ok(done(&next, &Flash::new("toast.saved", name.as_str())))
        }
        Err(error) => refuse::show_form_again(save_form(&visit.page, &saving, &view, Some(&fields), None), error),
    }
}

/// Deletes a view.
pub async fn delete(Path((id, view)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    let place = item::find(&sent.visit, &id).await?;
    sent.visit.session.delete_view(&Target::Id(place.id), view.parse()?).await?;
    let next = format!("{}?view=none", address::browse(&place.path));
    Ok(done(&next, &Flash::new("toast.removed", "")))
}
