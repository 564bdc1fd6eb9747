//! Settings and fields of an index on the search server.

use serde_json::{Value, json};

use super::tokens::ANALYZER;
use crate::index::ranking::{USUAL_NAME_WORDS, USUAL_TEXT_WORDS};

/// Version of the fields. An index of another version is rebuilt.
pub(super) const SCHEMA: u64 = 2;

/// Limit on the characters of an expression for similar words with digits.
pub(super) const MAX_EXPRESSION: usize = 8_000;

/// Parameters of BM25, as in Lucene and tantivy.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Numbers by which entries are found and ordered.
const LONGS: [&str; 11] = [
    "node",
    "version",
    "author",
    "editor",
    "holder",
    "created",
    "modified",
    "size",
    "checked_out_by",
    "library",
    "value_columns",
];
/// Numbers that are only returned.
const COLUMNS: [&str; 9] =
    ["collection", "place", "name_print", "properties_print", "name_words", "title_words", "epoch", "spots", "schema"];
const INTEGERS: [&str; 5] = ["spot", "face", "year", "language", "number"];
const KEYWORDS: [&str; 4] = ["extension", "value_keys", "state", "fault"];

/// Returns the settings and fields of an index with these aliases.
///
/// Scores are those of BM25 as the index in a directory computes it: the weight of a word comes with the query, and
/// lengths are compared with a constant. Statistics of the server would reveal hidden entries.
pub(super) fn index(aliases: &[String]) -> Value {
    let similarity = |usual: u64| {
        let source = format!(
            "return query.boost * {} * doc.freq / (doc.freq + {K1} * ({} + {B} * doc.length / {usual}.0));",
            K1 + 1.0,
            1.0 - B
        );
        json!({"type": "scripted", "discount_overlaps": false, "script": {"source": source}})
    };
    let words = |similarity: &str| {
        let (kind, gap) = ("text", 1);
        json!({"type": kind, "analyzer": ANALYZER, "similarity": similarity, "position_increment_gap": gap})
    };
    let found = json!({"type": "text", "analyzer": ANALYZER, "similarity": "boolean", "norms": false,
        "index_options": "positions", "position_increment_gap": 1});
    let ends = json!({"type": "text", "analyzer": ANALYZER, "similarity": "boolean", "norms": false,
        "index_options": "docs"});
    let fields = [
        (words("texts"), &["text"][..]),
        (words("names"), &["name", "title", "stated_author"]),
        (found, &["parts", "values"]),
        (ends, &["ends"]),
        (json!({"type": "long"}), &LONGS),
        (json!({"type": "long", "index": false}), &COLUMNS),
        (json!({"type": "integer"}), &INTEGERS),
        (json!({"type": "keyword"}), &KEYWORDS),
        (json!({"type": "keyword", "index": false, "doc_values": false}), &["reason", "checkpoint"]),
        (json!({"type": "binary"}), &["body"]),
    ];
    let each = fields.iter().flat_map(|(kind, names)| names.iter().map(|name| ((*name).to_owned(), kind.clone())));
    let properties: serde_json::Map<String, Value> = each.collect();
    let aliases: serde_json::Map<String, Value> = aliases.iter().map(|alias| (alias.clone(), json!({}))).collect();
    json!({
        "aliases": aliases,
        "settings": {
            "number_of_shards": 1,
            "auto_expand_replicas": "0-1",
            // Otherwise a refresh would not reach replicas before they have copied its segments.
            "replication.type": "DOCUMENT",
            "refresh_interval": -1,
            "gc_deletes": "10m",
            "max_regex_length": MAX_EXPRESSION,
            "similarity": {"texts": similarity(USUAL_TEXT_WORDS), "names": similarity(USUAL_NAME_WORDS)},
            "analysis": {
                "tokenizer": {"gaps": {"type": "char_group", "tokenize_on_chars": [" "], "max_token_length": 20_000}},
                "filter": {"forms": {"type": "pattern_capture", "preserve_original": false, "patterns": ["([^|]+)"]}},
                "analyzer": {ANALYZER: {"type": "custom", "tokenizer": "gaps", "filter": ["forms"]}},
            },
        },
        "mappings": {
            "dynamic": "strict",
            "_source": {"includes": ["version", "body", "fault", "reason", "checkpoint", "epoch", "spots", "schema"]},
            "properties": properties,
        },
    })
}
