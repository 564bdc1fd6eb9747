//! Storage policies: the target of new BLOBs, for a content database, a site collection or a library.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::configuration::farm::{self, StoreRow};
use database::configuration::policy::{self, PolicyRow};
use database::configuration::{event, site_collection};
use model::{
    Code, Error, Id, NodeKind, NodePath, PolicyLevel, Result, Right, StorageRules, StoreKind, StoreState, Tier,
    TierBasis, Timestamp,
};

use crate::farm::registry::Registry;
use crate::session::locate::Located;
use crate::storage::placement::EffectivePolicy;
use crate::{Session, Target};

/// Scope of a storage policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyTarget {
    /// The content database with this name.
    Database(String),
    /// The site collection with this address; an empty address is the root.
    SiteCollection(NodePath),
    /// The site collection with this identifier.
    SiteCollectionId(Id),
    /// The library that this target addresses.
    Library(Target),
}

/// A tier, with its store by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTier {
    /// The event from which the age is counted.
    pub basis: TierBasis,
    /// Age in days.
    pub days: u32,
    /// Name of the store to which BLOBs of that age move.
    pub store: String,
}

/// A change to a policy; absent fields are left unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyChange {
    /// Name of the store for new BLOBs.
    pub active_store: Option<String>,
    /// BLOBs smaller than this many bytes stay in the content database.
    pub minimum_size: Option<u64>,
    /// File types whose BLOBs leave the content database; an empty list means all types.
    pub types: Option<Vec<String>>,
    /// Tiers to which BLOBs move as they age; an empty list means none.
    pub tiers: Option<Vec<NamedTier>>,
    /// Discards the policy's previous rules, so that absent fields are inherited from the policy above.
    pub reset: bool,
}

/// The policy that applies to new BLOBs of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoragePolicy {
    /// Level of the target.
    pub level: PolicyLevel,
    /// Identifier of the content database, site collection or library.
    pub target: Id,
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
    pub tiers: Vec<NamedTier>,
    /// The part that the policy itself sets; the rest is inherited.
    pub own: PolicyChange,
}

/// A resolved policy target.
struct ResolvedTarget {
    level: PolicyLevel,
    id: Id,
    name: String,
    database: Id,
    collection: Id,
    library: Id,
}

impl Session {
    /// Returns the policies of all content databases, and of each site collection and library that has its own,
    /// databases first.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn storage_policies(&self) -> Result<Vec<StoragePolicy>> {
        self.require_farm_administrator("see storage policies")?;
        let registry = self.registry().await?;
        let mut found: Vec<ResolvedTarget> =
            registry.databases.iter().map(|content| in_database(content.row.id, &content.row.name)).collect();
        let is_open = |row: &&site_collection::SiteCollectionRow| registry.database(row.database_id).is_ok();
        for collection in
            registry.collections.iter().filter(|row| registry.policies.contains_key(&row.id)).filter(is_open)
        {
            found.push(in_collection(collection));
        }
        let is_library = |id: &Id| registry.collection(*id).is_err() && registry.database(*id).is_err();
        let mut libraries: Vec<Id> = registry.policies.keys().copied().filter(is_library).collect();
        libraries.sort_unstable();
        for id in libraries {
            // A deleted library cannot be located, so its policy is left out.
            let library = self.locate(&id.into()).await.and_then(|known| policy_library(known.unchecked()));
            if let Ok(library) = library {
                found.push(library);
            }
        }
        found.iter().map(|found| describe(&registry, found)).collect()
    }

    /// Returns the policy that applies to new BLOBs of a target, whether set there or inherited.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`.
    #[boxed]
    pub async fn storage_policy(&self, target: &PolicyTarget) -> Result<StoragePolicy> {
        self.require_farm_administrator("see storage policies")?;
        let found = self.policy_target(target).await?;
        describe(&*self.registry().await?, &found)
    }

    /// Returns the policy that applies to new BLOBs of a library, for those who manage it.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`; `Conflict` with code `wrong_kind` when the target is not a library.
    #[boxed]
    pub async fn library_storage(&self, target: &Target) -> Result<StoragePolicy> {
        let found = policy_library(&*self.locate(target).await?.to(Right::ManageLibraries)?)?;
        describe(&*self.registry().await?, &found)
    }

    /// Changes a policy for future uploads; stored BLOBs stay where they are.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound` naming the missing database, site, library or
    /// store; `Conflict` for a store that takes no new BLOBs; `Invalid` for meaningless rules; the error of a newly
    /// named store that does not respond.
    #[boxed]
    pub async fn set_storage_policy(&self, target: &PolicyTarget, change: PolicyChange) -> Result<StoragePolicy> {
        self.require_farm_administrator("change storage policies")?;
        let found = self.policy_target(target).await?;
        self.require_answers(&found, &change).await?;
        let minimum_size = change.minimum_size.map(i64::try_from).transpose();
        let minimum_size = minimum_size.map_err(|_| Error::invalid("the minimum size is greater than any document"))?;
        let actor = self.principal.id;
        let (id, level, name) = (found.id, found.level, found.name.clone());
        let write = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            let stores = farm::stores(transaction)?;
            let active = change.active_store.as_ref().map(|name| writable(&stores, name)).transpose()?;
            let tiers = change.tiers.as_ref().map(|tiers| tiers.iter().map(|tier| resolve(&stores, tier)).collect());
            let rules = StorageRules { types: change.types.clone(), tiers: tiers.transpose()? }.checked()?;
            let old = policy::list(transaction)?.into_iter().find(|row| row.target_id == id && !change.reset);
            let old_rules = old.as_ref().map(|row| StorageRules::from_text(&row.rules)).transpose()?;
            let mut row = PolicyRow {
                target_id: id,
                level,
                store_id: active.or(old.as_ref().and_then(|row| row.store_id)),
                minimum_size: minimum_size.or(old.as_ref().and_then(|row| row.minimum_size)),
                rules: rules.or(&old_rules.unwrap_or_default()).to_text(),
            };
            if level == PolicyLevel::Database {
                // The row of a content database always contains its store and minimum size.
                let databases = farm::databases(transaction)?;
                let present = databases
                    .iter()
                    .find(|database| database.id == id)
                    .ok_or_else(|| Error::not_found(format!("the content database \"{name}\" was removed")))?;
                let store = row.store_id.take().unwrap_or(present.active_store_id);
                let minimum = row.minimum_size.take().unwrap_or(present.minimum_size);
                farm::update_policy(transaction, id, store, minimum)?;
            }
            let now = Timestamp::now();
            let says_nothing = row.rules == StorageRules::default().to_text();
            if row.store_id.is_none() && row.minimum_size.is_none() && says_nothing {
                policy::delete(transaction, id)?;
            } else {
                policy::put(transaction, &row, now, actor)?;
            }
            event::record(transaction, now, actor, "storage.policy", &format!("{level} {name}"), &words(&change))
        };
        self.repository.inner.configuration.write(write).await?;
        self.repository.refresh_registry().await?;
        describe(&*self.repository.registry().await?, &found)
    }

    /// Checks that newly named stores respond, so that uploads are not sent to one that does not.
    async fn require_answers(&self, found: &ResolvedTarget, change: &PolicyChange) -> Result<()> {
        self.repository.refresh_registry().await?;
        let registry = self.repository.registry().await?;
        let own = describe(&registry, found)?.own;
        let tiers =
            |policy: &PolicyChange| policy.tiers.iter().flatten().map(|tier| tier.store.clone()).collect::<Vec<_>>();
        let known: Vec<String> = own.active_store.iter().cloned().chain(tiers(&own)).collect();
        let named = change.active_store.iter().cloned().chain(tiers(change));
        for name in named.filter(|name| !known.contains(name)) {
            let Some((row, _)) =
                registry.stores.iter().find(|(row, _)| row.name == name && row.kind != StoreKind::Database)
            else {
                continue;
            };
            match self.repository.inner.open_store(row, false).await {
                Ok(store) => store.close().await,
                Err(error) => {
                    let said =
                        format!("no policy can send BLOBs to the store \"{name}\" at the moment: {}", error.message());
                    return Err(Error::new(error.kind(), said).with_source(error).with_code(Code::StoreAway));
                }
            }
        }
        Ok(())
    }

    async fn policy_target(&self, target: &PolicyTarget) -> Result<ResolvedTarget> {
        let registry = self.registry().await?;
        match target {
            PolicyTarget::Database(name) => {
                let found = registry.database_named(Some(name))?;
                Ok(in_database(found.row.id, &found.row.name))
            }
            PolicyTarget::SiteCollection(path) => match registry.collection_of(path) {
                Some((collection, names)) if names == path.names().len() => Ok(in_collection(collection)),
                _ => Err(Error::not_found(format!("there is no site collection at \"{path}\""))),
            },
            PolicyTarget::SiteCollectionId(id) => registry.collection(*id).map(in_collection),
            PolicyTarget::Library(target) => policy_library(self.locate(target).await?.unchecked()),
        }
    }
}

fn policy_library(located: &Located) -> Result<ResolvedTarget> {
    located.require_kind(NodeKind::Library)?;
    Ok(ResolvedTarget {
        level: PolicyLevel::Library,
        id: located.node().id,
        name: located.path(),
        database: located.content.row.id,
        collection: located.collection.id,
        library: located.node().id,
    })
}

fn in_database(id: Id, name: &str) -> ResolvedTarget {
    let (level, name) = (PolicyLevel::Database, name.to_owned());
    ResolvedTarget { level, id, name, database: id, collection: Id::NONE, library: Id::NONE }
}

fn in_collection(row: &site_collection::SiteCollectionRow) -> ResolvedTarget {
    ResolvedTarget {
        level: PolicyLevel::Collection,
        id: row.id,
        name: row.path.clone(),
        database: row.database_id,
        collection: row.id,
        library: Id::NONE,
    }
}

fn describe(registry: &Registry, found: &ResolvedTarget) -> Result<StoragePolicy> {
    let content = registry.database(found.database)?;
    let EffectivePolicy { store, minimum_size, rules } =
        registry.effective_policy(content, found.collection, found.library);
    let named = |tiers: Vec<Tier>| {
        let name =
            |tier: &Tier| NamedTier { basis: tier.basis, days: tier.days, store: registry.store_name(tier.store) };
        tiers.iter().map(name).collect::<Vec<_>>()
    };
    let said = registry.policies.get(&found.id);
    let mut own = PolicyChange {
        active_store: said.and_then(|policy| policy.store).map(|store| registry.store_name(store)),
        minimum_size: said.and_then(|policy| policy.minimum_size).map(model::unsigned),
        types: said.and_then(|policy| policy.rules.types.clone()),
        tiers: said.and_then(|policy| policy.rules.tiers.clone()).map(named),
        reset: false,
    };
    if found.level == PolicyLevel::Database {
        own.active_store = Some(registry.store_name(store));
        own.minimum_size = Some(minimum_size);
    }
    Ok(StoragePolicy {
        level: found.level,
        target: found.id,
        name: found.name.clone(),
        database: content.row.name.clone(),
        active_store: registry.store_name(store),
        minimum_size,
        types: rules.types.unwrap_or_default(),
        tiers: named(rules.tiers.unwrap_or_default()),
        own,
    })
}

fn named<'a>(stores: &'a [StoreRow], name: &str) -> Result<&'a StoreRow> {
    stores.iter().find(|store| store.name == name).ok_or_else(|| {
        let names: Vec<&str> = stores.iter().map(|store| store.name.as_str()).collect();
        Error::not_found(format!("there is no BLOB store \"{name}\"; there are: {}", names.join(", ")))
    })
}

fn writable(stores: &[StoreRow], name: &str) -> Result<Id> {
    let store = named(stores, name)?;
    if store.state != StoreState::Active {
        return Err(Error::conflict(format!(
            "the BLOB store \"{name}\" is {}: activate it first, or name another one",
            store.state
        ))
        .with_code(Code::StoreNotActive));
    }
    Ok(store.id)
}

fn resolve(stores: &[StoreRow], tier: &NamedTier) -> Result<Tier> {
    Ok(Tier { basis: tier.basis, days: tier.days, store: writable(stores, &tier.store)? })
}

/// Describes a change in words, for the audit log.
fn words(change: &PolicyChange) -> String {
    let mut words = Vec::new();
    if change.reset {
        words.push("as above".to_owned());
    }
    words.extend(change.active_store.as_ref().map(|store| format!("BLOBs go to {store}")));
    words.extend(change.minimum_size.map(|bytes| format!("from {} on", model::counted(bytes, "byte"))));
    words.extend(change.types.as_ref().map(|types| match types.is_empty() {
        true => "of all types".to_owned(),
        false => format!("of types {}", types.join(", ")),
    }));
    if let Some(tiers) = &change.tiers {
        words.extend(tiers.iter().map(|tier| {
            let days = model::counted(tier.days.into(), "day");
            format!("{days} {} to {}", tier.basis.as_str(), tier.store)
        }));
    }
    words.join(", ")
}

/// Returns the names of all users of a store for new BLOBs, for an administrator who wants to close it.
pub(crate) fn users_of(registry: &Registry, store: Id) -> Vec<String> {
    let mut users = Vec::new();
    for row in registry.database_rows().filter(|row| row.active_store_id == store) {
        users.push(format!("the content database \"{}\"", row.name));
    }
    for (id, policy) in &registry.policies {
        let tiers = policy.rules.tiers.as_deref().unwrap_or_default();
        if policy.store == Some(store) || tiers.iter().any(|tier| tier.store == store) {
            let collection = registry.collection(*id).ok().map(|row| format!("the site collection \"{}\"", row.path));
            let database = registry.database_rows().find(|row| row.id == *id);
            let database = database.map(|row| format!("the tiers of \"{}\"", row.name));
            users.push(collection.or(database).unwrap_or_else(|| format!("the library {id}")));
        }
    }
    users.sort();
    users
}
