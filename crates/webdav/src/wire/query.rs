//! What the body of a SEARCH asks for: `DAV:basicsearch` of RFC 5323.

use model::{Code, Error, Result};

use super::bodies::{self, Asked, PropertyName};
use super::headers::Depth;
use super::xml::{self, Element};

/// Most conditions and most properties to sort by of one query, longest literal, and most bytes of all its literals:
/// with them the work for one item is bounded.
const MOST_CONDITIONS: usize = 64;
const MOST_ORDERS: usize = 8;
const LONGEST_LITERAL: usize = 1_000;
const MOST_LITERALS: usize = 4_000;

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Where to look: an address and how deep.
    pub scope: (String, Depth),
    /// What to tell of each that is found.
    pub select: Asked,
    /// What must hold.
    pub condition: Option<Condition>,
    /// What to sort by, the first before the others.
    pub orders: Vec<Order>,
    /// Most that are wanted.
    pub limit: Option<usize>,
}

impl Query {
    /// The properties that it compares and sorts by.
    pub fn properties(&self) -> impl Iterator<Item = &PropertyName> {
        let compared = self.condition.iter().flat_map(Condition::properties);
        compared.chain(self.orders.iter().map(|order| &order.property))
    }
}

/// What must hold of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All of these.
    And(Vec<Condition>),
    /// One of these.
    Or(Vec<Condition>),
    /// Not this.
    Not(Box<Condition>),
    /// A property compared with a literal.
    Compare(PropertyName, Comparison, Literal),
    /// A property that is like a pattern of `%` and `_`.
    Like(PropertyName, Literal),
    /// It holds others.
    IsCollection,
    /// It has this property.
    IsDefined(PropertyName),
}

impl Condition {
    fn properties(&self) -> Vec<&PropertyName> {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().flat_map(Self::properties).collect(),
            Self::Not(one) => one.properties(),
            Self::Compare(name, ..) | Self::Like(name, _) | Self::IsDefined(name) => vec![name],
            Self::IsCollection => Vec::new(),
        }
    }

    /// Bytes of all literals in it.
    fn literals(&self) -> usize {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().map(Self::literals).sum(),
            Self::Not(one) => one.literals(),
            Self::Compare(_, _, literal) | Self::Like(_, literal) => literal.text.len(),
            Self::IsCollection | Self::IsDefined(_) => 0,
        }
    }
}

/// How a property is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same.
    Equal,
    /// Less.
    Less,
    /// Less or the same.
    AtMost,
    /// More.
    Greater,
    /// More or the same.
    AtLeast,
}

/// What a property is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The text.
    pub text: String,
    /// Whether upper and lower case are the same.
    pub caseless: bool,
}

/// A property to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The property.
    pub property: PropertyName,
    /// Whether what is more comes first.
    pub descending: bool,
    /// Whether upper and lower case are the same.
    pub caseless: bool,
}

fn bad(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the query cannot be used: {why}")).with_code(Code::InvalidQuery)
}

/// What RFC 5323 knows or leaves open, and this server does not do.
fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::invalid(format!("this server does not do that in a query: {what}")).with_code(Code::UnsupportedQuery)
}

/// Reads the body of a SEARCH.
///
/// # Errors
/// Invalid: with the codes `unknown_grammar`, `no_grammar_discovery` and `several_scopes` for what those words say, `unsupported_query` for
/// other parts of a query that this server does not do, `invalid_query` for what is not one.
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
        Some(prop) => Asked::These(bodies::names(prop)?),
        None if select.dav("allprop").is_some() => Asked::All(Vec::new()),
        None => return Err(bad("DAV:select must hold DAV:prop or DAV:allprop")),
    };
    let scope = scope(search.dav("from").ok_or_else(|| bad("it has no DAV:from"))?)?;
    let mut conditions = 0;
    let condition = match search.dav("where") {
        Some(given) => Some(condition(only(given)?, &mut conditions)?),
        None => None,
    };
    if condition.as_ref().is_some_and(|condition| condition.literals() > MOST_LITERALS) {
        return Err(unsupported(format!("to compare with more than {MOST_LITERALS} bytes in all")));
    }
    let orders = search.dav("orderby").map(|orders| orders.elements().map(order).collect::<Result<Vec<_>>>());
    let orders = orders.transpose()?.unwrap_or_default();
    if orders.len() > MOST_ORDERS {
        return Err(unsupported(format!("to sort by more than {MOST_ORDERS} properties")));
    }
    let limit = search.dav("limit").and_then(|limit| limit.dav("nresults"));
    let limit = limit.map(|count| text(count).parse().map_err(|_| bad("DAV:nresults must be a number")));
    Ok(Query { scope, select, condition, orders, limit: limit.transpose()? })
}

fn scope(from: &Element) -> Result<(String, Depth)> {
    let mut scopes = from.elements().filter(|element| element.is("scope"));
    let scope = scopes.next().ok_or_else(|| bad("DAV:from has no DAV:scope"))?;
    if scopes.next().is_some() {
        let error = Error::invalid("a query has one scope: search in each place, or in what holds them");
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

/// The one element in another.
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

/// Case counts only where a query says so.
fn caseless(element: &Element) -> bool {
    element.attribute("caseless") != Some("no")
}

fn literal(element: &Element) -> Result<Literal> {
    let given = element.dav("literal").or_else(|| element.dav("typed-literal"));
    let given = given.ok_or_else(|| bad(format!("{} has no DAV:literal", element.name)))?;
    let text = if given.keeps_space() { given.text() } else { text(given) };
    if text.len() > LONGEST_LITERAL {
        return Err(unsupported(format!("to compare with more than {LONGEST_LITERAL} bytes")));
    }
    Ok(Literal { text, caseless: caseless(element) })
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
    if *count > MOST_CONDITIONS {
        return Err(unsupported(format!("to ask for more than {MOST_CONDITIONS} conditions")));
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
        _ => Err(unknown()),
    }
}

/// The body of a query with this condition and what may stand behind it.
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
        let rest = "<D:orderby><D:order caseless='no'><D:prop><D:displayname/></D:prop><D:descending/></D:order></D:orderby>\
            <D:limit><D:nresults> 5 </D:nresults></D:limit>";
        let query = read(body("<D:is-collection/>", rest).as_bytes()).unwrap();
        let property = PropertyName { namespace: "DAV:".into(), name: "displayname".into() };
        assert_eq!(query.scope, ("/dav/".to_owned(), Depth::Infinity));
        assert_eq!(query.select, Asked::These(vec![property.clone()]));
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
            (body("<D:contains>x</D:contains>", ""), Some("unsupported_query")),
            (body(&eq(&"x".repeat(LONGEST_LITERAL)), ""), None),
            (body(&eq(&"x".repeat(LONGEST_LITERAL + 1)), ""), Some("unsupported_query")),
            (body(&format!("<D:and>{}</D:and>", eq(&"x".repeat(800)).repeat(5)), ""), None),
            (body(&format!("<D:and>{}</D:and>", eq(&"x".repeat(801)).repeat(5)), ""), Some("unsupported_query")),
            (body(&any(MOST_CONDITIONS - 1), ""), None),
            (body(&any(MOST_CONDITIONS), ""), Some("unsupported_query")),
            (body(&nested(55), ""), None),
            (body(&nested(70), ""), Some("invalid_xml")),
            (body("<D:is-collection/>", &orders(MOST_ORDERS)), None),
            (body("<D:is-collection/>", &orders(MOST_ORDERS + 1)), Some("unsupported_query")),
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
