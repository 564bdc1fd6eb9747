//! The `If` field (RFC 4918, 10.4): required states of resources.

use std::collections::BTreeSet;

use model::{Code, Error, Result};

/// Limit on conditions in one field. Each list can name a resource that must be looked up, and each token is compared
/// with each lock.
const MAX_CONDITIONS: usize = 100;

/// A parsed `If` field. It holds when one of its lists does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct If(pub Vec<List>);

/// Conditions for one resource, all of which must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// URL of the resource; `None` for the target of the request.
    pub resource: Option<String>,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// True if the condition is negated.
    pub not: bool,
    /// Required state.
    pub state: State,
}

/// A state of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Locked with this token.
    Token(String),
    /// Has this entity tag, including quotes.
    Etag(String),
}

/// Current state of a resource.
#[derive(Clone, Debug, Default)]
pub struct Present {
    /// Entity tag, including quotes.
    pub etag: Option<String>,
    /// Tokens of its locks.
    pub tokens: Vec<String>,
}

fn bad() -> Error {
    Error::invalid("the field If cannot be read").with_code(Code::InvalidIf)
}

/// Parses the field.
pub fn parse(text: &str) -> Result<If> {
    let (mut rest, mut resource, mut lists, mut count) = (text.trim(), None, Vec::new(), 0);
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('<') {
            let (address, tail) = tail.split_once('>').ok_or_else(bad)?;
            // Tagged and untagged lists must not be mixed, and each tag needs a list.
            if (resource.is_none() && !lists.is_empty()) || !tail.trim_start().starts_with('(') {
                return Err(bad());
            }
            resource = Some(address.to_owned());
            rest = tail.trim_start();
            continue;
        }
        let (conditions, tail) = list(rest.strip_prefix('(').ok_or_else(bad)?)?;
        count += conditions.len();
        if count > MAX_CONDITIONS {
            let text = format!("the field If has more than {MAX_CONDITIONS} conditions: name fewer tokens and tags");
            return Err(Error::invalid(text).with_code(Code::InvalidIf));
        }
        lists.push(List { resource: resource.clone(), conditions });
        rest = tail.trim_start();
    }
    if lists.is_empty() { Err(bad()) } else { Ok(If(lists)) }
}

/// Parses the conditions up to the closing parenthesis. Also returns the rest of the text.
fn list(text: &str) -> Result<(Vec<Condition>, &str)> {
    let (mut rest, mut conditions) = (text.trim_start(), Vec::new());
    loop {
        if let Some(tail) = rest.strip_prefix(')') {
            return if conditions.is_empty() { Err(bad()) } else { Ok((conditions, tail)) };
        }
        let not = rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("not"));
        if not {
            rest = rest[3..].trim_start();
        }
        let state = if let Some(tail) = rest.strip_prefix('<') {
            let (token, tail) = tail.split_once('>').ok_or_else(bad)?;
            rest = tail;
            State::Token(token.to_owned())
        } else if let Some(tail) = rest.strip_prefix('[') {
            let (tag, tail) = tail.split_once(']').ok_or_else(bad)?;
            rest = tail;
            State::Etag(tag.to_owned())
        } else {
            return Err(bad());
        };
        conditions.push(Condition { not, state });
        rest = rest.trim_start();
    }
}

impl If {
    /// Returns all lock tokens in the field, each once. Naming a token submits it.
    pub fn tokens(&self) -> Vec<String> {
        let conditions = self.0.iter().flat_map(|list| &list.conditions);
        let tokens = conditions.filter_map(|condition| match &condition.state {
            State::Token(token) => Some(token.clone()),
            State::Etag(_) => None,
        });
        tokens.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

impl List {
    /// Returns whether all conditions hold.
    pub fn holds(&self, present: &Present) -> bool {
        self.conditions.iter().all(|condition| condition.not != condition.state.holds(present))
    }

    /// Returns whether the list requires an entity tag.
    pub fn names_etag(&self) -> bool {
        self.conditions.iter().any(|condition| !condition.not && matches!(condition.state, State::Etag(_)))
    }
}

impl State {
    fn holds(&self, present: &Present) -> bool {
        match self {
            Self::Token(token) => present.tokens.contains(token),
            Self::Etag(tag) => present.etag.as_ref() == Some(tag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_judged() {
        let present = Present { etag: Some("\"e\"".into()), tokens: vec!["urn:a".into()] };
        let holds = |text: &str| parse(text).map(|parsed| parsed.0.iter().any(|list| list.holds(&present)));
        for (text, expected) in [
            ("(<urn:a>)", true),
            ("(<urn:b>)", false),
            ("(<urn:b>) (<urn:a> [\"e\"])", true),
            ("(<urn:a> [\"x\"])", false),
            ("(Not <urn:b>)", true),
            ("(NOT <urn:a>) ( not [\"x\"] )", true),
            ("(<urn:x>) (Not <DAV:no-lock>)", true),
            ("</dav/a> (<urn:a>)", true),
            ("<http://h/dav/a>(<urn:b>)(<urn:a>)<http://h/b>([W/\"e\"])", true),
        ] {
            assert_eq!(holds(text).unwrap(), expected, "{text}");
        }
        for bad in ["", "()", "(<a>", "<a>", "urn:a", "(<a>) <b> (<c>)", "(x)", "([\"e\")", "(Not)", "<a> <b> (<c>)"] {
            assert!(holds(bad).is_err(), "{bad}");
        }
        assert!(parse(&"(<t>)".repeat(MAX_CONDITIONS)).is_ok());
        assert!(parse(&"(<t>)".repeat(MAX_CONDITIONS + 1)).is_err());
        assert!(parse(&format!("({})", "<t>".repeat(MAX_CONDITIONS + 1))).is_err());
        let tagged = parse("<a> (<t>) <b> (Not <u>)").unwrap();
        assert_eq!(tagged.0[1].resource.as_deref(), Some("b"));
        assert_eq!(tagged.tokens(), ["t", "u"]);
    }
}
