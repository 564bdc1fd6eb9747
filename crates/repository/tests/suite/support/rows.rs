//! Lists and rows for tests.

use model::{Code, ColumnKind, ColumnValue, Id, Name, NodeKind};
use repository::{ColumnChange, ColumnOptions, ListRequest, RowChange, RowOutcome, Session, Target, ValuesChange};

use super::at;

pub fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub fn text(text: &str) -> Option<ColumnValue> {
    Some(ColumnValue::Text(text.to_owned()))
}

pub async fn column(session: &Session, list: &Target, label: &str, kind: ColumnKind) -> Id {
    let change = ColumnChange {
        name: name(label),
        kind,
        required: false,
        content_type_id: None,
        options: ColumnOptions::default(),
    };
    session.create_column(list, change).await.unwrap()
}

/// A list with its title column.
pub async fn new_list(session: &Session) -> (Target, Id) {
    let list = session.create_list(&at(""), &name("Tasks"), &name("Task")).await.unwrap();
    assert_eq!(list.kind, NodeKind::List);
    let target = Target::Id(list.id);
    let title = session.columns(&target).await.unwrap().0[0].id;
    (target, title)
}

/// The titles of all rows in an order, fetched `limit` at a time.
pub async fn titles(session: &Session, list: &Target, request: &ListRequest, limit: usize) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = session.list_filtered(list, ListRequest { after, limit, ..request.clone() }).await.unwrap().page;
        found.extend(page.items.iter().map(|item| item.shown_name().to_owned()));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

pub async fn change(session: &Session, list: &Target, changes: Vec<RowChange>) -> Vec<RowOutcome> {
    session.change_rows(list, changes, false).await.unwrap()
}

pub fn code(outcome: &RowOutcome) -> Option<Code> {
    outcome.error.as_ref().map(model::Error::code)
}

pub fn number(number: f64) -> Option<ColumnValue> {
    Some(ColumnValue::Number(number))
}

pub async fn with_options(
    session: &Session,
    holder: &Target,
    label: &str,
    kind: ColumnKind,
    options: ColumnOptions,
) -> model::Result<Id> {
    let change = ColumnChange { name: name(label), kind, required: false, content_type_id: None, options };
    session.create_column(holder, change).await
}

pub fn formula(text: &str) -> ColumnOptions {
    ColumnOptions { formula: text.to_owned(), ..ColumnOptions::default() }
}

pub fn default(text: &str) -> ColumnOptions {
    ColumnOptions { default: text.to_owned(), ..ColumnOptions::default() }
}

pub async fn value(session: &Session, item: Id, column: Id) -> Option<ColumnValue> {
    let values = session.values(&Target::Id(item)).await.unwrap();
    values.into_iter().find(|(id, _)| *id == column).map(|(_, value)| value)
}

pub async fn set(session: &Session, item: Id, column: Id, value: Option<ColumnValue>) -> model::Result<()> {
    let change = ValuesChange { values: vec![(column, value)], ..ValuesChange::default() };
    session.set_values(&Target::Id(item), change).await
}
