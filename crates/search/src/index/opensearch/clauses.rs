//! The number of clauses of a query. The server refuses a query with more than 1,024 as a whole.

use serde_json::{Value, json};

/// Most clauses of a query, besides those that say what the caller may find.
pub(super) const MAX_CLAUSES: usize = 960;

/// Leaves out alternatives of a query until it has at most so many clauses, from the longest lists of them first.
/// Returns false if it left out any: the query then finds less, never more.
pub(super) fn trim(query: &mut Value, limit: usize) -> bool {
    if clauses(query) <= limit {
        return true;
    }
    while clauses(query) > limit {
        let longest = longest(query);
        if longest < 2 || !shorten(query, longest, true) {
            *query = json!({"match_none": {}});
            break;
        }
    }
    false
}

/// Returns the number of clauses of a query.
pub(super) fn clauses(query: &Value) -> usize {
    let (mut is_leaf, mut count) = (true, 0);
    for list in [&query["dis_max"]["queries"], &query["bool"]["must"], &query["bool"]["filter"]] {
        count += each(list, &mut is_leaf).map(clauses).sum::<usize>();
    }
    for list in [&query["bool"]["should"], &query["bool"]["must_not"]] {
        count += each(list, &mut is_leaf).map(clauses).sum::<usize>();
    }
    if is_leaf { 1 } else { count }
}

/// Iterates over the queries of a list.
fn each<'a>(list: &'a Value, is_leaf: &mut bool) -> impl Iterator<Item = &'a Value> {
    *is_leaf &= !list.is_array();
    list.as_array().into_iter().flatten()
}

/// Returns the alternatives of which a query needs one; none if it needs several of them.
fn alternatives(query: &Value) -> Option<&Vec<Value>> {
    let needed = &query["bool"]["minimum_should_match"];
    let is_choice = needed.is_null() || *needed == 1;
    let list = query["bool"]["should"].as_array().filter(|_| is_choice);
    query["dis_max"]["queries"].as_array().or(list)
}

/// Returns the length of the longest list of alternatives.
fn longest(query: &Value) -> usize {
    let mut is_leaf = true;
    let own = alternatives(query).map_or(0, Vec::len);
    let lists = [&query["dis_max"]["queries"], &query["bool"]["must"], &query["bool"]["filter"]];
    let lists = lists.into_iter().chain([&query["bool"]["should"], &query["bool"]["must_not"]]);
    let below: Vec<&Value> = lists.flat_map(|list| each(list, &mut is_leaf).collect::<Vec<_>>()).collect();
    below.into_iter().map(longest).fold(own, usize::max)
}

/// Leaves out half of the alternatives in the first list of this length. Unwanted alternatives become unwanted
/// altogether. Returns false if there is no such list.
fn shorten(query: &mut Value, length: usize, is_wanted: bool) -> bool {
    if alternatives(query).is_some_and(|list| list.len() == length) {
        if !is_wanted {
            *query = json!({"match_all": {}});
            return true;
        }
        let place = if query["dis_max"].is_null() { "/bool/should" } else { "/dis_max/queries" };
        if let Some(list) = query.pointer_mut(place).and_then(Value::as_array_mut) {
            list.truncate(length / 2);
            return true;
        }
    }
    let places = ["/dis_max/queries", "/bool/must", "/bool/filter", "/bool/should", "/bool/must_not"];
    places.into_iter().any(|place| {
        let list = query.pointer_mut(place).and_then(Value::as_array_mut);
        let is_here = is_wanted != (place == "/bool/must_not");
        list.into_iter().flatten().any(|query| shorten(query, length, is_here))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(count: usize) -> Vec<Value> {
        (0..count).map(|number| json!({"term": {"text": number.to_string()}})).collect()
    }

    #[test]
    fn long_lists_of_alternatives_are_cut() {
        let any = |count| json!({"bool": {"should": terms(count), "minimum_should_match": 1}});
        let mut short = json!({"bool": {"must": [any(100), {"dis_max": {"queries": terms(100)}}]}});
        let before = short.clone();
        assert!(trim(&mut short, 200) && short == before);
        let mut long = json!({"bool": {"must": [any(3_000), any(20)], "must_not": [{"term": {"a": 1}}]}});
        assert!(!trim(&mut long, 1_000));
        assert_eq!((clauses(&long), long["bool"]["must"][1] == any(20)), (750 + 20 + 1, true));
    }

    #[test]
    fn a_shorter_query_never_finds_more() {
        let any = |count| json!({"bool": {"should": terms(count), "minimum_should_match": 1}});
        let mut unwanted = json!({"bool": {"must": [{"match_all": {}}], "must_not": [any(3_000)]}});
        assert!(!trim(&mut unwanted, 1_000));
        assert_eq!(unwanted["bool"]["must_not"], json!([{"match_all": {}}]));
        let twice = json!({"bool": {"must": [{"match_all": {}}], "must_not": [any(3_000)]}});
        let mut twice = json!({"bool": {"must": [{"match_all": {}}], "must_not": [twice]}});
        assert!(!trim(&mut twice, 1_000));
        assert_eq!(clauses(&twice["bool"]["must_not"][0]["bool"]["must_not"][0]), 750);
        let mut all = json!({"bool": {"must": terms(3_000)}});
        assert!(!trim(&mut all, 1_000));
        assert_eq!(all, json!({"match_none": {}}));
        let mut most = json!({"bool": {"should": terms(3_000), "minimum_should_match": 2_000}});
        assert!(!trim(&mut most, 1_000));
        assert_eq!(most, json!({"match_none": {}}));
    }
}
