//! `strongroom search`: finds documents by words and filters, as the administrator of the farm.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use model::{Error, Result};
use repository::{
    FindRequest, Found, FoundItem, HitOrder, MAX_FOUND, Passage, Remark, RemarkReason, SearchState, SearchStatus,
    Session, Target, TextSearch, Tolerance,
};
use serde_json::{Value, json};

use super::farm;
use super::output::{are, show, time};
use super::verdict::{CommandResult, Verdict};
use crate::configuration::CommonArguments;

/// Limit on the results.
const MOST: i64 = MAX_FOUND as i64;

/// Arguments of `strongroom search`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    /// Words, "phrases", operators and filters, as on the results page
    query: String,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=MOST))]
    limit: u16,
    /// Order of the results; in any other than relevance, only documents with the words are found
    #[arg(long, value_enum, default_value_t = Sort::Relevance)]
    sort: Sort,
    /// Find only documents in this site, library or folder
    #[arg(long = "in", value_name = "PATH")]
    container: Option<String>,
}

/// An order of results.
#[derive(Clone, Copy, ValueEnum)]
enum Sort {
    Relevance,
    Newest,
    Oldest,
    Largest,
    Smallest,
}

impl Sort {
    fn of_hits(self) -> HitOrder {
        match self {
            Self::Relevance => HitOrder::Relevance,
            Self::Newest => HitOrder::Newest,
            Self::Oldest => HitOrder::Oldest,
            Self::Largest => HitOrder::Largest,
            Self::Smallest => HitOrder::Smallest,
        }
    }
}

/// Runs `strongroom search`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let (repository, session) = farm::open(&arguments.common).await?;
    let outcome = search(&session, &arguments).await;
    repository.close().await;
    let (value, text, verdict) = outcome?;
    show(arguments.common.json, &value, &text);
    Ok(verdict.into())
}

async fn search(session: &Session, arguments: &Arguments) -> Result<CommandResult> {
    let container =
        match arguments.container.as_deref().map(|path| path.trim_matches('/')).filter(|path| !path.is_empty()) {
            Some(path) => Some(session.item(&Target::path(path)?).await?),
            None => None,
        };
    if let Some(leaf) = container.as_ref().filter(|item| item.kind.is_leaf()) {
        let (path, kind) = (&leaf.path, leaf.kind.as_str());
        return Err(Error::invalid(format!("{path} is a {kind}: --in takes a site, library, folder or list")));
    }
    session.read_search_indexes().await?;
    let request = FindRequest {
        text: arguments.query.clone(),
        limit: arguments.limit.into(),
        order: arguments.sort.of_hits(),
        ..FindRequest::default()
    };
    let found = session.search_within(&request, container.as_ref()).await?;
    let indexes = session.search_status().await?;
    let gaps = gaps(&found, &indexes);
    if !arguments.common.json {
        found.remarks.iter().map(in_words).chain(gaps.iter().cloned()).for_each(|line| eprintln!("{line}"));
    }
    let verdict = if gaps.is_empty() { Verdict::Good } else { Verdict::Incomplete };
    Ok((to_json(&found, &gaps), to_text(&found), verdict))
}

/// Says what was not searched.
fn gaps(found: &Found, indexes: &[SearchStatus]) -> Vec<String> {
    let mut gaps = Vec::new();
    for index in indexes {
        let database = &index.database;
        match index.state() {
            SearchState::Unavailable => gaps.push(format!(
                "Texts in the content database \"{database}\" were not searched: it has no search index that can be \
                 used. A server of the farm builds it."
            )),
            SearchState::Building => gaps.push(format!(
                "Some texts in the content database \"{database}\" were not searched: its search index is being built."
            )),
            SearchState::Behind => gaps.push(format!(
                "{} newer than the search index of the content database \"{database}\": their texts may be missing. A \
                 server of the farm updates it.",
                changes(index.events_behind)
            )),
            SearchState::Current => {}
        }
        if index.waiting > 0 {
            gaps.push(format!(
                "{} in the content database \"{database}\" could not be read yet, because a store or a reader did not \
                 answer. A server of the farm tries again.",
                model::counted(index.waiting, "text")
            ));
        }
    }
    let missing = found.missing.names();
    if !missing.is_empty() {
        gaps.push(format!("Content databases that cannot be read were not searched: {}.", missing.join(", ")));
    }
    if gaps.is_empty() && found.texts != TextSearch::Complete {
        gaps.push("Some texts were not searched: time was up, or too many changes are not indexed yet.".to_owned());
    }
    if !found.whole {
        gaps.push("Some names were not compared: time was up.".to_owned());
    }
    gaps
}

fn changes(count: u64) -> String {
    format!("{} {}", model::counted(count, "change"), are(count))
}

fn in_words(remark: &Remark) -> String {
    let meaning = match remark.reason {
        RemarkReason::UnclosedPhrase => "the quotation mark is not closed, so the phrase extends to the end",
        RemarkReason::UnmatchedParenthesis => "the parenthesis has no counterpart and was left out",
        RemarkReason::LoneOperator => "the operator has nothing to connect and was left out",
        RemarkReason::ShortPrefix => "at least three letters are needed before *, which was left out",
        RemarkReason::NoDate => "no date can be read, so the filter was left out",
        RemarkReason::NoSize => "no size can be read, so the filter was left out",
        RemarkReason::NoValue => "the filter has no usable value and was left out",
        RemarkReason::UnknownName => "nothing has this name, so the filter finds nothing",
        RemarkReason::UnknownFilter => "there is no such filter, so it was searched as a word",
        RemarkReason::TooMuch => "the query is too long or too deeply nested, so parts were left out",
    };
    format!("“{}”: {meaning}", remark.text)
}

fn to_text(found: &Found) -> String {
    if found.items.is_empty() {
        return "Nothing was found.\n".to_owned();
    }
    let mut text: String = found.items.iter().map(in_lines).collect();
    text.push_str(match found.tolerance {
        Tolerance::Exact => "",
        Tolerance::Similar => "Few documents have these words: some of these have similar words.\n",
        Tolerance::MostWords => {
            "Few documents have all of these words: some of these lack words or have similar ones.\n"
        }
    });
    if found.more && found.items.len() < MAX_FOUND {
        text.push_str(&format!("There are more results: --limit shows up to {MAX_FOUND}, and filters narrow them.\n"));
    } else if found.more {
        text.push_str("There are more results: add a word or a filter to narrow them.\n");
    }
    text
}

fn in_lines(found: &FoundItem) -> String {
    let passage = found.passage.as_ref().map(|passage| format!("    {}\n", in_one_line(passage))).unwrap_or_default();
    let title = found.item.title.as_deref().map(|title| format!("  {title}")).unwrap_or_default();
    format!("{}  {}{title}\n{passage}", time(found.item.modified_at), found.item.path)
}

fn in_one_line(passage: &Passage) -> String {
    let pieces: String = passage.pieces.iter().map(|piece| piece.text.as_str()).collect();
    let (before, after) = (if passage.more.0 { "... " } else { "" }, if passage.more.1 { " ..." } else { "" });
    // Layout of the document means nothing in a line.
    format!("{before}{}{after}", pieces.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn to_json(found: &Found, gaps: &[String]) -> Value {
    let passage = |passage: &Passage| {
        let pieces = passage.pieces.iter().map(|piece| json!({ "text": piece.text, "hit": piece.hit }));
        json!({
            "pieces": pieces.collect::<Vec<_>>(),
            "more_before": passage.more.0,
            "more_after": passage.more.1,
        })
    };
    let item = |found: &FoundItem| {
        json!({
            "id": found.item.id.to_string(),
            "kind": found.item.kind.as_str(),
            "path": found.item.path,
            "title": found.item.title,
            "size": found.item.size,
            "modified_at": time(found.item.modified_at),
            "passage": found.passage.as_ref().map(passage),
        })
    };
    let remark = |remark: &Remark| json!({ "reason": remark.reason.code(), "text": remark.text });
    json!({
        "items": found.items.iter().map(item).collect::<Vec<_>>(),
        "more": found.more,
        "documents": found.documents,
        "similar": found.tolerance >= Tolerance::Similar,
        "partial": found.tolerance == Tolerance::MostWords,
        "remarks": found.remarks.iter().map(remark).collect::<Vec<_>>(),
        "not_searched": gaps,
    })
}
