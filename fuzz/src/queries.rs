//! Fuzzes the query language. The input is a query.

use model::ColumnKind;
use search::query::{Expression, Filter, KnownColumns, Reference, SearchQuery, Tolerance, WordMatcher};

/// Reads a query, and looks for its words in its own text.
pub fn read(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut columns = KnownColumns::default();
    let possible = SearchQuery::possible_columns(&text);
    let kinds = [ColumnKind::Text, ColumnKind::Number, ColumnKind::Date, ColumnKind::Person];
    for (name, kind) in possible.iter().zip(kinds) {
        columns.add(name, &kind);
    }
    let now = model::Timestamp::from_micros(1_795_730_400_000_000);
    let query = SearchQuery::parse_with(&text, now, &model::Zone::UTC, &columns);
    for remark in &query.remarks {
        assert!(text.get(remark.range.clone()).is_some_and(|part| part.starts_with(&remark.text)));
    }
    let mut references: Vec<&Reference> = Vec::new();
    query.each(|part, _| {
        if let Expression::Filter(Filter::Reference(reference)) = part {
            references.push(reference);
        }
    });
    assert!(references.iter().all(|reference| text.get(reference.range.clone()).is_some()));
    SearchQuery::narrowed(&text, "type:pdf");
    for part in SearchQuery::filter_parts(&text, &columns) {
        assert!(text.get(part.range.clone()).is_some());
        assert!(SearchQuery::without(&text, &part.range).len() < text.len());
    }
    if let Some(last) = SearchQuery::last_word(&text) {
        assert_eq!(format!("{}{}{}", last.before, last.field, last.word), text);
    }
    let mut matcher = WordMatcher::of(&query, Tolerance::Similar);
    for word in search::language::words::Words::of(&text).take(100) {
        matcher.fits(&word.folded);
    }
}
