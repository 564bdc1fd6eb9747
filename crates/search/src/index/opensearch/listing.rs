//! Contents of an index on the search server: entries for the comparison with their database, documents that cannot be
//! read, and kept texts.

use std::collections::{BTreeMap, HashMap, HashSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Error, Id, Result};
use serde_json::{Value, json};

use super::admission_filter::AdmissionFilter;
use super::answer::{FoundHit, MAX_HITS, Stored};
use super::document::identifier;
use super::view::SharedView;
use crate::index::admission::Admission;
use crate::index::clock::Clock;
use crate::index::entry::{Audience, Fault, FaultyDocument, IndexedEntry, WantedFaults};

/// Entries that are read at once; the server returns no more.
const BATCH: usize = MAX_HITS;
/// Limit on the batches of one question.
const MAX_PAGES: usize = 1_000;
/// Limit on the columns of one library that are looked at.
const MAX_COLUMNS: usize = 10_000;

/// Texts in their stored form, by document and audience.
pub(crate) type KeptTexts = HashMap<(Id, Audience), Vec<u8>>;

impl SharedView {
    /// See [`crate::index::View::entries_between`].
    pub(crate) fn entries_between(&self, first: Id, last: Id) -> Result<BTreeMap<Id, Vec<IndexedEntry>>> {
        let mut found: BTreeMap<Id, Vec<IndexedEntry>> = BTreeMap::new();
        let range = json!({"range": {"node": {"gte": first.get(), "lte": last.get()}}});
        let fields = ["node", "version", "place", "face", "holder", "name_print", "properties_print"];
        self.each(range, &fields, |hit| {
            let id = |name: &str| hit.field(name).map(Id::new);
            let entry = || {
                let audience = Audience::of(hit.field("face")?.cast_unsigned())?;
                let print = |name: &str| hit.field(name).map(i64::cast_unsigned);
                let prints = (print("name_print")?, print("properties_print")?);
                let holder = id("holder").unwrap_or(Id::NONE);
                Some((id("node")?, IndexedEntry::new(id("version")?, id("place")?, audience, holder, prints)))
            };
            if let Some((node, entry)) = entry() {
                found.entry(node).or_default().push(entry);
            }
        })?;
        found.values_mut().for_each(|entries| entries.sort_unstable());
        Ok(found)
    }

    /// See [`crate::index::View::library_of`].
    pub(crate) fn library_of(&self, node: Id) -> Result<Id> {
        let mut library = Id::NONE;
        self.each(json!({"term": {"node": node.get()}}), &["node", "library"], |hit| {
            library = hit.field("library").map_or(Id::NONE, Id::new);
        })?;
        Ok(library)
    }

    /// See [`crate::index::View::documents_with_other_values`].
    pub(crate) fn documents_with_other_values(&self, library: Id, known: &HashSet<Id>) -> Result<Vec<Id>> {
        let in_library = json!({"term": {"library": library.get()}});
        let columns = json!({"columns": {"terms": {"field": "value_columns", "size": MAX_COLUMNS}}});
        let asked = json!({"size": 0, "query": {"bool": {"filter": [in_library]}}, "aggs": columns});
        let answer = self.list(asked, 0, MAX_COLUMNS)?;
        let other = answer.counts.values("columns").iter().filter_map(|column| column.key.as_i64());
        let other: Vec<i64> = other.filter(|column| !known.contains(&Id::new(*column))).collect();
        let mut found = Vec::new();
        let filter = json!({"bool": {"filter": [in_library, {"terms": {"value_columns": other}}]}});
        self.each(filter, &["node"], |hit| found.extend(hit.field("node").map(Id::new)))?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// See [`crate::index::View::fault_counts`].
    pub(crate) fn fault_counts(&self) -> Result<BTreeMap<String, u64>> {
        let counts = json!({"size": 0, "aggs": {"faults": {"terms": {"field": "fault", "size": MAX_COLUMNS}}}});
        let answer = self.list(counts, 0, MAX_COLUMNS)?;
        let faults = answer.counts.values("faults").iter();
        Ok(faults.filter_map(|fault| Some((fault.key.as_str()?.to_owned(), fault.count))).collect())
    }

    /// See [`crate::index::View::faults`].
    pub(crate) fn faults(
        &self,
        before: Option<(Id, Id)>,
        limit: usize,
        wanted: WantedFaults<'_>,
    ) -> Result<Vec<FaultyDocument>> {
        let query = match wanted {
            WantedFaults::Codes(codes) => json!({"terms": {"fault": codes}}),
            WantedFaults::Final => json!({"bool": {
                "filter": [{"exists": {"field": "fault"}}],
                "must_not": [{"terms": {"fault": [Fault::WAITS_FOR_TEXT, Fault::WAITS_FOR_RECOGNITION]}}],
            }}),
        };
        let limit = limit.min(BATCH);
        let mut asked = json!({
            "size": limit, "track_total_hits": false, "query": query,
            "_source": ["fault", "reason"], "docvalue_fields": ["node", "version"],
            "sort": [{"node": "desc"}, {"version": "desc"}],
        });
        if let Some((node, version)) = before {
            asked["search_after"] = json!([node.get(), version.get()]);
        }
        let faulty = |hit: FoundHit| {
            let (node, version) = (Id::new(hit.field("node")?), Id::new(hit.field("version")?));
            let (code, reason) = (hit.source.fault.unwrap_or_default(), hit.source.reason.unwrap_or_default());
            Some(FaultyDocument { node, version, fault: Fault { code, reason } })
        };
        Ok(self.list(asked, limit, 0)?.hits.into_iter().filter_map(faulty).collect())
    }

    /// See [`crate::index::View::has_waiting`].
    pub(crate) fn has_waiting(&self, admission: &dyn Admission, clock: &Clock) -> Result<bool> {
        self.waits(vec![AdmissionFilter::of(self, admission, clock).filter], clock)
    }

    /// See [`crate::index::View::waits_for_text_of`].
    pub(crate) fn waits_for_text_of(&self, document: Id, version: Id, clock: &Clock) -> Result<bool> {
        let is_it = vec![json!({"term": {"node": document.get()}}), json!({"term": {"version": version.get()}})];
        self.waits(is_it, clock)
    }

    /// Returns whether the text of an entry that fits these filters is still to be read. Supposes so if time is up.
    fn waits(&self, mut filters: Vec<Value>, clock: &Clock) -> Result<bool> {
        filters.push(json!({"term": {"fault": Fault::WAITS_FOR_TEXT}}));
        let asked = json!({
            "size": 1, "_source": false, "track_total_hits": false, "query": {"bool": {"filter": filters}},
        });
        let answer = self.search(asked, (1, 0), clock)?;
        Ok(!answer.whole || !answer.hits.is_empty())
    }

    /// Returns the kept texts of entries in their stored form, without those that are gone or of another version.
    /// Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub(crate) fn kept(&self, entries: &[(Id, Id, Audience)], clock: &Clock) -> Result<KeptTexts> {
        let ids: Vec<String> = entries.iter().map(|(node, _, audience)| identifier(*node, *audience)).collect();
        let limit = clock.left();
        if ids.is_empty() || limit.is_zero() {
            return Ok(KeptTexts::new());
        }
        let kept = |((node, version, audience), found): (&(Id, Id, Audience), Stored)| {
            let is_same = found.version == Some(version.get());
            let body = STANDARD.decode(found.body.filter(|_| is_same)?);
            let damaged = |error| Error::corrupt("a text in the search index is damaged").with_source(error);
            Some(body.map(|body| ((*node, *audience), body)).map_err(damaged))
        };
        entries.iter().zip(self.contents(&ids, limit)?).filter_map(kept).collect()
    }

    /// Returns the audience of the entry for a version of a document. Blocks.
    pub(crate) fn entry_of(&self, node: Id, version: Id) -> Result<Option<Audience>> {
        let mut found = None;
        self.each(json!({"term": {"node": node.get()}}), &["node", "version", "face"], |hit| {
            if hit.field("version") == Some(version.get()) {
                found = hit.field("face").and_then(|audience| Audience::of(audience.cast_unsigned()));
            }
        })?;
        Ok(found)
    }

    /// Calls `take` for each entry that a filter admits, with these fields, in the order of the documents.
    fn each(&self, filter: Value, fields: &[&str], mut take: impl FnMut(&FoundHit)) -> Result<()> {
        let mut after: Option<[i64; 2]> = None;
        for _ in 0..MAX_PAGES {
            let mut asked = json!({
                "size": BATCH, "_source": false, "track_total_hits": false, "docvalue_fields": fields,
                "query": {"bool": {"filter": [filter]}}, "sort": [{"node": "asc"}, {"face": "asc"}],
            });
            if let Some(after) = after {
                asked["search_after"] = json!(after);
            }
            let hits = self.list(asked, BATCH, 0)?.hits;
            hits.iter().for_each(&mut take);
            if hits.len() < BATCH {
                return Ok(());
            }
            let next = hits.last().and_then(|last| match last.sort() {
                [node, audience] => Some([node.as_i64()?, audience.as_i64()?]),
                _ => None,
            });
            // Otherwise pages would have no end.
            if next.is_none() || next <= after {
                return Err(Error::unavailable("the search server returns entries in another order than asked for"));
            }
            after = next;
        }
        Err(Error::unavailable("the search server returns more entries than an index has"))
    }
}
