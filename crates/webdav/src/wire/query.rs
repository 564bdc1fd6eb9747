//! Parsing of a SEARCH body: `DAV:basicsearch` of RFC 5323.

use model::{Code, Error, Result};

use super::bodies::{self, Asked, PropertyName};
use super::headers::Depth;
use super::xml::{self, Element};

/// Limits of one query: conditions, sort keys, length of a literal, and bytes of all literals. They bound the work per
/// item.
const MAX_CONDITIONS: usize = 64;
const MAX_ORDERS: usize = 8;
const MAX_LITERAL: usize = 1_000;
const MAX_LITERALS: usize = 4_000;
/// Limit on the texts that one query looks for in contents. Each is one search of the index.
const MAX_CONTAINED: usize = 4;

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Scope: a URL and a depth.
    pub scope: (String, Depth),
    /// Properties to return for each match.
    pub select: Asked,
    /// Condition for a match.
    pub condition: Option<Condition>,
    /// Sort keys, most significant first.
    pub orders: Vec<Order>,
    /// Maximum number of matches.
    pub limit: Option<usize>,
}

impl Query {
    /// Returns the properties used for comparing and sorting.
    pub fn properties(&self) -> impl Iterator<Item = &PropertyName> {
        let compared = self.condition.iter().flat_map(Condition::properties);
        compared.chain(self.orders.iter().map(|order| &order.property))
    }
}

/// Condition on an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All of these hold.
    And(Vec<Condition>),
    /// At least one of these holds.
    Or(Vec<Condition>),
    /// This does not hold.
    Not(Box<Condition>),
    /// A property compares with a literal in this way.
    Compare(PropertyName, Comparison, Literal),
    /// A property matches a pattern of `%` and `_`.
    Like(PropertyName, Literal),
    /// The item is a collection.
    IsCollection,
    /// The item has this property.
    IsDefined(PropertyName),
    /// The item contains these words.
    Contains(String),
}

impl Condition {
    fn properties(&self) -> Vec<&PropertyName> {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().flat_map(Self::properties).collect(),
            Self::Not(one) => one.properties(),
            Self::Compare(name, ..) | Self::Like(name, _) | Self::IsDefined(name) => vec![name],
            Self::IsCollection | Self::Contains(_) => Vec::new(),
        }
    }

    /// Returns the texts that are looked for in contents, each once.
    pub fn contained(&self) -> Vec<&str> {
        let mut texts = match self {
            Self::And(all) | Self::Or(all) => all.iter().flat_map(Self::contained).collect(),
            Self::Not(one) => one.contained(),
            Self::Contains(text) => vec![text.as_str()],
            Self::Compare(..) | Self::Like(..) | Self::IsCollection | Self::IsDefined(_) => Vec::new(),
        };
        texts.sort_unstable();
        texts.dedup();
        texts
    }

    /// Returns the texts without which nothing meets the condition.
    pub fn required(&self) -> Vec<&str> {
        match self {
            Self::And(all) => all.iter().flat_map(Self::required).collect(),
            Self::Contains(text) => vec![text],
            _ => Vec::new(),
        }
    }

    /// Returns the total length of all literals in bytes.
    fn literals(&self) -> usize {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().map(Self::literals).sum(),
            Self::Not(one) => one.literals(),
            Self::Compare(_, _, literal) | Self::Like(_, literal) => literal.text.len(),
            Self::Contains(text) => text.len(),
            Self::IsCollection | Self::IsDefined(_) => 0,
        }
    }
}

/// Comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Less than.
    Less,
    /// Less than or equal.
    AtMost,
    /// Greater than.
    Greater,
    /// Greater than or equal.
    AtLeast,
}

/// A literal to compare a property with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The text.
    pub text: String,
    /// True if case is ignored.
    pub caseless: bool,
}

/// A property to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The property.
    pub property: PropertyName,
    /// True if greater values come first.
    pub descending: bool,
    /// True if case is ignored.
    pub caseless: bool,
}

fn bad(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the query cannot be used: {why}")).with_code(Code::InvalidQuery)
}

/// Returns the error for a part of RFC 5323 that is optional or open, and not supported here.
fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::invalid(format!("this server does not support this in a query: {what}")).with_code(Code::UnsupportedQuery)
}

/// Parses the body of a SEARCH.
///
/// # Errors
/// Invalid with code `unknown_grammar`, `no_grammar_discovery` or `several_scopes` for those cases, `unsupported_query`
/// for other unsupported parts, and `invalid_query` for a malformed query.
pub fn read(body: &[u8]) -> Result<Query> {
    let root = xml::parse(body)?;
    if root.is("query-schema-discovery") {
        let error = Error::invalid("this server does not describe its grammar: DAV:basicsearch is the only one");
        return Err(error.with_code(Code::NoGrammarDiscovery));
    }
    if !root.is("searchrequest") {
        return Err(bad("the body must be a DAV:searchrequest"));
    }
    let search = root.dav("basicsearch").ok_or_else(|| {
        Error::invalid("the only grammar of queries is DAV:basicsearch").with_code(Code::UnknownGrammar)
    })?;
    let select = search.dav("select").ok_or_else(|| bad("it has no DAV:select"))?;
    let select = match select.dav("prop") {
        Some(prop) => Asked::Named(bodies::names(prop)?),
        None if select.dav("allprop").is_some() => Asked::All(Vec::new()),
        None => return Err(bad("DAV:select must hold DAV:prop or DAV:allprop")),
    };
    let scope = scope(search.dav("from").ok_or_else(|| bad("it has no DAV:from"))?)?;
    let mut conditions = 0;
    let condition = match search.dav("where") {
        Some(given) => Some(condition(only(given)?, &mut conditions)?),
        None => None,
    };
    if condition.as_ref().is_some_and(|condition| condition.literals() > MAX_LITERALS) {
        return Err(unsupported(format!("to compare with more than {MAX_LITERALS} bytes in all")));
    }
    if condition.as_ref().is_some_and(|condition| condition.contained().len() > MAX_CONTAINED) {
        return Err(unsupported(format!("to look for more than {MAX_CONTAINED} texts in contents")));
    }
    let orders = search.dav("orderby").map(|orders| orders.elements().map(order).collect::<Result<Vec<_>>>());
    let orders = orders.transpose()?.unwrap_or_default();
    if orders.len() > MAX_ORDERS {
        return Err(unsupported(format!("to sort by more than {MAX_ORDERS} properties")));
    }
    let limit = search.dav("limit").and_then(|limit| limit.dav("nresults"));
    let limit = limit.map(|count| text(count).parse().map_err(|_| bad("DAV:nresults must be a number")));
    Ok(Query { scope, select, condition, orders, limit: limit.transpose()? })
}

fn scope(from: &Element) -> Result<(String, Depth)> {
    let mut scopes = from.elements().filter(|element| element.is("scope"));
    let scope = scopes.next().ok_or_else(|| bad("DAV:from has no DAV:scope"))?;
    if scopes.next().is_some() {
        let error =
            Error::invalid("a query has one scope: search in each folder separately, or in one that holds them all");
        return Err(error.with_code(Code::SeveralScopes));
    }
    let href = scope.dav("href").map(text).ok_or_else(|| bad("its scope has no DAV:href"))?;
    let depth = match scope.dav("depth").map(text).as_deref() {
        Some("0") => Depth::Zero,
        Some("1") => Depth::One,
        None => Depth::Infinity,
        Some(word) if word.eq_ignore_ascii_case("infinity") => Depth::Infinity,
        Some(_) => return Err(bad("the depth of its scope must be 0, 1 or infinity")),
    };
    Ok((href, depth))
}

fn text(element: &Element) -> String {
    element.text().trim().to_owned()
}

/// Returns the single child element.
fn only(element: &Element) -> Result<&Element> {
    let mut inside = element.elements();
    match (inside.next(), inside.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(bad(format!("{} must hold one element", element.name))),
    }
}

fn property(element: &Element) -> Result<PropertyName> {
    let prop = element.dav("prop").ok_or_else(|| bad(format!("{} has no DAV:prop", element.name)))?;
    only(prop).map(PropertyName::of)
}

/// Returns whether case is ignored. That is the default.
fn caseless(element: &Element) -> bool {
    element.attribute("caseless") != Some("no")
}

fn literal(element: &Element) -> Result<Literal> {
    let given = element.dav("literal").or_else(|| element.dav("typed-literal"));
    let given = given.ok_or_else(|| bad(format!("{} has no DAV:literal", element.name)))?;
    let text = if given.keeps_space() { given.text() } else { text(given) };
    if text.len() > MAX_LITERAL {
        return Err(unsupported(format!("to compare with more than {MAX_LITERAL} bytes")));
    }
    Ok(Literal { text, caseless: caseless(element) })
}

fn contained(element: &Element) -> Result<Condition> {
    let text = text(element);
    if text.is_empty() || element.elements().next().is_some() {
        return Err(bad("DAV:contains must hold words"));
    }
    if text.len() > MAX_LITERAL {
        return Err(unsupported(format!("to look for more than {MAX_LITERAL} bytes in contents")));
    }
    Ok(Condition::Contains(text))
}

fn order(element: &Element) -> Result<Order> {
    if element.dav("score").is_some() {
        return Err(unsupported("to sort by DAV:score"));
    }
    let descending = element.dav("descending").is_some();
    Ok(Order { property: property(element)?, descending, caseless: caseless(element) })
}

fn condition(element: &Element, count: &mut usize) -> Result<Condition> {
    *count += 1;
    if *count > MAX_CONDITIONS {
        return Err(unsupported(format!("to combine more than {MAX_CONDITIONS} conditions")));
    }
    let unknown = || unsupported(format!("the condition {}", element.name));
    if &*element.namespace != xml::DAV {
        return Err(unknown());
    }
    let mut all = || {
        let inside = element.elements().map(|one| condition(one, count)).collect::<Result<Vec<_>>>()?;
        if inside.is_empty() { Err(bad(format!("{} holds no condition", element.name))) } else { Ok(inside) }
    };
    let compare = |by| Ok(Condition::Compare(property(element)?, by, literal(element)?));
    match element.name.as_str() {
        "and" => all().map(Condition::And),
        "or" => all().map(Condition::Or),
        "not" => Ok(Condition::Not(Box::new(condition(only(element)?, count)?))),
        "eq" => compare(Comparison::Equal),
        "lt" => compare(Comparison::Less),
        "lte" => compare(Comparison::AtMost),
        "gt" => compare(Comparison::Greater),
        "gte" => compare(Comparison::AtLeast),
        "like" => Ok(Condition::Like(property(element)?, literal(element)?)),
        "is-collection" => Ok(Condition::IsCollection),
        "is-defined" => property(element).map(Condition::IsDefined),
        "contains" => contained(element),
        _ => Err(unknown()),
    }
}

/// Returns the body of a query with this condition, followed by `rest`.
#[cfg(test)]
pub fn body(condition: &str, rest: &str) -> String {
    format!(
        "<D:searchrequest xmlns:D='DAV:'><D:basicsearch><D:select><D:prop><D:displayname/></D:prop></D:select>\
         <D:from><D:scope><D:href>/dav/</D:href><D:depth>infinity</D:depth></D:scope></D:from>\
         <D:where>{condition}</D:where>{rest}</D:basicsearch></D:searchrequest>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read() {
        let rest = "<D:orderby><D:order caseless='no'>\
            <D:prop><D:displayname/></D:prop><D:descending/></D:order></D:orderby>\
            <D:limit><D:nresults> 5 </D:nresults></D:limit>";
        let query = read(body("<D:is-collection/>", rest).as_bytes()).unwrap();
        let property = PropertyName { namespace: "DAV:".into(), name: "displayname".into() };
        assert_eq!(query.scope, ("/dav/".to_owned(), Depth::Infinity));
        assert_eq!(query.select, Asked::Named(vec![property.clone()]));
        assert_eq!(query.condition, Some(Condition::IsCollection));
        assert_eq!(query.orders, [Order { property, descending: true, caseless: false }]);
        assert_eq!(query.limit, Some(5));
        for (space, expected) in [("", "a"), (" xml:space='preserve'", " a ")] {
            let eq = format!("<D:eq><D:prop><D:displayname/></D:prop><D:literal{space}> a </D:literal></D:eq>");
            let Some(Condition::Compare(_, _, literal)) = read(body(&eq, "").as_bytes()).unwrap().condition else {
                panic!("it is no comparison")
            };
            assert_eq!(literal.text, expected, "{space}");
        }
    }

    #[test]
    fn what_is_no_query_and_what_is_not_done_are_told_apart() {
        let eq = |literal: &str| format!("<D:eq><D:prop><D:x/></D:prop><D:literal>{literal}</D:literal></D:eq>");
        let nested = |depth: usize| "<D:not>".repeat(depth) + "<D:is-collection/>" + &"</D:not>".repeat(depth);
        let order = "<D:order><D:prop><D:x/></D:prop></D:order>";
        let orders = |count: usize| format!("<D:orderby>{}</D:orderby>", order.repeat(count));
        let contains = |texts: &[String]| {
            let each: String = texts.iter().map(|text| format!("<D:contains>{text}</D:contains>")).collect();
            format!("<D:or>{each}</D:or>")
        };
        let any = |count: usize| format!("<D:or>{}</D:or>", "<D:is-collection/>".repeat(count));
        let good = body("<D:is-collection/>", "");
        let scope = "<D:scope><D:href>/dav/</D:href><D:depth>infinity</D:depth></D:scope>";
        for (given, expected) in [
            (good.clone(), None),
            (good.replace("basicsearch", "sql"), Some("unknown_grammar")),
            ("<D:query-schema-discovery xmlns:D='DAV:'/>".into(), Some("no_grammar_discovery")),
            ("<D:propfind xmlns:D='DAV:'/>".into(), Some("invalid_query")),
            (good.replace(scope, &scope.repeat(2)), Some("several_scopes")),
            (good.replace(scope, ""), Some("invalid_query")),
            (good.replace("infinity", "2"), Some("invalid_query")),
            (good.replace("D:select>", "D:selected>"), Some("invalid_query")),
            (body("", ""), Some("invalid_query")),
            (body("<D:and/>", ""), Some("invalid_query")),
            (body("<D:not/>", ""), Some("invalid_query")),
            (body("<D:eq/>", ""), Some("invalid_query")),
            (body("<D:is-collection/><D:is-collection/>", ""), Some("invalid_query")),
            (body("<eq/>", ""), Some("unsupported_query")),
            (body("<D:language-defined/>", ""), Some("unsupported_query")),
            (body("<D:contains>x</D:contains>", ""), None),
            (body("<D:contains> </D:contains>", ""), Some("invalid_query")),
            (body("<D:contains><D:x/></D:contains>", ""), Some("invalid_query")),
            (body(&contains(&["x".repeat(MAX_LITERAL)]), ""), None),
            (body(&contains(&["x".repeat(MAX_LITERAL + 1)]), ""), Some("unsupported_query")),
            (body(&contains(&["a", "b", "c", "d", "a"].map(str::to_owned)), ""), None),
            (body(&contains(&["a", "b", "c", "d", "e"].map(str::to_owned)), ""), Some("unsupported_query")),
            (body(&eq(&"x".repeat(MAX_LITERAL)), ""), None),
            (body(&eq(&"x".repeat(MAX_LITERAL + 1)), ""), Some("unsupported_query")),
            (body(&format!("<D:and>{}</D:and>", eq(&"x".repeat(800)).repeat(5)), ""), None),
            (body(&format!("<D:and>{}</D:and>", eq(&"x".repeat(801)).repeat(5)), ""), Some("unsupported_query")),
            (body(&any(MAX_CONDITIONS - 1), ""), None),
            (body(&any(MAX_CONDITIONS), ""), Some("unsupported_query")),
            (body(&nested(55), ""), None),
            (body(&nested(70), ""), Some("invalid_xml")),
            (body("<D:is-collection/>", &orders(MAX_ORDERS)), None),
            (body("<D:is-collection/>", &orders(MAX_ORDERS + 1)), Some("unsupported_query")),
            (body("<D:is-collection/>", "<D:orderby><D:order/></D:orderby>"), Some("invalid_query")),
            (
                body("<D:is-collection/>", "<D:orderby><D:order><D:score/></D:order></D:orderby>"),
                Some("unsupported_query"),
            ),
            (body("<D:is-collection/>", "<D:limit><D:nresults>-1</D:nresults></D:limit>"), Some("invalid_query")),
        ] {
            assert_eq!(read(given.as_bytes()).err().map(|error| error.code().as_str()), expected, "{given:.600}");
        }
    }
}
