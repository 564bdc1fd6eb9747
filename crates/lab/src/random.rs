//! Random letters and words, for names and passwords. Independent of runs.

/// Returns a random word of eight letters, so that the names of different runs differ.
pub fn random_word() -> String {
    std::iter::repeat_with(random_letter).take(8).collect()
}

/// Returns a random lower-case letter, for names and for passwords of accounts that exist only during a run. The
/// generator is not cryptographically secure.
pub fn random_letter() -> char {
    fastrand::lowercase()
}
