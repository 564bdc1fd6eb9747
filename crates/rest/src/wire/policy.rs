//! Storage policies.

use model::{Error, PolicyLevel, Result, TierBasis};
use repository::{NamedTier, PolicyChange, PolicyTarget, StoragePolicy, Target};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract;

/// A rule that moves aged BLOBs to another store.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TierJson {
    /// Start of the age: `age` (time of storing) or `access` (time of the last read).
    #[schema(value_type = super::rules::BasisWord)]
    pub basis: String,
    /// Age in days.
    #[schema(minimum = 1, maximum = 36500)]
    pub days: u32,
    /// Name of the store.
    pub store: String,
}

/// The policy that applies to new BLOBs of a target.
#[derive(Serialize, ToSchema)]
pub struct StoragePolicyJson {
    /// `database`, `collection` or `library`.
    pub kind: &'static str,
    /// Identifier of the content database, site collection or library.
    pub target: String,
    /// Name of the content database, or path of the site collection or library.
    pub name: String,
    /// Name of the content database that it is in.
    pub database: String,
    /// Name of the store for new BLOBs.
    pub active_store: String,
    /// BLOBs smaller than this many bytes stay in the database.
    pub minimum_size: u64,
    /// File types whose BLOBs leave the database; empty for all types.
    pub types: Vec<String>,
    /// Tiers to which BLOBs move as they age.
    pub tiers: Vec<TierJson>,
    /// The policy's own settings. The others, null here, come from the policy above.
    pub own: PolicyForm,
}

/// The policy's own settings. Those that are absent or null come from the policy above.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyForm {
    /// Name of the store for new BLOBs.
    pub active_store: Option<String>,
    /// BLOBs smaller than this many bytes stay in the content database.
    #[schema(maximum = 9_223_372_036_854_775_807_i64)]
    pub minimum_size: Option<u64>,
    /// File types (extensions such as `pdf`) whose BLOBs are externalised; an empty list means all.
    #[schema(value_type = Option<Vec<super::rules::FileType>>, max_items = 200)]
    pub types: Option<Vec<String>>,
    /// Tiers to which BLOBs move as they age; an empty list means none.
    #[serde(deserialize_with = "super::objects")]
    #[schema(max_items = 8)]
    pub tiers: Option<Vec<TierJson>>,
}

impl From<NamedTier> for TierJson {
    fn from(tier: NamedTier) -> Self {
        Self { basis: tier.basis.as_str().to_owned(), days: tier.days, store: tier.store }
    }
}

fn tiers(tiers: Vec<NamedTier>) -> Vec<TierJson> {
    tiers.into_iter().map(Into::into).collect()
}

impl From<StoragePolicy> for StoragePolicyJson {
    fn from(policy: StoragePolicy) -> Self {
        Self {
            kind: policy.level.as_str(),
            target: policy.target.to_string(),
            name: policy.name,
            database: policy.database,
            active_store: policy.active_store,
            minimum_size: policy.minimum_size,
            types: policy.types,
            tiers: tiers(policy.tiers),
            own: PolicyForm {
                active_store: policy.own.active_store,
                minimum_size: policy.own.minimum_size,
                types: policy.own.types,
                tiers: policy.own.tiers.map(tiers),
            },
        }
    }
}

impl PolicyForm {
    /// Converts the form to a policy with these settings and no others.
    pub fn read(self) -> Result<PolicyChange> {
        let tier = |tier: TierJson| {
            Ok(NamedTier { basis: TierBasis::parse(&tier.basis)?, days: tier.days, store: tier.store })
        };
        Ok(PolicyChange {
            active_store: self.active_store,
            minimum_size: self.minimum_size,
            types: self.types,
            tiers: self.tiers.map(|tiers| tiers.into_iter().map(tier).collect::<Result<_>>()).transpose()?,
            reset: true,
        })
    }
}

/// Parses the target in an address: `database` and a name, `collection` and an identifier, or `library` and an
/// identifier.
pub fn target(kind: &str, which: &str) -> Result<PolicyTarget> {
    // An unknown kind is an address that does not exist.
    match PolicyLevel::parse(kind).map_err(|error| Error::not_found(error.message().to_owned()))? {
        PolicyLevel::Database => Ok(PolicyTarget::Database(which.to_owned())),
        PolicyLevel::Collection => Ok(PolicyTarget::SiteCollectionId(extract::id(which)?)),
        PolicyLevel::Library => Ok(PolicyTarget::Library(Target::Id(extract::id(which)?))),
    }
}
