//! Parsing of requests takes linear time, up to the largest accepted length. The test measures this thread's CPU time
//! for a length and for four times that length. A quadratic algorithm takes sixteen times as long.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::bodies::{self, PropertyName};
use super::evaluation::{Subject, Value};
use super::{condition, headers, query, xml};
use http_core::protocol::{cursor, range};
use http_core::server::edge::MAX_HEAD;

/// Maximum growth of the time for four times the length, with a margin for other load (`FACTOR`), and a duration too
/// short to count (`NOTHING`).
const FACTOR: u32 = 9;
const NOTHING: Duration = Duration::from_millis(2);
/// Number of further measurements after one that does not fit: other load can slow a thread down, but not every time.
const ATTEMPTS: usize = 4;
/// Limit on bytes of an XML body.
const BODY: usize = 1 << 20;

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// Returns the minimum CPU time of several runs.
fn cost(work: impl Fn()) -> Duration {
    let once = || {
        let begun = now();
        work();
        now() - begun
    };
    (0..3).map(|_| once()).min().unwrap()
}

/// Asserts that inputs created by `made` are parsed in linear time, up to the length `most`.
fn assert_linear(what: &str, most: usize, made: impl Fn(usize) -> String, read: impl Fn(&str)) {
    let (quarter, whole) = (made(most / 4), made(most));
    assert!(whole.len() <= most, "{what}: {} bytes of {most}", whole.len());
    assert!(whole.len() > most / 2, "{what}: {} bytes of {most}", whole.len());
    let measure = || (cost(|| read(&quarter)), cost(|| read(&whole)));
    let is_linear = |(some, all): &(Duration, Duration)| *all <= *some * FACTOR + NOTHING;
    let mut attempts = (0..ATTEMPTS).map(|_| measure());
    let first = measure();
    assert!(
        is_linear(&first) || attempts.any(|times| is_linear(&times)),
        "{what}: {first:?} for a quarter and the whole"
    );
}

/// Repeats `text` up to a length.
fn again(text: &str, length: usize) -> String {
    text.repeat(length / text.len())
}

#[test]
fn fields_of_a_request_are_read_in_linear_time() {
    let conditions = |length: usize| format!("(<{}>)", "t".repeat(length / 100 - 4)).repeat(100);
    for (what, made) in [
        ("100 tokens", &conditions as &dyn Fn(usize) -> String),
        ("one address", &|length| format!("<{}> (<t>)", "a".repeat(length - 8))),
        ("addresses without an end", &|length| again("<a> ", length)),
        ("open lists", &|length| again("(", length)),
        ("open tags", &|length| "(".to_owned() + &again("[", length - 1)),
        ("spaces", &|length| format!("(<t>{})", again(" ", length - 5))),
    ] {
        assert_linear(&format!("If: {what}"), MAX_HEAD, made, |text| drop(condition::parse(text)));
    }
    for (what, made) in [
        ("digits", &(|length: usize| format!("bytes=0-{}", again("9", length - 8))) as &dyn Fn(usize) -> String),
        ("many parts", &|length| format!("bytes={}", again("0-0,", length - 8))),
        ("dashes", &|length| format!("bytes={}", again("-", length - 6))),
    ] {
        assert_linear(&format!("Range: {what}"), MAX_HEAD, made, |text| {
            let _ = range::wanted(Some(text), 1 << 40);
        });
    }
    let fields = |text: &str| {
        let mut fields = axum::http::HeaderMap::new();
        fields.insert("timeout", text.parse().unwrap());
        drop(headers::timeout(&fields));
    };
    assert_linear("Timeout", MAX_HEAD, |length| again("Second-1, ", length), fields);
}

#[test]
fn positions_in_a_listing_are_read_in_linear_time() {
    let most = 4_096;
    let made = |length: usize| cursor::encode(["n", &"a".repeat(length * 3 / 4 - 8)]);
    assert_linear("a cursor", most, made, |text| drop(cursor::decode::<2>(text)));
    let parts = |length: usize| cursor::encode(vec!["a"; length * 3 / 8 - 2]);
    assert_linear("a cursor of many parts", most, parts, |text| drop(cursor::decode::<2>(text)));
    // A longer cursor is rejected without decoding.
    assert_eq!(cursor::decode::<2>(&made(2 * most)).unwrap_err().code(), "invalid_cursor");
}

#[test]
fn xml_is_read_and_written_in_linear_time() {
    let around = |head: &str, inner: String| format!("<a xmlns:p='u'{head}>{inner}</a>");
    let attributes: String = (0..99).map(|n| format!(" p:a{n}=''")).collect();
    let declared: String = (0..99).map(|n| format!(" xmlns:q{n}='u{n}'")).collect();
    let inside = |text: &str, length: usize| around("", again(text, length - 40));
    for (what, made) in [
        ("text", &(|length: usize| inside("text ", length)) as &dyn Fn(usize) -> String),
        ("escapes", &|length| inside("&lt;", length)),
        ("pieces", &|length| inside("<![CDATA[a]]>", length)),
        ("comments", &|length| inside("<!---->", length)),
        ("attributes", &|length| inside(&format!("<p:b{attributes}/>"), length)),
        ("names with many namespaces in force", &|length| {
            around(&declared, again(&format!("<p:b{attributes}/>"), length - 2_000))
        }),
        ("one value", &|length| format!("<a b='{}'/>", again("&#10;", length - 20))),
        ("what does not end", &|length| again("<", length)),
    ] {
        let read = |text: &str| drop(xml::parse(text.as_bytes()).map(|element| element.written(usize::MAX)));
        assert_linear(&format!("XML: {what}"), BODY, made, read);
    }
    let elements = |length: usize| inside(&format!("<b>{}</b>", "t".repeat(100)), length);
    let read = |text: &str| assert!(xml::parse(text.as_bytes()).is_ok());
    assert_linear("XML: 9,800 elements", BODY, elements, read);
    let steps = |length: usize| {
        let values = format!("<D:set><D:prop><D:x>{}</D:x></D:prop></D:set>", "v".repeat(length / 1_000 - 50));
        format!("<D:propertyupdate xmlns:D='DAV:'>{}</D:propertyupdate>", values.repeat(990))
    };
    assert_linear("PROPPATCH", BODY, steps, |text| assert!(bodies::proppatch(text.as_bytes()).is_ok()));
}

/// A subject with the text that is most expensive to compare.
struct Thing(String);

impl Subject for Thing {
    fn value(&self, _: &PropertyName) -> Option<Value<'_>> {
        Some(Value::Text(self.0.as_str().into()))
    }

    fn has(&self, _: &PropertyName) -> bool {
        true
    }

    fn is_collection(&self) -> bool {
        false
    }

    fn contains(&self, _: &str) -> Option<bool> {
        None
    }
}

#[test]
fn the_hardest_query_is_judged_in_linear_time() {
    let like = |length: usize| {
        let pattern = format!("%{}b", "a".repeat(length - 2));
        format!("<D:like><D:prop><D:x/></D:prop><D:literal>{pattern}</D:literal></D:like>")
    };
    // As deep as a body may be, with a condition on each level and all literals at their maximum length.
    let nested = |length: usize| {
        let each = like(length / 21);
        let begin = format!("<D:or>{each}<D:not>").repeat(20);
        query::body(&format!("{begin}{each}{}", "</D:not></D:or>".repeat(20)), "")
    };
    let judge = |length: usize, text: usize| {
        let query = query::read(nested(length).as_bytes()).unwrap();
        let (condition, thing) = (query.condition.unwrap(), Thing("a".repeat(text)));
        cost(|| assert!(condition.holds(&thing).is_some()))
    };
    let most = 3_900;
    assert!(query::read(nested(2 * most).as_bytes()).is_err(), "longer literals are refused");
    let (short, long, both) = (judge(most / 4, 2_500), judge(most, 2_500), judge(most, 10_000));
    println!("literals: {short:?} and {long:?}; texts: {long:?} and {both:?}");
    assert!(long <= short * FACTOR + NOTHING, "{short:?} and {long:?} for literals four times as long");
    assert!(both <= long * FACTOR + NOTHING, "{long:?} and {both:?} for a text four times as long");
}
