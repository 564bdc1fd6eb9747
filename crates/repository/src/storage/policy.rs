//! Storage policies as the registry keeps them, without inherited parts.

use std::collections::HashMap;

use database::configuration::policy::PolicyRow;
use model::{Id, Result, StorageRules, TierBasis};

/// The policies of a farm by target.
pub(crate) type Policies = HashMap<Id, Policy>;

/// The part that one policy itself sets.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) store: Option<Id>,
    pub(crate) minimum_size: Option<i64>,
    pub(crate) rules: StorageRules,
}

impl Policy {
    pub(crate) fn read(row: &PolicyRow) -> Result<Self> {
        let rules = StorageRules::from_text(&row.rules)?;
        Ok(Self { store: row.store_id, minimum_size: row.minimum_size, rules })
    }
}

/// Returns whether any policy moves BLOBs that were not read for some time.
pub(crate) fn are_wanted(policies: &crate::storage::policy::Policies) -> bool {
    let tiers = policies.values().filter_map(|policy| policy.rules.tiers.as_ref());
    tiers.flatten().any(|tier| tier.basis == TierBasis::Access)
}
