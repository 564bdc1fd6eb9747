//! `strongroom blobs policy`: the policies that choose a store for new BLOBs.

use clap::{Args, Subcommand};
use model::{Error, NodePath, PolicyLevel, Result, TierBasis, counted};
use repository::{NamedTier, PolicyChange, PolicyTarget, Session, StoragePolicy, Target};
use serde_json::{Value, json};

use crate::commands::output::table;
use crate::commands::size::{parse_size, size};
use crate::commands::verdict::{CommandResult, Verdict};

#[derive(Subcommand)]
pub enum Action {
    /// Show the policies of all content databases, and of the site collections and libraries that have their own
    Show,
    /// Change a policy; this affects future uploads
    Set(Set),
}

/// Changes to a policy. A library's policy overrides that of its site collection, which overrides that of its content
/// database.
#[derive(Args)]
#[group(id = "change", required = true, multiple = true, args = ["active", "minimum_size", "types", "tiers", "reset"])]
pub struct Set {
    #[command(flatten)]
    target: TargetFlags,
    /// BLOB store for new BLOBs
    #[arg(long, value_name = "STORE")]
    active: Option<String>,
    /// Minimum size of externalised BLOBs, such as 64k; smaller ones stay in the content database
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    minimum_size: Option<u64>,
    /// File types to externalise, such as pdf,tiff, or all
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    types: Option<Vec<String>>,
    /// Move ageing BLOBs to another store, such as age:365:archive or access:90:archive, or none; may be repeated
    #[arg(long = "tier", value_name = "BASIS:DAYS:STORE")]
    tiers: Vec<String>,
    /// Discard the previous settings of this policy
    #[arg(long)]
    reset: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct TargetFlags {
    /// Name of the content database
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Address of the site collection; / for the root site collection
    #[arg(long, value_name = "ADDRESS")]
    site: Option<String>,
    /// Path of the library
    #[arg(long, value_name = "SITE/LIBRARY")]
    library: Option<String>,
}

impl TargetFlags {
    fn target(&self) -> Result<PolicyTarget> {
        Ok(match (&self.database, &self.site, &self.library) {
            (Some(name), ..) => PolicyTarget::Database(name.clone()),
            (_, Some(address), _) => PolicyTarget::SiteCollection(NodePath::parse(address.trim_matches('/'))?),
            (.., Some(path)) => PolicyTarget::Library(Target::Path(NodePath::parse(path.trim_matches('/'))?)),
            _ => return Err(Error::invalid("name a content database, a site collection or a library")),
        })
    }
}

fn tier(text: &str) -> Result<NamedTier> {
    let wrong = || Error::invalid(format!("\"{text}\" is not a tier: write age:365:archive or access:90:archive"));
    let mut parts = text.splitn(3, ':');
    let (Some(basis), Some(days), Some(store)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong());
    };
    Ok(NamedTier { basis: TierBasis::parse(basis)?, days: days.parse().map_err(|_| wrong())?, store: store.to_owned() })
}

/// Shows or changes policies.
pub async fn run(session: &Session, action: Action) -> Result<CommandResult> {
    let set = match action {
        Action::Show => return session.storage_policies().await.map(|policies| shown(&policies)),
        Action::Set(set) => set,
    };
    let no_tiers = set.tiers.iter().any(|text| text == "none");
    let tiers = match (set.tiers.is_empty(), no_tiers) {
        (true, _) => None,
        (false, true) => Some(Vec::new()),
        (false, false) => Some(set.tiers.iter().map(|text| tier(text)).collect::<Result<_>>()?),
    };
    let change = PolicyChange {
        active_store: set.active,
        minimum_size: set.minimum_size,
        types: set.types.map(|types| if types == ["all"] { Vec::new() } else { types }),
        tiers,
        reset: set.reset,
    };
    let policy = session.set_storage_policy(&set.target.target()?, change).await?;
    Ok((policy_json(&policy), shown(std::slice::from_ref(&policy)).1, Verdict::Good))
}

fn policy_json(policy: &StoragePolicy) -> Value {
    json!({
        "kind": policy.level.as_str(),
        "name": policy.name,
        "database": policy.database,
        "active_store": policy.active_store,
        "minimum_size": policy.minimum_size,
        "types": policy.types,
        "tiers": policy.tiers.iter().map(|tier| json!({
            "basis": tier.basis.as_str(), "days": tier.days, "store": tier.store,
        })).collect::<Value>(),
    })
}

fn shown(policies: &[StoragePolicy]) -> CommandResult {
    let row = |policy: &StoragePolicy| {
        let kind = match policy.level {
            PolicyLevel::Collection => "site collection",
            PolicyLevel::Database | PolicyLevel::Library => policy.level.as_str(),
        };
        let name = if policy.name.is_empty() { "/".to_owned() } else { policy.name.clone() };
        let types = if policy.types.is_empty() { "all".to_owned() } else { policy.types.join(", ") };
        let tiers: Vec<String> = policy
            .tiers
            .iter()
            .map(|tier| format!("{} {} to {}", counted(tier.days.into(), "day"), tier.basis.as_str(), tier.store))
            .collect();
        let tiers = if tiers.is_empty() { "none".to_owned() } else { tiers.join(", ") };
        [kind.to_owned(), name, policy.active_store.clone(), size(policy.minimum_size), types, tiers]
    };
    let rows: Vec<_> = policies.iter().map(row).collect();
    let text = table(["FOR", "NAME", "ACTIVE STORE", "MINIMUM SIZE", "TYPES", "TIERS"], &rows);
    (policies.iter().map(policy_json).collect(), text, Verdict::Good)
}
