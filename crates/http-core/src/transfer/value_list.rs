//! Several values in one text, as forms, grids and files have them: `a; b`. A value that could be misread stands in
//! quotation marks, with two for each of its own, as in CSV.

/// Separator between two values.
const SEPARATOR: char = ';';
/// Mark around a value.
const QUOTE: char = '"';

/// Joins values into one text.
pub fn join<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for value in values {
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&quoted(value.as_ref()));
    }
    text
}

/// Returns a value as it stands in a text of several.
fn quoted(value: &str) -> String {
    let is_plain = !value.is_empty() && value.trim() == value && !value.contains([SEPARATOR, QUOTE]);
    if is_plain { value.to_owned() } else { format!("\"{}\"", value.replace(QUOTE, "\"\"")) }
}

/// Reason why a text cannot be split into values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFault {
    /// A quotation mark is missing, or something other than a separator follows one.
    Quotes,
    /// There are more values than the limit.
    TooMany,
}

/// Splits a text into its values, at most `limit`. White space around them, and empty ones without quotation marks, are
/// left out.
///
/// # Errors
/// See [`ListFault`].
pub fn split(text: &str, limit: usize) -> Result<Vec<String>, ListFault> {
    let (mut values, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let after = match rest.strip_prefix(QUOTE) {
            Some(quoted) => {
                let (value, after) = unquoted(quoted).ok_or(ListFault::Quotes)?;
                values.push(value);
                after.trim_start()
            }
            None => {
                let (value, after) = rest.split_at(rest.find(SEPARATOR).unwrap_or(rest.len()));
                values.extend(Some(value.trim().to_owned()).filter(|value| !value.is_empty()));
                after
            }
        };
        if values.len() > limit {
            return Err(ListFault::TooMany);
        }
        rest = match after.strip_prefix(SEPARATOR) {
            Some(next) => next.trim_start(),
            None if after.is_empty() => after,
            None => return Err(ListFault::Quotes),
        };
    }
    Ok(values)
}

/// Reads a value up to its closing mark, and returns it with what follows.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut rest) = (String::new(), text);
    loop {
        let (part, after) = rest.split_once(QUOTE)?;
        value.push_str(part);
        match after.strip_prefix(QUOTE) {
            Some(after) => {
                value.push(QUOTE);
                rest = after;
            }
            None => return Some((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_read_as_people_type_them() {
        for (text, values) in [
            ("", vec![]),
            (" ; ;", vec![]),
            ("a", vec!["a"]),
            (" a ;b;  c d ; ", vec!["a", "b", "c d"]),
            ("\"a; b\"; c", vec!["a; b", "c"]),
            ("\"say \"\"hi\"\"\" ;x", vec!["say \"hi\"", "x"]),
            ("5\" pipe; x", vec!["5\" pipe", "x"]),
            ("\"\"; a", vec!["", "a"]),
        ] {
            let values: Vec<String> = values.into_iter().map(str::to_owned).collect();
            assert_eq!(split(text, 3), Ok(values), "{text}");
        }
        for bad in ["\"", "\"a", "\"a\" b", "a; \"b\"\"", "\"a\"\"; b"] {
            assert_eq!(split(bad, 3), Err(ListFault::Quotes), "{bad}");
        }
        assert_eq!(split("a; \"b\"; ; c", 2), Err(ListFault::TooMany));
    }

    #[test]
    fn values_are_quoted_only_where_they_must_be() {
        assert_eq!(join(["Website (17)", "a;b", "\"", " x"]), "Website (17); \"a;b\"; \"\"\"\"; \" x\"");
    }

    proptest! {
        #[test]
        fn joined_values_are_split_again(values in proptest::collection::vec("[a; \"\u{e9}\n]{0,6}", 0..6)) {
            prop_assert_eq!(split(&join(&values), 6), Ok(values));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a; \"]{0,12}") {
            if let Ok(values) = split(&text, 12) {
                prop_assert_eq!(split(&join(&values), 12), Ok(values));
            }
        }
    }
}
