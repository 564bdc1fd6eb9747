//! Searches in an index on the search server: the best hits, how many there are, and documents by parts of their names.

use std::collections::{BTreeSet, HashMap};

use model::{Id, Result, Timestamp};
use serde_json::{Value, json};

use super::admission_filter::AdmissionFilter;
use super::answer::{buckets, field};
use super::matching::{SharedMatching, any_of, beginning_of_name, part_of_name};
use super::view::SharedView;
use crate::index::admission::Admission;
use crate::index::entry::Audience;
use crate::index::facets::Facets;
use crate::index::names::{NameHit, NameHits, NameRequest};
use crate::index::ranking::{
    HALF_LIFE, MAX_COUNTED, MAX_RERANKED, RECENCY, TIME_SHARE, closeness_bonus, coverage, ranking_words, scaled, terms,
};
use crate::index::top::{EntryAddress, Hit, HitOrder, TopHits, TopRequest};
use crate::language::stems::Stems;
use crate::query::QueryWord;

/// Limits on the values of which hits are counted.
const MAX_PLACES: u32 = 40_000;
const MAX_PEOPLE: u32 = 10_000;
const MAX_VALUES: u32 = 2_000;

/// Fields that are returned with each hit.
const FIELDS: [&str; 8] = ["node", "version", "face", "modified", "size", "name_print", "name_words", "title_words"];

impl SharedView {
    /// Returns the best hits of a query among the admitted entries. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be searched.
    pub(crate) fn top(&self, request: &TopRequest<'_>, admission: &dyn Admission) -> Result<TopHits> {
        let (stems, admitted) = (Stems::default(), AdmissionFilter::of(self, admission));
        // The weights also tell which words may be mistakes, whatever the order.
        let counted = if request.order == HitOrder::Relevance || request.tolerance.allows_similar() {
            self.word_counts(terms(request.query, &stems), &admitted, request)?
        } else {
            Some(HashMap::new())
        };
        let (was_cut, counts) = (counted.is_none(), counted.unwrap_or_default());
        let matching = SharedMatching::new(self, &admitted, &stems, &counts, request.query, request.tolerance);
        let Some(query) = matching.query(request.query) else {
            return Ok(TopHits { whole: true, ..TopHits::default() });
        };
        let answer = self.search(body(request, query, &admitted), &request.clock)?;
        let mut hits: Vec<_> = answer.hits.iter().filter_map(|found| hit(request.order, found)).collect();
        if request.order == HitOrder::Relevance && !hits.is_empty() {
            // No bonus is negative, so what comes later stays behind.
            let reranked = hits.len().min(MAX_RERANKED);
            self.rerank(&matching, request, &mut hits[..reranked])?;
        }
        let mut hits: Vec<Hit> = hits.into_iter().map(|found| found.hit).collect();
        hits.sort_unstable();
        hits.truncate(request.limit);
        let facets = if request.counts_facets { self.facets(&answer.counts, &admitted) } else { Facets::default() };
        // Without counts, all words may be mistakes.
        let is_cut = request.clock.is_over_now() || was_cut && request.tolerance.allows_similar();
        Ok(TopHits { hits, total: answer.total, facets, whole: answer.whole && !is_cut })
    }

    /// Counts the admitted entries that contain each word; `None` if that takes too long, because it depends on hidden
    /// entries how far the count got.
    fn word_counts(
        &self,
        words: BTreeSet<String>,
        admitted: &AdmissionFilter,
        request: &TopRequest<'_>,
    ) -> Result<Option<HashMap<String, u64>>> {
        if words.is_empty() {
            return Ok(Some(HashMap::new()));
        }
        let words: Vec<String> = words.into_iter().collect();
        let term = |word: &String| json!({"term": {"text": super::tokens::marked(word)}});
        let counts: serde_json::Map<String, Value> =
            words.iter().enumerate().map(|(at, word)| (at.to_string(), json!({"filter": term(word)}))).collect();
        let any = any_of(words.iter().map(term).collect());
        let asked = json!({"size": 0, "query": {"bool": {"filter": [any, admitted.filter]}}, "aggs": counts});
        let answer = self.search(asked, &request.clock.part(TIME_SHARE))?;
        if !answer.whole {
            return Ok(None);
        }
        let count = |at: usize| answer.counts[at.to_string()]["doc_count"].as_u64().unwrap_or_default();
        let counted = words.into_iter().enumerate().map(|(at, word)| (word, count(at).min(MAX_COUNTED)));
        Ok(Some(counted.collect()))
    }

    /// Adds to the ranks of hits how close they are to a query. Changes nothing if time is up, because how many were
    /// compared depends on hidden entries.
    fn rerank(&self, matching: &SharedMatching<'_>, request: &TopRequest<'_>, hits: &mut [FoundHit]) -> Result<()> {
        let words = ranking_words(request.query);
        if words.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
        let asked = json!({"size": ids.len(), "_source": false, "track_total_hits": false, "query": {"bool": {
            "filter": [{"ids": {"values": ids}}], "should": named_tests(matching, &words)}}});
        let answer = self.search(asked, &request.clock)?;
        if !answer.whole || request.clock.is_over_now() {
            return Ok(());
        }
        let idf: Vec<f32> = words.iter().map(|word| matching.idf(word)).collect();
        let total: f32 = idf.iter().sum();
        let pairs: f32 = idf.windows(2).map(|pair| pair.iter().sum::<f32>()).sum();
        let fitting = |kind: char, found: &Value| -> Vec<usize> {
            let names = found["matched_queries"].as_array().map(Vec::as_slice).unwrap_or_default();
            names.iter().filter_map(|name| name.as_str()?.strip_prefix(kind)?.parse().ok()).collect()
        };
        let bonuses = answer.hits.iter().filter_map(|found| {
            let covered = |kind: char, length: u64| {
                let found = fitting(kind, found);
                let sum: f32 = found.iter().filter_map(|at| idf.get(*at)).sum();
                coverage(sum / total, found.len() as u64, length)
            };
            let at = hits.iter().position(|hit| found["_id"] == hit.id.as_str())?;
            let (name, title) = (covered('n', hits[at].name_words), covered('t', hits[at].title_words));
            let adjacent: f32 =
                fitting('p', found).iter().filter_map(|at| Some(idf.get(*at)? + idf.get(at + 1)?)).sum();
            Some((at, closeness_bonus(total, name, title, adjacent, pairs)))
        });
        for (at, bonus) in bonuses.collect::<Vec<_>>() {
            hits[at].hit.rank += scaled(f64::from(bonus));
        }
        Ok(())
    }

    fn facets(&self, counts: &Value, admitted: &AdmissionFilter) -> Facets {
        let mut facets = Facets::default();
        for (extension, count) in buckets(&counts["extensions"]) {
            facets.extensions.insert(extension.as_str().unwrap_or_default().to_owned(), count);
        }
        for (author, count) in buckets(&counts["authors"]) {
            facets.authors.insert(Id::new(author.as_i64().unwrap_or_default()), count);
        }
        for (year, count) in buckets(&counts["years"]) {
            facets.years.insert(year.as_i64().unwrap_or_default() as i32, count);
        }
        for (number, count) in buckets(&counts["unchanged"]["spots"]) {
            let key = number.as_u64().and_then(|number| self.places().get(number as usize));
            if let Some(key) = key {
                *facets.places.entry((key.collection, key.place)).or_default() += count;
            }
        }
        let states = admitted.states(|_| true);
        for (state, count) in buckets(&counts["changed"]) {
            if let Some(place) = state.as_str().and_then(|state| states.get(state)) {
                *facets.places.entry(*place).or_default() += count;
            }
        }
        facets
    }

    /// Returns admitted entries whose names contain all parts. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be searched.
    pub(crate) fn named(&self, request: &NameRequest<'_>, admission: &dyn Admission) -> Result<NameHits> {
        let admitted = AdmissionFilter::of(self, admission);
        let mut wanted: Vec<Value> = request.parts.iter().map(|part| part_of_name(part)).collect();
        wanted.push(admitted.filter.clone());
        let begins = json!({"constant_score": {"filter": beginning_of_name(request.beginning)}});
        let asked = json!({
            "size": request.limit, "_source": false, "track_total_hits": request.limit + 1, "track_scores": true,
            "query": {"bool": {"filter": wanted, "should": [begins]}},
            "sort": [{"_score": "desc"}, {"modified": "desc"}, {"node": "desc"}],
            "docvalue_fields": ["node", "modified"],
        });
        let answer = self.search(asked, &request.clock)?;
        let hit = |found: &Value| {
            let begins = found["_score"].as_f64().is_some_and(|score| score > 0.5);
            let modified = Timestamp::from_micros(field(found, "modified")?);
            Some(NameHit { begins, modified, node: Id::new(field(found, "node")?) })
        };
        let hits: Vec<NameHit> = answer.hits.iter().filter_map(hit).collect();
        Ok(NameHits { more: answer.total > hits.len() as u64, hits, whole: answer.whole })
    }
}

/// A hit with what its comparison needs.
struct FoundHit {
    hit: Hit,
    id: String,
    name_words: u64,
    title_words: u64,
}

/// Returns what is asked of the server for a search.
fn body(request: &TopRequest<'_>, query: Value, admitted: &AdmissionFilter) -> Value {
    let kept = match request.order {
        HitOrder::Relevance if request.limit > 0 => request.limit.max(MAX_RERANKED),
        _ => request.limit,
    };
    let first = match request.order {
        HitOrder::Relevance => json!({"_score": "desc"}),
        HitOrder::Newest => json!({"modified": "desc"}),
        HitOrder::Oldest => json!({"modified": "asc"}),
        HitOrder::Largest => json!({"size": "desc"}),
        HitOrder::Smallest => json!({"size": "asc"}),
    };
    let query = if request.order == HitOrder::Relevance {
        // What changed in the future counts as changed now.
        let age = json!({"origin": request.now.micros(), "scale": HALF_LIFE * 1e6, "decay": 0.5});
        json!({"function_score": {"query": query, "functions": [{"weight": RECENCY, "exp": {"modified": age}}],
            "score_mode": "sum", "boost_mode": "sum"}})
    } else {
        json!({"bool": {"filter": [query]}})
    };
    let mut body = json!({
        "size": kept, "_source": false, "track_total_hits": true, "query": query, "docvalue_fields": FIELDS,
        "sort": [first, {"modified": "desc"}, {"node": "desc"}, {"version": "desc"}],
    });
    if request.counts_facets {
        let values = |field: &str, size: u32| json!({"terms": {"field": field, "size": size}});
        body["aggs"] = json!({
            "extensions": {"terms": {"field": "extension", "size": MAX_VALUES, "missing": ""}},
            "authors": values("author", MAX_PEOPLE),
            "years": values("year", MAX_VALUES),
            "unchanged": {"filter": {"bool": {"must_not": admitted.is_changed()}},
                "aggs": {"spots": values("spot", MAX_PLACES)}},
        });
        let states = admitted.states(|_| true);
        if !states.is_empty() {
            let states: Vec<&String> = states.keys().collect();
            body["aggs"]["changed"] = json!({"terms": {"field": "state", "size": states.len(), "include": states}});
        }
    }
    body
}

/// Returns the tests that tell how close an entry is to a query, each with its name.
fn named_tests(matching: &SharedMatching<'_>, words: &[&QueryWord]) -> Vec<Value> {
    let named = |name: String, queries: Vec<Value>| json!({"dis_max": {"queries": queries, "_name": name}});
    let mut tests = Vec::new();
    for (at, word) in words.iter().enumerate() {
        tests.push(named(format!("n{at}"), matching.word(word, "name")));
        tests.push(named(format!("t{at}"), matching.word(word, "title")));
        if let Some(next) = words.get(at + 1) {
            tests.push(named(format!("p{at}"), matching.pair(word, next)));
        }
    }
    tests
}

fn hit(order: HitOrder, found: &Value) -> Option<FoundHit> {
    let (modified, size) = (field(found, "modified")?, field(found, "size")?);
    let rank = match order {
        HitOrder::Relevance => scaled(found["sort"][0].as_f64()?),
        HitOrder::Newest => modified,
        HitOrder::Oldest => modified.saturating_neg(),
        HitOrder::Largest => size,
        HitOrder::Smallest => -size,
    };
    let (node, version) = (Id::new(field(found, "node")?), Id::new(field(found, "version")?));
    let audience = Audience::of(field(found, "face")?.cast_unsigned())?;
    let print = field(found, "name_print")?.cast_unsigned();
    let hit = Hit::new((node, version), Timestamp::from_micros(modified), print, rank, EntryAddress::Shared(audience));
    let words = |name: &str| field(found, name).unwrap_or_default().cast_unsigned();
    let (name_words, title_words) = (words("name_words"), words("title_words"));
    Some(FoundHit { hit, id: found["_id"].as_str()?.to_owned(), name_words, title_words })
}
