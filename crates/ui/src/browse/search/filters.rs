//! The filters of a search, each with a link that gives it up, and searches to try when nothing was found.

use repository::{FilterPart, Found, HitOrder, ReferenceKind, SearchQuery};

use super::narrowing::address;
use crate::frame::page::Page;

/// Limit on the filters that are shown.
const MAX_SHOWN: usize = 12;
/// Limit on the links that give up one filter, where nothing was found.
const MAX_WIDER_SEARCHES: usize = 5;

/// A link to a changed search.
pub(super) struct SearchLink {
    pub(super) href: String,
    pub(super) label: String,
}

/// Returns the filters of the query that are in force, with the address of the search without each.
pub(super) fn filter_links(page: &Page, found: &Found, order: HitOrder) -> Vec<SearchLink> {
    let is_in_force = |part: &FilterPart| {
        !found.remarks.iter().any(|remark| {
            remark.reason.leaves_out_filter()
                && remark.range.start < part.range.end
                && part.range.start < remark.range.end
        })
    };
    let link = |part: FilterPart| SearchLink {
        href: address(&SearchQuery::without(&page.query, &part.range), order),
        label: label(page, &part),
    };
    SearchQuery::filter_parts(&page.query, &found.columns)
        .into_iter()
        .filter(is_in_force)
        .take(MAX_SHOWN)
        .map(link)
        .collect()
}

/// Returns searches with fewer conditions.
pub(super) fn wider_searches(page: &Page, found: &Found, order: HitOrder) -> Vec<SearchLink> {
    let (query, parts) = (page.query.as_str(), SearchQuery::filter_parts(&page.query, &found.columns));
    let without_one = parts.iter().take(MAX_WIDER_SEARCHES).map(|part| SearchLink {
        href: address(&SearchQuery::without(query, &part.range), order),
        label: page.f1("search.retry.filter", label(page, part)),
    });
    let mut links: Vec<SearchLink> = without_one.collect();
    let bare = parts.iter().rev().fold(query.to_owned(), |query, part| SearchQuery::without(&query, &part.range));
    if parts.len() > 1 {
        links.push(SearchLink { href: address(&bare, order), label: page.s("search.retry.filters").to_owned() });
    }
    // An empty query finds nothing either.
    links.retain(|link| link.href != address("", order));
    let quotes = ['"', '\u{201c}', '\u{201d}', '\u{201e}', '\u{ab}', '\u{bb}'];
    let loose = bare.replace(quotes, " ");
    if parts.is_empty() && bare.contains(quotes) && !loose.trim().is_empty() {
        let href = address(loose.split_whitespace().collect::<Vec<_>>().join(" ").as_str(), order);
        links.push(SearchLink { href, label: page.s("search.retry.phrases").to_owned() });
    }
    links
}

fn label(page: &Page, part: &FilterPart) -> String {
    match part.reference {
        Some(ReferenceKind::Site | ReferenceKind::Library | ReferenceKind::Container) => {
            page.f1("search.in-place", part.value.trim_matches('/').replace('/', " / "))
        }
        _ => page.query[part.range.clone()].replace('"', ""),
    }
}
