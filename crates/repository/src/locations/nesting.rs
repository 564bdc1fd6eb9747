//! Nesting of locations: whether one is, lies within or contains another, and the words that say so.

use std::path::Path;

/// Position of a location in relation to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nesting {
    /// They are the same.
    Same,
    /// It lies within the other one.
    Within,
    /// The other one lies within it.
    Around,
}

impl Nesting {
    /// Compares two directories by their real paths; none if they are separate.
    pub fn of_paths(place: &Path, other: &Path) -> Option<Self> {
        Self::between(place.starts_with(other), other.starts_with(place))
    }

    /// Compares two prefixes of one bucket; none if they are separate.
    pub fn of_prefixes(place: &str, other: &str) -> Option<Self> {
        Self::between(prefix_within(place, other), prefix_within(other, place))
    }

    fn between(is_within: bool, is_around: bool) -> Option<Self> {
        match (is_within, is_around) {
            (true, true) => Some(Self::Same),
            (true, false) => Some(Self::Within),
            (false, true) => Some(Self::Around),
            (false, false) => None,
        }
    }

    /// Says how `place` lies to `other`, which is `what`.
    pub fn sentence(self, place: &str, other: &str, what: &str) -> String {
        match self {
            Self::Same => format!("{place} is {what}"),
            Self::Within => format!("{place} lies within {other}, {what}"),
            Self::Around => format!("{other}, {what}, lies within {place}"),
        }
    }
}

/// Returns a prefix and every prefix around it; the bucket as a whole is last.
pub(super) fn prefixes(prefix: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(prefix), |prefix| {
        if prefix.is_empty() { None } else { Some(prefix.rsplit_once('/').map_or("", |(above, _)| above)) }
    })
}

/// Returns whether a prefix is the other or lies within it.
fn prefix_within(inner: &str, outer: &str) -> bool {
    prefixes(inner.trim_matches('/')).any(|above| above == outer.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_a_prefix_ends_with_the_bucket() {
        assert_eq!(prefixes("a/b/c").collect::<Vec<_>>(), ["a/b/c", "a/b", "a", ""]);
        assert_eq!(prefixes("").collect::<Vec<_>>(), [""]);
        assert!(prefix_within("a/b/", "a"));
        assert!(prefix_within("a", ""));
        assert!(prefix_within("/a", "a"));
        assert!(!prefix_within("ab", "a"));
        assert!(!prefix_within("a", "a/b"));
    }

    #[test]
    fn paths_and_prefixes_nest_by_whole_names() {
        for (place, other, nesting) in [
            ("a/b", "a/b", Some(Nesting::Same)),
            ("a/b/c", "a/b", Some(Nesting::Within)),
            ("a", "a/b", Some(Nesting::Around)),
            ("a/bc", "a/b", None),
        ] {
            assert_eq!(Nesting::of_prefixes(place, other), nesting, "{place} {other}");
            let (path, known) = (Path::new("/").join(place), Path::new("/").join(other));
            assert_eq!(Nesting::of_paths(&path, &known), nesting, "{place} {other}");
        }
        assert_eq!(Nesting::of_prefixes("", "/"), Some(Nesting::Same));
        assert_eq!(Nesting::of_prefixes("", "a"), Some(Nesting::Around));
        assert_eq!(Nesting::Within.sentence("a/b", "a", "a store"), "a/b lies within a, a store");
        assert_eq!(Nesting::Around.sentence("a", "a/b", "a store"), "a/b, a store, lies within a");
    }
}
