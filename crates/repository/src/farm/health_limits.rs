//! Limits of the health rules: defaults, and changing them.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::configuration::{event, farm};
use model::{Error, Result, Timestamp};

use crate::Session;

/// A limit of a health rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthLimit {
    /// Name.
    pub name: &'static str,
    /// The quantity that is limited, with its unit.
    pub meaning: &'static str,
    /// Default value.
    pub usual: u64,
    /// Largest permitted value; the smallest is 1.
    pub most: u64,
    setting: &'static str,
}

/// Recommended maximum size of a content database in bytes. Beyond it, backups and rebuilds of a single file take too
/// long.
pub(crate) const DATABASE_BYTES: HealthLimit = HealthLimit {
    name: "database_bytes",
    meaning: "bytes of a content database",
    usual: 200 << 30,
    most: 1 << 50,
    setting: "health.database_bytes",
};
/// Percentage of a content database that may consist of empty pages.
pub(crate) const FREE_PERCENT: HealthLimit = HealthLimit {
    name: "free_percent",
    meaning: "percent of a content database that may be empty",
    usual: 30,
    most: 99,
    setting: "health.free_percent",
};
/// Percentage of a store's disk that should stay free.
pub(crate) const STORE_FREE_PERCENT: HealthLimit = HealthLimit {
    name: "store_free_percent",
    meaning: "percent of a store's disk that should stay free",
    usual: 10,
    most: 99,
    setting: "health.store_free_percent",
};
/// Hours after which a backup is overdue.
pub(crate) const BACKUP_HOURS: HealthLimit = HealthLimit {
    name: "backup_hours",
    meaning: "hours after which a backup is overdue",
    usual: 48,
    most: 24 * 366,
    setting: "health.backup_hours",
};
/// Number of BLOBs that no database refers to above which an administrator should look for the cause.
pub(crate) const ORPHANS: HealthLimit = HealthLimit {
    name: "orphans",
    meaning: "BLOBs that no database knows",
    usual: 10_000,
    most: 1 << 50,
    setting: "health.orphans",
};

const ALL: [HealthLimit; 5] = [DATABASE_BYTES, FREE_PERCENT, STORE_FREE_PERCENT, BACKUP_HOURS, ORPHANS];

impl Session {
    /// Returns the value of a limit.
    pub(crate) async fn health_limit(&self, limit: &HealthLimit) -> Result<u64> {
        let name = limit.setting;
        let text = self.repository.inner.configuration.read(move |reader| farm::setting(reader, name)).await?;
        Ok(text.and_then(|text| text.parse().ok()).unwrap_or(limit.usual))
    }

    /// Returns all limits of the health rules with their values.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn health_limits(&self) -> Result<Vec<(HealthLimit, u64)>> {
        self.require_farm_administrator("see the farm's health")?;
        let mut limits = Vec::new();
        for limit in ALL {
            limits.push((limit, self.health_limit(&limit).await?));
        }
        Ok(limits)
    }

    /// Changes a limit, effective from the next check; `None` restores the default.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`, with the existing names; `Invalid` for a
    /// value outside the permitted range.
    #[boxed]
    pub async fn set_health_limit(&self, name: &str, value: Option<u64>) -> Result<()> {
        self.require_farm_administrator("change the limits of the health rules")?;
        let limit = ALL.into_iter().find(|limit| limit.name == name).ok_or_else(|| {
            let names = ALL.map(|limit| limit.name).join(", ");
            Error::not_found(format!("the health rules have no limit \"{name}\"; there are: {names}"))
        })?;
        let value = value.unwrap_or(limit.usual);
        if !(1..=limit.most).contains(&value) {
            return Err(Error::invalid(format!(
                "\"{name}\" ({}) must be from 1 to {}, not {value}",
                limit.meaning, limit.most
            )));
        }
        let actor = self.principal.id;
        let write = move |transaction: &mut Transaction<'_>| {
            farm::put_setting(transaction, limit.setting, &value.to_string())?;
            event::record(transaction, Timestamp::now(), actor, "health.limit", limit.name, &value.to_string())
        };
        self.repository.inner.configuration.write(write).await
    }
}
