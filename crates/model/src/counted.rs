//! Numbers of things in English messages.

/// The number and the thing, which gets an `s` behind it unless it is one: `1 BLOB`, `0 BLOBs`.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn only_one_is_singular() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "BLOB")), ["0 BLOBs", "1 BLOB", "2 BLOBs"]);
    }
}
