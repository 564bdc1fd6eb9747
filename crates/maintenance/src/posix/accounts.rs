//! Names of operating-system users and groups, from `/etc/passwd` and `/etc/group`.

use std::collections::HashMap;

use model::{Error, Result};

/// User and group numbers by name.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    users: HashMap<String, u32>,
    groups: HashMap<String, u32>,
}

impl Accounts {
    /// Reads the accounts of this machine. Without these files there are no names, only numbers.
    pub(crate) fn of_this_machine() -> Self {
        let read = |path| std::fs::read_to_string(path).map(|text| numbers(&text)).unwrap_or_default();
        Self { users: read("/etc/passwd"), groups: read("/etc/group") }
    }

    /// Returns the number of a user, given by name or number.
    pub(crate) fn user(&self, text: &str) -> Result<u32> {
        find(&self.users, text, "user", "/etc/passwd")
    }

    /// Returns the number of a group, given by name or number.
    pub(crate) fn group(&self, text: &str) -> Result<u32> {
        find(&self.groups, text, "group", "/etc/group")
    }

    /// Returns the name of a user, or the number if it has no name.
    pub(crate) fn user_name(&self, number: u32) -> String {
        let found = self.users.iter().find(|(_, known)| **known == number);
        found.map_or_else(|| number.to_string(), |(name, _)| name.clone())
    }

    /// Returns the name of a group, or the number if it has no name.
    pub(crate) fn group_name(&self, number: u32) -> String {
        let found = self.groups.iter().find(|(_, known)| **known == number);
        found.map_or_else(|| number.to_string(), |(name, _)| name.clone())
    }
}

/// Parses names and numbers, which are the first and third fields of a line.
fn numbers(text: &str) -> HashMap<String, u32> {
    let line = |line: &str| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        Some((name.to_owned(), number.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

fn find(known: &HashMap<String, u32>, text: &str, what: &str, file: &str) -> Result<u32> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    known.get(text).copied().ok_or_else(|| {
        Error::invalid(format!(
            "the mapping names the {what} \"{text}\", which is not in {file}: write the number instead"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_found() {
        let users = numbers("root:x:0:0::/root:/bin/sh\n# a comment\n\nann:x:1001:100::/home/ann:/bin/sh\nbad:x:y:1\n");
        assert_eq!(find(&users, "ann", "user", "").unwrap(), 1001);
        assert_eq!(find(&users, "4711", "user", "").unwrap(), 4711);
        assert!(find(&users, "bad", "user", "/etc/passwd").unwrap_err().message().contains("/etc/passwd"));
    }
}
