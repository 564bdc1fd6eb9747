//! Line-based comparison of two versions of a text, or of the texts of two versions of an office document.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Code, Error, Result};
use repository::{Item, Session, Target, TextContent, VersionChoice};
use serde::Deserialize;

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::visit::Visit;
use http_core::server::{request, request_body};

use super::preview::{self, decode};

/// Limit on compared bytes of each version.
const MAX_BYTES: usize = 512 << 10;
/// Limit on pairs of lines to compare. A larger differing region is shown as replaced.
const MAX_PAIRS: usize = 4_000_000;
/// Context lines around each difference.
const AROUND: usize = 3;

/// Outcome for a line: kept, removed or added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Same,
    Removed,
    Added,
}

impl Change {
    fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Removed => "gone",
            Self::Added => "come",
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Same => " ",
            Self::Removed => "−",
            Self::Added => "+",
        }
    }
}

struct Line<'a> {
    fate: Change,
    text: &'a str,
    /// Number of equal lines omitted before this one.
    left_out: usize,
}

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage<'a> {
    page: &'a Page,
    item: &'a Item,
    crumbs: Vec<Crumb>,
    from: String,
    to: String,
    lines: Vec<Line<'a>>,
    cut: bool,
    /// True for an office document, of which only the text is compared.
    words_only: bool,
}

/// Query parameters: the versions to compare. Without `to`, the current version is used.
#[derive(Deserialize)]
pub struct Pair {
    from: String,
    #[serde(default)]
    to: String,
}

/// The page.
pub async fn show(mut visit: Visit, Path(id): Path<String>, Query(pair): Query<Pair>) -> PageResult {
    let _place = request::acquire_costly()?;
    let target = Target::Id(id.parse()?);
    let way = visit.session.item_with_ancestors(&target).await?;
    navigation::fill_side_bar(&mut visit, &way).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is no such document"))?;
    let to = if pair.to.is_empty() { item.version.to_string() } else { pair.to };
    let (old, old_cut) = read(&visit.session, item, &pair.from).await?;
    let (new, new_cut) = read(&visit.session, item, &to).await?;
    let mut crumbs = navigation::crumbs(&way);
    crumbs.push(Crumb { href: address::browse(&item.path), label: item.name.clone() });
    let (page, item, from, cut) = (visit.page, item.clone(), pair.from, old_cut || new_cut);
    let words_only = preview::compared_format(&item).is_some();
    let drawn = request_body::run_cpu_bound(move || {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let lines = shorten(&differ(&old, &new));
        html(&ComparePage { page: &page, item: &item, crumbs, from, to, lines, cut, words_only })
    });
    Ok(drawn.await?)
}

/// Returns the text of a version, and whether it was cut.
async fn read(session: &Session, item: &Item, number: &str) -> Result<(String, bool)> {
    let (target, version) = (Target::Id(item.id), VersionChoice::Number(number.parse()?));
    if let Some(format) = preview::compared_format(item) {
        let found = session.text(&target, format, version).await?;
        let lines = match found.content {
            TextContent::Lines(lines) => lines,
            TextContent::Rows(rows) => rows.iter().map(|row| row.join("\t").trim_end().to_owned()).collect(),
            TextContent::Members(_) | TextContent::Message(_) => Vec::new(),
        };
        return Ok((lines.join("\n"), found.more));
    }
    let mut content = session.open(&target, version).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = content.next_chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() >= MAX_BYTES {
            break;
        }
    }
    let cut = content.size() > bytes.len() as u64 || bytes.len() > MAX_BYTES;
    bytes.truncate(MAX_BYTES);
    let text = decode::decode(&bytes, cut);
    let text =
        text.ok_or_else(|| Error::conflict("only versions of text documents can be compared").with_code(Code::NoText))?;
    Ok((text, cut))
}

/// Returns all lines of both texts in order. Equal lines appear once, the others with their outcome.
fn differ<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Change, &'a str)> {
    let first = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[first..], &new[first..]);
    let last = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old_rest[..old_rest.len() - last], &new_rest[..new_rest.len() - last]);
    let mut all: Vec<(Change, &str)> = old[..first].iter().map(|line| (Change::Same, *line)).collect();
    if a.len().saturating_mul(b.len()) > MAX_PAIRS {
        all.extend(a.iter().map(|line| (Change::Removed, *line)));
        all.extend(b.iter().map(|line| (Change::Added, *line)));
    } else {
        middle(a, b, &mut all);
    }
    all.extend(old[old.len() - last..].iter().map(|line| (Change::Same, *line)));
    all
}

/// Keeps the longest common subsequence of lines. The table holds its length for each pair of suffixes.
fn middle<'a>(a: &[&'a str], b: &[&'a str], all: &mut Vec<(Change, &'a str)>) {
    let width = b.len() + 1;
    let mut longest = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if a[i] == b[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            all.push((Change::Same, a[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
            all.push((Change::Removed, a[i]));
            i += 1;
        } else {
            all.push((Change::Added, b[j]));
            j += 1;
        }
    }
}

/// Returns only the differences with their context.
fn shorten<'a>(all: &[(Change, &'a str)]) -> Vec<Line<'a>> {
    let mut near = vec![false; all.len()];
    for (i, _) in all.iter().enumerate().filter(|(_, (fate, _))| *fate != Change::Same) {
        let end = (i + AROUND + 1).min(all.len());
        near[i.saturating_sub(AROUND)..end].fill(true);
    }
    let (mut lines, mut left_out) = (Vec::new(), 0);
    for ((fate, text), near) in all.iter().zip(near) {
        if near {
            lines.push(Line { fate: *fate, text, left_out });
            left_out = 0;
        } else {
            left_out += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(old: &str, new: &str) -> String {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        differ(&old, &new).iter().map(|(fate, text)| format!("{}{text}", fate.sign())).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lines_that_went_and_came_are_told() {
        assert_eq!(said("a\nb\nc", "a\nx\nc"), " a|−b|+x| c");
        assert_eq!(said("a\nb\nc\nd", "b\nc\ne\nd"), "−a| b| c|+e| d");
        assert_eq!(said("", "a"), "+a");
        assert_eq!(said("a", ""), "−a");
        assert_eq!(said("a\na\na", "a\na"), " a| a|−a");
    }

    #[test]
    fn what_is_far_from_differences_is_left_out() {
        let old: String = (0..100).map(|i| format!("{i}\n")).collect();
        let new = old.replace("\n50\n", "\nfifty\n");
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let lines = shorten(&differ(&old, &new)).len();
        assert_eq!(lines, 8);
        let huge: Vec<String> = (0..5_000).map(|i| i.to_string()).collect();
        let huge: Vec<&str> = huge.iter().map(String::as_str).collect();
        let other: Vec<&str> = huge.iter().rev().copied().collect();
        assert_eq!(differ(&huge, &other).len(), 10_000);
    }
}
