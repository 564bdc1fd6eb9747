//! Owns how users and groups are found by what somebody types, and how identifiers become names.

use std::collections::{HashMap, HashSet};

use database::configuration::principal;
use database::{Database, Reader};
use model::{Id, Result, fold};

use super::PrincipalName;
use crate::Session;

/// Most principals that one search returns.
const MOST_FOUND: usize = 50;
/// Names that one statement looks up.
const NAMES_AT_ONCE: usize = 500;

impl Session {
    /// Up to `limit` (at most 50) enabled users and groups whose login, name or a word of the name begins with `prefix`,
    /// compared without case. An empty prefix finds the first ones. Everybody who is signed in may search.
    pub async fn search_principals(&self, prefix: &str, limit: usize) -> Result<Vec<PrincipalName>> {
        let (prefix, limit) = (fold(prefix.trim()), limit.min(MOST_FOUND));
        if prefix.contains(char::is_control) {
            return Ok(vec![]);
        }
        let search = move |reader: &mut Reader| {
            let mut seen = HashSet::new();
            // Somebody may be found by several words.
            let mut found = principal::search(reader, &prefix, 4 * limit)?;
            found.retain(|id| seen.insert(*id));
            found.truncate(limit);
            let names = principal::names(reader, &found)?;
            let mut names: HashMap<Id, PrincipalName> = names.into_iter().map(|name| (name.id, name)).collect();
            Ok(found.iter().filter_map(|id| names.remove(id)).collect())
        };
        self.repository.inner.configuration.read(search).await
    }

    /// The names of users and groups, also of disabled and deleted accounts. What does not exist is not in the answer. Names
    /// that were asked before are in memory until somebody changes accounts or groups.
    pub async fn principal_names(&self, ids: &[Id]) -> Result<HashMap<Id, PrincipalName>> {
        let (cache, version) = (&self.repository.inner.identities.names, self.principal.directory_version);
        let (mut names, missing) = cache.get(version, ids);
        for some in missing.chunks(NAMES_AT_ONCE) {
            let found = look_up(&self.repository.inner.configuration, some.to_vec()).await?;
            cache.put(version, found.iter());
            names.extend(found.into_iter().map(|name| (name.id, name)));
        }
        Ok(names)
    }
}

async fn look_up(configuration: &Database, ids: Vec<Id>) -> Result<Vec<PrincipalName>> {
    configuration.read(move |reader| principal::names(reader, &ids)).await
}
