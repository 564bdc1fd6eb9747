//! Owns the declaration of closed sets of words: enumerations whose values are stored and sent as words that never
//! change. Knows no such set.

use crate::Error;

/// Declares an enumeration with the word of each value. The subject names the set in messages.
macro_rules! words {
    (
        $(#[$about:meta])*
        $name:ident: $subject:literal;
        $($(#[$meaning:meta])* $value:ident = $word:literal,)+
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$meaning])* $value,)+
        }

        impl $name {
            /// All values.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value,)+];

            /// Names the set in messages.
            pub const SUBJECT: &str = $subject;

            /// Returns the word used in the database and in the API.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }

            /// Parses a word that a user or a client gave.
            ///
            /// # Errors
            /// `Invalid` for an unknown word.
            pub fn parse(word: &str) -> $crate::Result<Self> {
                let found = Self::ALL.into_iter().find(|known| known.as_str() == word);
                found.ok_or_else(|| $crate::words::unknown(Self::SUBJECT, &Self::ALL.map(Self::as_str)))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;

/// Returns the error for a word that is none of a set.
pub(crate) fn unknown(subject: &str, words: &[&str]) -> Error {
    let (last, others) = words.split_last().unwrap_or((&"", &[]));
    Error::invalid(format!("{subject} is {} or {last}", others.join(", ")))
}

#[cfg(test)]
mod tests {
    use crate::{
        BackupState, ErrorKind, FaultState, FormulaFault, JobKind, JobPhase, JobState, JobStatus, NodeKind,
        PendingReason, PolicyLevel, ReclaimReason, ReclaimState, RecycleStage, RequestedState, SearchAlert, StoreKind,
        StoreState, Theme,
    };

    #[test]
    fn each_value_has_a_word_of_its_own() {
        macro_rules! round_trip {
            ($($set:ident)+) => {$(
                for value in $set::ALL {
                    assert_eq!($set::parse(value.as_str()).unwrap(), value);
                    assert_eq!(value.to_string(), value.as_str());
                }
                assert_eq!($set::parse("no such word").unwrap_err().kind(), ErrorKind::Invalid);
            )+};
        }
        round_trip!(BackupState FaultState JobKind JobPhase JobState JobStatus RequestedState NodeKind);
        round_trip!(PendingReason PolicyLevel ReclaimReason ReclaimState RecycleStage StoreKind StoreState Theme);
        round_trip!(SearchAlert FormulaFault);
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_known_ones() {
        let refused = StoreState::parse("open").unwrap_err();
        assert_eq!(refused.message(), "the state of a BLOB store is active, read-only or draining");
    }
}
