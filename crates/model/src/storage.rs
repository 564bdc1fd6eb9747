//! Storage policies: the levels that they apply to, and their rules beyond store and size, which are the file types
//! that are externalised and the BLOBs that move to another store when they have aged.

use crate::name::extension;
use crate::words::words;
use crate::{Error, Id, Result};

/// Limit on the file types of one policy.
const MAX_TYPES: usize = 200;
/// Limit on the tiers of one policy.
const MAX_TIERS: usize = 8;
/// The longest age of a tier, in days.
const MAX_DAYS: u32 = 36_500;
/// First line of the stored text.
const VERSION: &str = "1";

words! {
    /// The level that a storage policy applies to. A policy inherits what it leaves out from the level above.
    PolicyLevel: "the kind of a storage policy";
    /// A content database, the top level.
    Database = "database",
    /// A site collection.
    Collection = "collection",
    /// A library.
    Library = "library",
}

/// Start of the age of a BLOB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierBasis {
    /// Time at which it was stored.
    Age,
    /// The day on which it was last read; the time at which it was stored if it never was.
    Access,
}

impl TierBasis {
    /// Returns the name used in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Access => "access",
        }
    }

    /// Parses the word.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "age" => Ok(Self::Age),
            "access" => Ok(Self::Access),
            _ => Err(Error::invalid(format!("a tier counts from age or access, not from \"{text}\""))),
        }
    }
}

/// A tier: the store to which BLOBs move when they have aged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The event from which the age is counted.
    pub basis: TierBasis,
    /// Age in days.
    pub days: u32,
    /// The store to which they move.
    pub store: Id,
}

/// The rules of a policy. Absent ones are inherited from the policy above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageRules {
    /// File types (extensions in lower case, without the dot) whose BLOBs are externalised from the content database;
    /// all types when the list is empty.
    pub types: Option<Vec<String>>,
    /// Tiers to which BLOBs move as they age; none when the list is empty.
    pub tiers: Option<Vec<Tier>>,
}

impl StorageRules {
    /// Checks the rules and normalises the spelling of file types and the order of both lists.
    pub fn checked(mut self) -> Result<Self> {
        if let Some(types) = &mut self.types {
            for kind in types.iter_mut() {
                *kind = kind.trim_start_matches('.').to_lowercase();
                let fits = (1..=32).contains(&kind.chars().count());
                if !fits || kind.chars().any(|c| c.is_control() || c.is_whitespace() || c == '/' || c == '.') {
                    return Err(Error::invalid(format!(
                        "\"{kind}\" is not a file type: give an extension such as pdf"
                    )));
                }
            }
            types.sort();
            types.dedup();
            if types.len() > MAX_TYPES {
                return Err(Error::invalid(format!("a policy names at most {MAX_TYPES} file types")));
            }
        }
        if let Some(tiers) = &mut self.tiers {
            tiers.sort_by_key(|tier| tier.days);
            if tiers.len() > MAX_TIERS {
                return Err(Error::invalid(format!("a policy has at most {MAX_TIERS} tiers")));
            }
            if tiers.iter().any(|tier| tier.days == 0 || tier.days > MAX_DAYS) {
                return Err(Error::invalid(format!("a tier begins after 1 to {MAX_DAYS} days")));
            }
            if let Some(pair) = tiers.windows(2).find(|pair| pair[0].days == pair[1].days) {
                return Err(Error::invalid(format!(
                    "two tiers begin after {}, and BLOBs of that age can move to one store only: give them different \
                    days",
                    crate::counted(pair[0].days.into(), "day")
                )));
            }
        }
        Ok(self)
    }

    /// Returns whether BLOBs of a document with this name may be externalised.
    pub fn goes_outside(&self, name: &str) -> bool {
        let Some(types) = self.types.as_ref().filter(|types| !types.is_empty()) else { return true };
        types.binary_search(&extension(name)).is_ok()
    }

    /// Returns these rules, completed by those of the policy above.
    pub fn or(&self, above: &Self) -> Self {
        Self {
            types: self.types.clone().or_else(|| above.types.clone()),
            tiers: self.tiers.clone().or_else(|| above.tiers.clone()),
        }
    }

    /// Returns the stored text: a line with its version, then a line for each rule. The lines `types` and `tiers` show
    /// that a list is given, even an empty one.
    pub fn to_text(&self) -> String {
        let mut text = format!("{VERSION}\n");
        if let Some(types) = &self.types {
            text.push_str("types\n");
            types.iter().for_each(|kind| text.push_str(&format!("type {kind}\n")));
        }
        if let Some(tiers) = &self.tiers {
            text.push_str("tiers\n");
            for tier in tiers {
                text.push_str(&format!("tier {} {} {}\n", tier.basis.as_str(), tier.days, tier.store.get()));
            }
        }
        text
    }

    /// Parses the stored text.
    ///
    /// # Errors
    /// `Invalid` for a text of a newer version or one that was not written by [`Self::to_text`].
    pub fn from_text(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        if lines.next() != Some(VERSION) {
            return Err(Error::invalid("a storage policy was written by a newer version of Strongroom"));
        }
        let mut rules = Self::default();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["types"] => rules.types = Some(Vec::new()),
                ["tiers"] => rules.tiers = Some(Vec::new()),
                ["type", kind] => rules.types.get_or_insert_default().push((*kind).to_owned()),
                ["tier", basis, days, store] => {
                    let (Ok(days), Ok(store)) = (days.parse(), store.parse()) else { return Err(garbled(line)) };
                    let tier = Tier { basis: TierBasis::parse(basis)?, days, store: Id::new(store) };
                    rules.tiers.get_or_insert_default().push(tier);
                }
                _ => return Err(garbled(line)),
            }
        }
        Ok(rules)
    }
}

fn garbled(line: &str) -> Error {
    Error::invalid(format!("a stored storage policy has a line that cannot be read: \"{line}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> StorageRules {
        let tiers = vec![Tier { basis: TierBasis::Access, days: 90, store: Id::new(7) }];
        StorageRules { types: Some(vec![".PDF".into(), "tiff".into(), "pdf".into()]), tiers: Some(tiers) }
    }

    #[test]
    fn the_stored_text_is_the_one_that_was_always_written() {
        let text = rules().checked().unwrap().to_text();
        assert_eq!(text, "1\ntypes\ntype pdf\ntype tiff\ntiers\ntier access 90 7\n");
        assert_eq!(StorageRules::from_text(&text).unwrap(), rules().checked().unwrap());
        assert_eq!(StorageRules::from_text("1\n").unwrap(), StorageRules::default());
        assert!(StorageRules::from_text("2\n").is_err());
        assert!(StorageRules::from_text("1\ntier age x 7\n").is_err());
    }

    #[test]
    fn file_types_decide_by_the_last_extension_whatever_its_case() {
        let rules = rules().checked().unwrap();
        assert!(rules.goes_outside("Plan.v2.PDF"));
        assert!(!rules.goes_outside("Plan.pdf.txt"));
        assert!(!rules.goes_outside("pdf"));
        assert!(!rules.goes_outside(".pdf"), "a name that begins with its only dot has no extension");
        assert!(StorageRules::default().goes_outside("anything"));
        assert!(StorageRules { types: Some(Vec::new()), tiers: None }.goes_outside("anything"));
    }

    #[test]
    fn what_is_absent_comes_from_above() {
        let own = StorageRules { types: Some(Vec::new()), tiers: None };
        let merged = own.or(&rules());
        assert_eq!((merged.types, merged.tiers), (Some(Vec::new()), rules().tiers));
    }

    #[test]
    fn nonsense_is_refused() {
        for kind in ["", "a b", "a/b", "tar.gz", "\u{7}"] {
            assert!(StorageRules { types: Some(vec![kind.into()]), tiers: None }.checked().is_err(), "{kind:?}");
        }
        let tier = Tier { basis: TierBasis::Age, days: 0, store: Id::new(1) };
        assert!(StorageRules { types: None, tiers: Some(vec![tier]) }.checked().is_err());
    }
}
