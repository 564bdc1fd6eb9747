//! Letters and words by chance, for names and passwords. Knows no run.

/// A word that no other run uses.
pub fn random_word() -> String {
    std::iter::repeat_with(random_letter).take(8).collect()
}

/// A small letter, for names and for passwords of scratch farms that listen on this machine only.
pub fn random_letter() -> char {
    fastrand::lowercase()
}
