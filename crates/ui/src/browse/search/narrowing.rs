//! Links beside the results of a search that order them or narrow it, and remarks on the query.

use form_urlencoded::Serializer;
use repository::{Found, HitOrder, KnownColumns, Remark, RemarkReason, SearchQuery};

use crate::frame::fault::PageResult;
use crate::frame::page::Page;
use crate::frame::visit::Visit;

/// The orders, each with the text that stands for it in addresses, and the key of its label.
const ORDERS: [(HitOrder, &str, &str); 5] = [
    (HitOrder::Relevance, "relevance", "search.order.relevance"),
    (HitOrder::Newest, "newest", "search.order.newest"),
    (HitOrder::Oldest, "oldest", "search.order.oldest"),
    (HitOrder::Largest, "largest", "search.order.largest"),
    (HitOrder::Smallest, "smallest", "search.order.smallest"),
];

/// A link to the same results in another order.
pub(super) struct OrderLink {
    pub(super) href: String,
    pub(super) label: &'static str,
    pub(super) current: bool,
}

/// A property by which the search can be narrowed.
pub(super) struct Narrowing {
    pub(super) title: &'static str,
    pub(super) values: Vec<NarrowingValue>,
}

/// A value of a property.
pub(super) struct NarrowingValue {
    /// Address of the search with the filter, or without it if it has it already.
    pub(super) href: String,
    pub(super) label: String,
    pub(super) count: u64,
    /// True if the query has the filter.
    pub(super) active: bool,
}

/// Returns the order that a text in an address stands for.
pub(super) fn order_of(text: &str) -> HitOrder {
    ORDERS.iter().find(|(_, name, _)| *name == text).map_or(HitOrder::Relevance, |(order, ..)| *order)
}

/// Returns all orders with their labels.
pub(super) fn labelled_orders(page: &Page) -> impl Iterator<Item = (HitOrder, &'static str)> {
    ORDERS.iter().map(|(order, _, label)| (*order, page.s(label)))
}

/// Returns links to all orders.
pub(super) fn orders(page: &Page, order: HitOrder) -> Vec<OrderLink> {
    let link = |(it, _, label): &(HitOrder, &str, &str)| OrderLink {
        href: address(&page.query, *it),
        label: page.s(label),
        current: *it == order,
    };
    ORDERS.iter().map(link).collect()
}

/// Returns links that narrow the search by properties of the documents found.
pub(super) async fn narrowings(visit: &Visit, found: &Found, order: HitOrder) -> PageResult<Vec<Narrowing>> {
    let (page, facets) = (&visit.page, &found.facets);
    let value = |filter: String, label: String, count: u64| {
        let (query, active) = match without(&page.query, &filter) {
            Some(query) => (query, true),
            None => (SearchQuery::narrowed(&page.query, &filter), false),
        };
        NarrowingValue { href: address(query.trim(), order), label, count, active }
    };
    let rows = Some(facets.rows).filter(|count| *count > 0);
    let rows = rows.map(|count| value("type:row".to_owned(), page.s("search.rows").to_owned(), count));
    let types = facets.extensions.iter().map(|(name, count)| value(format!("ext:{name}"), name.to_uppercase(), *count));
    let ids: Vec<_> = facets.authors.iter().map(|(id, _)| *id).collect();
    let names = visit.session.principal_names(&ids).await?;
    let authors = facets.authors.iter().filter_map(|(id, count)| {
        // Accounts that are disabled cannot be searched for.
        let known = names.get(id).filter(|known| !known.disabled)?;
        let login = known.login.as_deref()?;
        Some(value(format!("creator:{}", SearchQuery::quoted(login)), known.name.clone(), *count))
    });
    let years = facets.years.iter().map(|(year, count)| value(format!("modified:{year}"), year.to_string(), *count));
    let sites = facets
        .sites
        .iter()
        .map(|(site, count)| value(format!("site:{}", SearchQuery::quoted(&site.path)), site.name.clone(), *count));
    let narrowings = [
        Narrowing { title: page.s("search.by-type"), values: rows.into_iter().chain(types).collect() },
        Narrowing { title: page.s("search.by-author"), values: authors.collect() },
        Narrowing { title: page.s("search.by-year"), values: years.collect() },
        Narrowing { title: page.s("search.by-site"), values: sites.collect() },
    ];
    Ok(narrowings.into_iter().filter(|narrowing| narrowing.is_useful(found.documents)).collect())
}

impl Narrowing {
    /// Returns whether a link changes the results, of which there are so many.
    fn is_useful(&self, documents: u64) -> bool {
        self.values.len() > 1 || self.values.iter().any(|value| value.active || value.count < documents)
    }
}

/// Returns the text of a remark.
pub(super) fn remark(page: &Page, remark: &Remark) -> String {
    let key = match remark.reason {
        RemarkReason::UnclosedPhrase => "search.remark.unclosed-phrase",
        RemarkReason::UnmatchedParenthesis => "search.remark.unmatched-parenthesis",
        RemarkReason::LoneOperator => "search.remark.lone-operator",
        RemarkReason::ShortPrefix => "search.remark.short-prefix",
        RemarkReason::NoDate => "search.remark.no-date",
        RemarkReason::NoSize => "search.remark.no-size",
        RemarkReason::NoValue => "search.remark.no-value",
        RemarkReason::UnknownName => "search.remark.unknown-name",
        RemarkReason::UnknownFilter => "search.remark.unknown-filter",
        RemarkReason::TooMuch => "search.remark.too-much",
    };
    page.f1(key, &remark.text)
}

/// Returns the query without a filter; `None` if it does not have it.
fn without(query: &str, filter: &str) -> Option<String> {
    let part = SearchQuery::filter_parts(query, &KnownColumns::default())
        .into_iter()
        .find(|part| query[part.range.clone()] == *filter)?;
    Some(SearchQuery::without(query, &part.range))
}

/// Returns the address of a search.
pub(super) fn address(query: &str, order: HitOrder) -> String {
    let mut fields = Serializer::new(String::new());
    fields.append_pair("q", query);
    if let Some((_, name, _)) = ORDERS.iter().find(|(it, ..)| *it == order && order != HitOrder::Relevance) {
        fields.append_pair("sort", name);
    }
    format!("/search?{}", fields.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_removed_if_it_is_not_part_of_a_phrase() {
        assert_eq!(without("a type:pdf b", "type:pdf").as_deref(), Some("a b"));
        assert_eq!(without("type:pdf", "type:pdf").as_deref(), Some(""));
        assert_eq!(without("a type:pdfx type:pdf", "type:pdf").as_deref(), Some("a type:pdfx"));
        assert_eq!(without("\"a type:pdf b\" type:pdf", "type:pdf").as_deref(), Some("\"a type:pdf b\""));
        assert_eq!(without("\"a type:pdf b\"", "type:pdf"), None);
        assert_eq!(without("-type:pdf", "type:pdf"), None);
        assert_eq!(without("a", "type:pdf"), None);
    }
}
