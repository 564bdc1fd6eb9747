//! Evaluation of a query's condition in the three-valued logic of RFC 5323. A comparison with a missing or incomparable
//! property is unknown.

use std::borrow::Cow;
use std::cmp::Ordering;

use model::Timestamp;

use super::bodies::PropertyName;
use super::query::{Comparison, Condition, Literal};
use http_core::protocol::{conditional, time};

/// A comparable value of a property.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value<'a> {
    /// A whole number.
    Number(u64),
    /// A time in seconds.
    Time(i64),
    /// A text.
    Text(Cow<'a, str>),
}

/// A resource to which a condition is applied.
pub trait Subject {
    /// Returns the value of a property, if it has a comparable one.
    fn value(&self, name: &PropertyName) -> Option<Value<'_>>;
    /// Returns whether the resource has a property.
    fn has(&self, name: &PropertyName) -> bool;
    /// True if it is a container.
    fn is_collection(&self) -> bool;
    /// Returns whether its content has these words; `None` if that is not known.
    fn contains(&self, text: &str) -> Option<bool>;
}

/// Returns the text in the form used for comparison.
pub fn comparison_form(text: &str, caseless: bool) -> String {
    if caseless { model::fold(text) } else { text.to_owned() }
}

impl Condition {
    /// Returns whether the condition holds, or `None` for unknown.
    pub fn holds(&self, subject: &impl Subject) -> Option<bool> {
        match self {
            Self::And(all) => decide(all, subject, false),
            Self::Or(all) => decide(all, subject, true),
            Self::Not(one) => one.holds(subject).map(|holds| !holds),
            Self::IsCollection => Some(subject.is_collection()),
            Self::IsDefined(name) => Some(subject.has(name)),
            Self::Contains(text) => subject.contains(text),
            Self::Like(name, pattern) => match subject.value(name)? {
                Value::Text(text) => {
                    let caseless = pattern.caseless;
                    Some(is_like(&comparison_form(&text, caseless), &comparison_form(&pattern.text, caseless)))
                }
                Value::Number(_) | Value::Time(_) => None,
            },
            Self::Compare(name, by, literal) => {
                let order = literal.compared(&subject.value(name)?)?;
                Some(match by {
                    Comparison::Equal => order.is_eq(),
                    Comparison::Less => order.is_lt(),
                    Comparison::AtMost => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::AtLeast => order.is_ge(),
                })
            }
        }
    }
}

/// Combines conditions: a single `decisive` result decides. Otherwise one unknown makes the result unknown.
fn decide(all: &[Condition], subject: &impl Subject, decisive: bool) -> Option<bool> {
    let mut answer = Some(!decisive);
    for one in all {
        match one.holds(subject) {
            Some(holds) if holds == decisive => return Some(decisive),
            Some(_) => {}
            None => answer = None,
        }
    }
    answer
}

impl Literal {
    /// Compares a value with this literal. `None` when the literal has another type.
    fn compared(&self, value: &Value<'_>) -> Option<Ordering> {
        match value {
            Value::Text(text) => {
                Some(comparison_form(text, self.caseless).cmp(&comparison_form(&self.text, self.caseless)))
            }
            Value::Number(number) => Some(i128::from(*number).cmp(&self.text.parse().ok()?)),
            Value::Time(seconds) => {
                let other = conditional::parse_date(&self.text);
                let other = other.or_else(|| time::parse(&self.text).ok().map(Timestamp::seconds))?;
                Some(seconds.cmp(&other))
            }
        }
    }
}

/// Returns whether a text matches a pattern, in which `%` stands for any characters, `_` for one, and `\` escapes the
/// next. The cost is at most the product of both lengths, whatever the pattern.
fn is_like(text: &str, pattern: &str) -> bool {
    #[derive(Clone, Copy)]
    enum Part {
        Any,
        One,
        This(char),
    }
    let mut parts = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        parts.push(match c {
            '%' => Part::Any,
            '_' => Part::One,
            '\\' => Part::This(chars.next().unwrap_or('\\')),
            other => Part::This(other),
        });
    }
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut part, mut retry) = (0, 0, None);
    while at < text.len() {
        match parts.get(part) {
            Some(Part::Any) => {
                retry = Some((at, part));
                part += 1;
                continue;
            }
            Some(Part::One) => {
                (at, part) = (at + 1, part + 1);
                continue;
            }
            Some(Part::This(c)) if *c == text[at] => {
                (at, part) = (at + 1, part + 1);
                continue;
            }
            _ => {}
        }
        // Backtracks: the last `%` takes one character more.
        let Some((from, star)) = retry else { return false };
        retry = Some((from + 1, star));
        (at, part) = (from + 1, star + 1);
    }
    parts[part..].iter().all(|rest| matches!(rest, Part::Any))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::query::{body, read};

    struct Thing;

    impl Subject for Thing {
        fn value(&self, name: &PropertyName) -> Option<Value<'_>> {
            match name.name.as_str() {
                "displayname" => Some(Value::Text("Plan 100%.txt".into())),
                "getcontentlength" => Some(Value::Number(500)),
                "getlastmodified" => Some(Value::Time(1_000_000_000)),
                _ => None,
            }
        }

        fn has(&self, name: &PropertyName) -> bool {
            name.name == "resourcetype" || self.value(name).is_some()
        }

        fn is_collection(&self) -> bool {
            false
        }

        fn contains(&self, text: &str) -> Option<bool> {
            (text != "anything").then_some(text == "plans")
        }
    }

    #[test]
    fn conditions_hold_do_not_or_are_unknown() {
        let compare = |by: &str, property: &str, literal: &str| {
            format!("<D:{by}><D:prop><D:{property}/></D:prop><D:literal>{literal}</D:literal></D:{by}>")
        };
        let like = |pattern: &str| compare("like", "displayname", pattern);
        let defined = |name: &str| format!("<D:is-defined><D:prop><D:{name}/></D:prop></D:is-defined>");
        let (yes, no) = (defined("displayname"), "<D:is-collection/>".to_owned());
        let unknown = compare("eq", "nothing", "x");
        for (given, expected) in [
            (compare("eq", "displayname", "PLAN 100%.TXT"), Some(true)),
            (compare("eq", "displayname", "PLAN 100%.TXT").replace("<D:eq>", "<D:eq caseless='no'>"), Some(false)),
            (compare("gt", "getcontentlength", "499"), Some(true)),
            (compare("gt", "getcontentlength", "-1"), Some(true)),
            (compare("lte", "getcontentlength", "499"), Some(false)),
            (compare("gt", "getcontentlength", "many"), None),
            (compare("like", "getcontentlength", "5%"), None),
            (compare("lt", "getlastmodified", "2002-01-01T00:00:00Z"), Some(true)),
            (compare("gte", "getlastmodified", "Sun, 09 Sep 2001 01:46:40 GMT"), Some(true)),
            (compare("eq", "getlastmodified", "then"), None),
            (unknown.clone(), None),
            (compare("eq", "resourcetype", "x"), None),
            (format!("<D:not>{unknown}</D:not>"), None),
            (format!("<D:not>{no}</D:not>"), Some(true)),
            (format!("<D:or>{unknown}{yes}</D:or>"), Some(true)),
            (format!("<D:or>{unknown}{no}</D:or>"), None),
            (format!("<D:or>{no}{no}</D:or>"), Some(false)),
            (format!("<D:and>{unknown}{no}</D:and>"), Some(false)),
            (format!("<D:and>{unknown}{yes}</D:and>"), None),
            (format!("<D:and>{yes}{yes}</D:and>"), Some(true)),
            ("<D:contains> plans </D:contains>".to_owned(), Some(true)),
            ("<D:not><D:contains>plans</D:contains></D:not>".to_owned(), Some(false)),
            ("<D:not><D:contains>anything</D:contains></D:not>".to_owned(), None),
            (defined("resourcetype"), Some(true)),
            (defined("nothing"), Some(false)),
            (like("plan%"), Some(true)),
            (like("%100\\%.t_t"), Some(true)),
            (like("%100_txt"), Some(false)),
            (like("%100\\_.txt"), Some(false)),
            (like("%"), Some(true)),
            (like("%%_%"), Some(true)),
            (like(""), Some(false)),
            (like("%x%x%x%"), Some(false)),
        ] {
            let query = read(body(&given, "").as_bytes()).unwrap();
            assert_eq!(query.condition.unwrap().holds(&Thing), expected, "{given}");
        }
    }

    #[test]
    fn a_pattern_made_to_be_slow_is_not() {
        assert!(!is_like(&"a".repeat(20_000), &format!("{}b", "a%".repeat(200))));
    }
}
