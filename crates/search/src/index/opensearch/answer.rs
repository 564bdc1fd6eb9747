//! Answers of the search server, read only as far as they are needed, so that they take memory in proportion to what
//! was asked for.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;

use model::{Error, Result};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Most hits of an answer; the server returns no more.
pub(super) const MAX_HITS: usize = 10_000;
/// Most values of which hits are counted.
pub(super) const MAX_BUCKETS: usize = 40_000;
/// Most counts of an answer, one for each word of a query or form of one.
const MAX_COUNTS: usize = 1_024;
/// Most fields, sort values, and names of queries of a hit.
const MAX_PARTS: usize = 256;

/// A list that is refused if it is longer than the limit.
#[derive(Clone, Debug)]
pub(super) struct Bounded<T, const LIMIT: usize>(pub(super) Vec<T>);

impl<T, const LIMIT: usize> Default for Bounded<T, LIMIT> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const LIMIT: usize> Deserialize<'de> for Bounded<T, LIMIT> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> std::result::Result<Self, D::Error> {
        struct Each<T, const LIMIT: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const LIMIT: usize> Visitor<'de> for Each<T, LIMIT> {
            type Value = Bounded<T, LIMIT>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    if list.len() == LIMIT {
                        return Err(A::Error::custom("the list is too long"));
                    }
                    list.push(item);
                }
                Ok(Bounded(list))
            }
        }
        source.deserialize_seq(Each(PhantomData))
    }
}

/// Numbers of a hit by the names of their fields.
#[derive(Clone, Debug, Default)]
struct Numbers(Vec<(String, i64)>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(source: D) -> std::result::Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Numbers;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("fields")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> std::result::Result<Numbers, A::Error> {
                let mut numbers = Vec::new();
                while let Some((name, values)) = fields.next_entry::<String, Bounded<i64, MAX_PARTS>>()? {
                    if numbers.len() == MAX_PARTS {
                        return Err(A::Error::custom("there are too many fields"));
                    }
                    numbers.extend(values.0.first().map(|number| (name, *number)));
                }
                Ok(Numbers(numbers))
            }
        }
        source.deserialize_map(Each)
    }
}

/// A number or a text.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Whole(i64),
    Number(f64),
    Text(String),
    Missing(()),
}

impl Scalar {
    pub(super) fn as_i64(&self) -> Option<i64> {
        if let Self::Whole(number) = self { Some(*number) } else { None }
    }

    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// A hit.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct FoundHit {
    #[serde(default, rename = "_id")]
    pub(super) id: String,
    #[serde(default, rename = "_score")]
    pub(super) score: Option<f64>,
    #[serde(default)]
    sort: Bounded<Scalar, MAX_PARTS>,
    #[serde(default)]
    fields: Numbers,
    #[serde(default, rename = "_source")]
    pub(super) source: Stored,
    #[serde(default)]
    matched_queries: Bounded<String, MAX_PARTS>,
}

impl FoundHit {
    /// Returns the number in a field.
    pub(super) fn field(&self, name: &str) -> Option<i64> {
        self.fields.0.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    /// The values by which it was ordered.
    pub(super) fn sort(&self) -> &[Scalar] {
        &self.sort.0
    }

    /// Names of the queries that it fits.
    pub(super) fn matched(&self) -> &[String] {
        &self.matched_queries.0
    }
}

/// The stored fields of an entry.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Stored {
    pub(super) version: Option<i64>,
    pub(super) body: Option<String>,
    pub(super) fault: Option<String>,
    pub(super) reason: Option<String>,
}

/// A value with its number of hits.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Bucket {
    pub(super) key: Scalar,
    #[serde(rename = "doc_count")]
    pub(super) count: u64,
}

/// Hits that were counted.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Count {
    #[serde(default, rename = "doc_count")]
    pub(super) count: u64,
    #[serde(default)]
    pub(super) buckets: Bounded<Bucket, MAX_BUCKETS>,
    /// Counts of places among those that are counted here.
    #[serde(default)]
    pub(super) spots: Buckets,
}

/// Values with their numbers of hits.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Buckets {
    #[serde(default)]
    pub(super) buckets: Bounded<Bucket, MAX_BUCKETS>,
}

/// Counts by the names under which they were asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts(HashMap<String, Count>);

impl Counts {
    /// Returns the values that were counted under a name.
    pub(super) fn values(&self, name: &str) -> &[Bucket] {
        self.0.get(name).map(|count| count.buckets.0.as_slice()).unwrap_or_default()
    }

    /// Returns the places that were counted under a name.
    pub(super) fn places(&self, name: &str) -> &[Bucket] {
        self.0.get(name).map(|count| count.spots.buckets.0.as_slice()).unwrap_or_default()
    }

    /// Returns the number of hits under a name.
    pub(super) fn number(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |count| count.count)
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(source: D) -> std::result::Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Counts;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("counts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<Counts, A::Error> {
                let (mut counts, mut buckets) = (HashMap::new(), 0);
                while let Some((name, count)) = members.next_entry::<String, Count>()? {
                    buckets += count.buckets.0.len() + count.spots.buckets.0.len();
                    if counts.len() == MAX_COUNTS || buckets > 2 * MAX_BUCKETS {
                        return Err(A::Error::custom("there are too many counts"));
                    }
                    counts.insert(name, count);
                }
                Ok(Counts(counts))
            }
        }
        source.deserialize_map(Each)
    }
}

/// How many parts of an index have taken part.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Shards {
    pub(super) failed: u64,
    #[serde(default)]
    pub(super) successful: u64,
}

/// An answer to a search, as the server sends it.
#[derive(Debug, Deserialize)]
pub(super) struct SearchAnswer {
    #[serde(default = "yes")]
    timed_out: bool,
    #[serde(rename = "_shards")]
    shards: Shards,
    hits: HitList,
    #[serde(default, rename = "aggregations")]
    counts: Counts,
}

const fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
struct HitList {
    hits: Bounded<FoundHit, MAX_HITS>,
    #[serde(default)]
    total: Total,
}

#[derive(Debug, Default, Deserialize)]
struct Total {
    value: u64,
}

/// Answer to a search.
#[derive(Default)]
pub(super) struct Answered {
    /// The hits, in their order.
    pub(super) hits: Vec<FoundHit>,
    /// Number of all hits, as far as it was asked for.
    pub(super) total: u64,
    /// Counts, by the names under which they were asked for.
    pub(super) counts: Counts,
    /// False if time was up.
    pub(super) whole: bool,
}

impl Answered {
    /// Takes an answer, which may be incomplete.
    pub(super) fn of(answer: SearchAnswer) -> Self {
        let failed = answer.shards.failed;
        let whole = !answer.timed_out && failed == 0;
        if !whole {
            tracing::debug!(failed, "the search server did not search everything");
        }
        Self { hits: answer.hits.hits.0, total: answer.hits.total.value, counts: answer.counts, whole }
    }

    /// Takes an answer that says what is not there as well.
    ///
    /// # Errors
    /// `Unavailable` if it is incomplete: what is missing in it may be there.
    pub(super) fn whole(answer: SearchAnswer) -> Result<Self> {
        let answered = Self::of(answer);
        if answered.whole {
            return Ok(answered);
        }
        Err(Error::unavailable("the search server did not search everything"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Answered> {
        serde_json::from_str(text).ok().map(Answered::of)
    }

    #[test]
    fn lists_are_bounded() {
        let hits = |count: usize| {
            let hits = vec!["{}"; count].join(",");
            read(&format!(r#"{{"timed_out":false,"_shards":{{"failed":0}},"hits":{{"hits":[{hits}]}}}}"#))
        };
        assert_eq!(hits(MAX_HITS).map(|answer| answer.hits.len()), Some(MAX_HITS));
        assert!(hits(MAX_HITS + 1).is_none());
        let wide = format!(r#"{{"a":[{}]}}"#, vec![r#"{"":0}"#; 10_000].join(","));
        let answer = format!(r#"{{"timed_out":false,"_shards":{{"failed":0}},"hits":{{"hits":[]}},"x":{wide}}}"#);
        assert!(read(&answer).is_some_and(|answer| answer.whole), "what is not asked for is not kept");
        let deep = format!(r#"{{"x":{}}}"#, "[".repeat(100_000));
        assert!(read(&deep).is_none());
    }

    #[test]
    fn extreme_numbers_are_refused_or_taken_as_they_are() {
        let hit = |number: &str| {
            let fields = format!(r#"{{"fields":{{"node":[{number}]}},"sort":[{number},1.5,"a",null]}}"#);
            let text = format!(r#"{{"timed_out":false,"_shards":{{"failed":0}},"hits":{{"hits":[{fields}]}}}}"#);
            read(&text).and_then(|answer| answer.hits.first()?.field("node"))
        };
        assert_eq!(hit("-9223372036854775808"), Some(i64::MIN));
        assert_eq!([hit("9223372036854775808"), hit("1e400"), hit("1.5"), hit("{}")], [None; 4]);
    }

    #[test]
    fn an_incomplete_answer_does_not_say_what_is_missing() {
        for (timed_out, failed) in [(true, 0), (false, 1), (true, 1)] {
            let text = format!(r#"{{"timed_out":{timed_out},"_shards":{{"failed":{failed}}},"hits":{{"hits":[]}}}}"#);
            let error = Answered::whole(serde_json::from_str(&text).unwrap()).err().unwrap();
            assert_eq!(error.kind(), model::ErrorKind::Unavailable);
        }
    }
}
