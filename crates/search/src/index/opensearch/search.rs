//! Searches in an index on the search server: the best hits, how many there are, and documents by parts of their names.

use std::collections::{BTreeSet, HashMap};

use model::{Id, Result, Timestamp};
use serde_json::{Value, json};

use super::admission_filter::AdmissionFilter;
use super::answer::{Bucket, Counts, FoundHit};
use super::clauses::{MAX_CLAUSES, trim};
use super::matching::{SharedMatching, beginning_of_name, part_of_name};
use super::tokens::marked;
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
/// Limit on all these.
const MAX_FACETS: usize = (MAX_PLACES + MAX_PEOPLE + 2 * MAX_VALUES) as usize;

/// Fields that are returned with each hit.
const FIELDS: [&str; 8] = ["node", "version", "face", "modified", "size", "name_print", "name_words", "title_words"];

impl SharedView {
    /// Returns the best hits of a query among the admitted entries. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be searched.
    pub(crate) fn top(&self, request: &TopRequest<'_>, admission: &dyn Admission) -> Result<TopHits> {
        let (stems, admitted) = (Stems::default(), AdmissionFilter::of(self, admission, &request.clock));
        // The weights also tell which words may be mistakes, whatever the order.
        let counted = if request.order == HitOrder::Relevance || request.tolerance.allows_similar() {
            self.word_counts(terms(request.query, &stems), &admitted, request)?
        } else {
            Some(HashMap::new())
        };
        let (was_cut, counts) = (counted.is_none(), counted.unwrap_or_default());
        let matching = SharedMatching::new(self, &admitted, &stems, &counts, request);
        let Some((query, is_all)) = matching.query(request.query) else {
            return Ok(TopHits { whole: true, ..TopHits::default() });
        };
        let body = body(request, query, &admitted);
        let facets = if request.counts_facets { MAX_FACETS + admitted.states(|_| true).len() } else { 0 };
        let answer = self.search(body, (hits_of(request), facets), &request.clock)?;
        let mut hits: Vec<_> = answer.hits.into_iter().filter_map(|found| hit(request.order, found)).collect();
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
        let is_cut = !is_all || request.clock.is_over_now() || was_cut && request.tolerance.allows_similar();
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
        let words: Vec<(String, String)> = words.into_iter().map(|word| (marked(&word), word)).collect();
        let filter = |word: &str| json!({"filter": {"term": {"text": word}}});
        let counts: serde_json::Map<String, Value> =
            words.iter().enumerate().map(|(at, (word, _))| (at.to_string(), filter(word))).collect();
        let any = json!({"terms": {"text": words.iter().map(|(word, _)| word).collect::<Vec<_>>()}});
        let asked = json!({"size": 0, "query": {"bool": {"filter": [any, admitted.filter]}}, "aggs": counts});
        let answer = self.search(asked, (0, words.len()), &request.clock.part(TIME_SHARE))?;
        if !answer.whole {
            return Ok(None);
        }
        let count = |at: usize| answer.counts.number(&at.to_string());
        let counted = words.into_iter().enumerate().map(|(at, (_, word))| (word, count(at).min(MAX_COUNTED)));
        Ok(Some(counted.collect()))
    }

    /// Adds to the ranks of hits how close they are to a query. Changes nothing if time is up, because how many were
    /// compared depends on hidden entries.
    fn rerank(&self, matching: &SharedMatching<'_>, request: &TopRequest<'_>, hits: &mut [RankedHit]) -> Result<()> {
        let words = ranking_words(request.query);
        if words.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
        let mut tests = json!({"bool": {"should": named_tests(matching, &words)}});
        trim(&mut tests, MAX_CLAUSES);
        let asked = json!({"size": ids.len(), "_source": false, "track_total_hits": false, "query": {"bool": {
            "filter": [{"ids": {"values": ids}}], "should": [tests]}}});
        let answer = self.search(asked, (ids.len(), 0), &request.clock)?;
        if !answer.whole || request.clock.is_over_now() {
            return Ok(());
        }
        let idf: Vec<f32> = words.iter().map(|word| matching.idf(word)).collect();
        let total: f32 = idf.iter().sum();
        let pairs: f32 = idf.windows(2).map(|pair| pair.iter().sum::<f32>()).sum();
        let fitting = |kind: char, found: &FoundHit| -> BTreeSet<usize> {
            let numbers = found.matched().iter().filter_map(|name| name.strip_prefix(kind)?.parse().ok());
            numbers.filter(|at| *at < idf.len()).collect()
        };
        let bonuses = answer.hits.iter().filter_map(|found| {
            let covered = |kind: char, length: u64| {
                let found = fitting(kind, found);
                let sum: f32 = found.iter().filter_map(|at| idf.get(*at)).sum();
                coverage(sum / total, found.len() as u64, length)
            };
            let at = hits.iter().position(|hit| found.id == hit.id)?;
            let (name, title) = (covered('n', hits[at].name_words), covered('t', hits[at].title_words));
            let adjacent: f32 =
                fitting('p', found).iter().filter_map(|at| Some(idf.get(*at)? + idf.get(at + 1)?)).sum();
            Some((at, closeness_bonus(total, name, title, adjacent, pairs)))
        });
        for (at, bonus) in bonuses.collect::<Vec<_>>() {
            hits[at].hit.rank = hits[at].hit.rank.saturating_add(scaled(f64::from(bonus)));
        }
        Ok(())
    }

    fn facets(&self, counts: &Counts, admitted: &AdmissionFilter) -> Facets {
        let mut facets = Facets::default();
        for Bucket { key, count } in counts.values("extensions") {
            facets.extensions.insert(key.as_str().unwrap_or_default().to_owned(), *count);
        }
        for Bucket { key, count } in counts.values("authors") {
            facets.authors.insert(Id::new(key.as_i64().unwrap_or_default()), *count);
        }
        for Bucket { key, count } in counts.values("years") {
            facets.years.insert(key.as_i64().unwrap_or_default() as i32, *count);
        }
        let mut add = |place: (Id, Id), count: u64| {
            let known = facets.places.entry(place).or_default();
            *known = known.saturating_add(count);
        };
        for Bucket { key, count } in counts.places("unchanged") {
            let key = key.as_i64().and_then(|number| self.places().get(usize::try_from(number).ok()?));
            if let Some(key) = key {
                add((key.collection, key.place), *count);
            }
        }
        let states = admitted.states(|_| true);
        for Bucket { key, count } in counts.values("changed") {
            if let Some(place) = key.as_str().and_then(|state| states.get(state)) {
                add(*place, *count);
            }
        }
        facets
    }

    /// Returns admitted entries whose names contain all parts. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be searched.
    pub(crate) fn named(&self, request: &NameRequest<'_>, admission: &dyn Admission) -> Result<NameHits> {
        let admitted = AdmissionFilter::of(self, admission, &request.clock);
        let mut wanted: Vec<Value> = request.parts.iter().map(|part| part_of_name(part)).collect();
        wanted.push(admitted.filter.clone());
        let begins = json!({"constant_score": {"filter": beginning_of_name(request.beginning)}});
        let asked = json!({
            "size": request.limit, "_source": false, "track_total_hits": request.limit + 1, "track_scores": true,
            "query": {"bool": {"filter": wanted, "should": [begins]}},
            "sort": [{"_score": "desc"}, {"modified": "desc"}, {"node": "desc"}],
            "docvalue_fields": ["node", "modified"],
        });
        let answer = self.search(asked, (request.limit, 0), &request.clock)?;
        let hit = |found: &FoundHit| {
            let begins = found.score.is_some_and(|score| score > 0.5);
            let modified = Timestamp::from_micros(found.field("modified")?);
            Some(NameHit { begins, modified, node: Id::new(found.field("node")?) })
        };
        let hits: Vec<NameHit> = answer.hits.iter().filter_map(hit).collect();
        Ok(NameHits { more: answer.total > hits.len() as u64, hits, whole: answer.whole })
    }
}

/// A hit with what its comparison needs.
struct RankedHit {
    hit: Hit,
    id: String,
    name_words: u64,
    title_words: u64,
}

/// Returns how many hits are asked for.
fn hits_of(request: &TopRequest<'_>) -> usize {
    match request.order {
        HitOrder::Relevance if request.limit > 0 => request.limit.max(MAX_RERANKED),
        _ => request.limit,
    }
}

/// Returns what is asked of the server for a search.
fn body(request: &TopRequest<'_>, query: Value, admitted: &AdmissionFilter) -> Value {
    let kept = hits_of(request);
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

fn hit(order: HitOrder, found: FoundHit) -> Option<RankedHit> {
    let (modified, size) = (found.field("modified")?, found.field("size")?);
    let rank = match order {
        HitOrder::Relevance => scaled(found.sort().first()?.as_f64()?),
        HitOrder::Newest => modified,
        HitOrder::Oldest => modified.saturating_neg(),
        HitOrder::Largest => size,
        HitOrder::Smallest => size.saturating_neg(),
    };
    let (node, version) = (Id::new(found.field("node")?), Id::new(found.field("version")?));
    let audience = Audience::of(found.field("face")?.cast_unsigned())?;
    let print = found.field("name_print")?.cast_unsigned();
    let hit = Hit::new((node, version), Timestamp::from_micros(modified), print, rank, EntryAddress::Shared(audience));
    let words = |name: &str| found.field(name).unwrap_or_default().cast_unsigned();
    let (name_words, title_words) = (words("name_words"), words("title_words"));
    Some(RankedHit { hit, id: found.id, name_words, title_words })
}
