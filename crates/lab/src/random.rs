//! Random words, for names and passwords. Independent of runs.

use crate::error::{Error, Result};

/// Letters of passwords: 32, so that every random byte gives one of them with the same probability.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Returns a random word of eight letters, so that the names of different runs differ.
pub fn random_word() -> String {
    std::iter::repeat_with(fastrand::lowercase).take(8).collect()
}

/// Returns a password of this many characters, from the system's random source.
///
/// # Errors
/// If the system has no random numbers.
pub fn random_password(length: usize) -> Result<String> {
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(format!("the system cannot supply random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_do_not_come_from_the_seeded_generator() {
        let mut passwords = (0..2).map(|_| {
            fastrand::seed(7);
            random_password(24).unwrap()
        });
        let (one, other) = (passwords.next().unwrap(), passwords.next().unwrap());
        assert!(one.len() == 24, "{one}");
        assert!(one != other, "{one}");
    }
}
