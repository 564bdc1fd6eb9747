//! Search for users and groups by typed text, and look-up of names by identifier.

use std::collections::{HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use database::configuration::principal;
use database::{Database, Reader};
use model::{Code, Error, Id, PrincipalKind, Result, fold};

use super::PrincipalName;
use crate::Session;

/// Maximum number of principals that one search returns.
const MAX_FOUND: usize = 50;
/// Maximum number of words by which a search for users looks.
const MAX_WORDS: usize = 500;
/// Number of names that one statement looks up.
const NAMES_AT_ONCE: usize = 500;

impl Session {
    /// Returns up to `limit` (at most 50) enabled users and groups whose login, name or a word of the name begins with
    /// `prefix`, ignoring case. An empty prefix finds the first ones. All signed-in users may search.
    #[boxed]
    pub async fn search_principals(&self, prefix: &str, limit: usize) -> Result<Vec<PrincipalName>> {
        let limit = limit.min(MAX_FOUND);
        // One principal may be found by several words.
        let mut found = self.named(prefix, 4 * limit, limit).await?;
        found.truncate(limit);
        Ok(found)
    }

    /// Returns up to `limit` (at most 50) of the users that [`Session::search_principals`] finds, without groups, and
    /// whether there may be others.
    #[boxed]
    pub async fn search_users(&self, prefix: &str, limit: usize) -> Result<(Vec<PrincipalName>, bool)> {
        let limit = limit.min(MAX_FOUND);
        let mut found = self.named(prefix, MAX_WORDS, MAX_WORDS).await?;
        let is_cut = found.len() == MAX_WORDS;
        found.retain(|one| one.kind == PrincipalKind::User);
        let are_more = found.len() > limit;
        found.truncate(limit);
        Ok((found, is_cut || are_more))
    }

    /// Returns the users and groups of the first `words` that begin with `prefix`, at most `limit`.
    async fn named(&self, prefix: &str, words: usize, limit: usize) -> Result<Vec<PrincipalName>> {
        let prefix = fold(prefix.trim());
        if prefix.contains(char::is_control) {
            return Ok(vec![]);
        }
        let search = move |reader: &mut Reader| {
            let mut seen = HashSet::new();
            let mut found = principal::search(reader, &prefix, words)?;
            found.retain(|id| seen.insert(*id));
            found.truncate(limit);
            let names = principal::names(reader, &found)?;
            let mut names: HashMap<Id, PrincipalName> = names.into_iter().map(|name| (name.id, name)).collect();
            Ok(found.iter().filter_map(|id| names.remove(id)).collect())
        };
        self.repository.inner.configuration.read(search).await
    }

    /// Finds the user or group with this login or name, ignoring case. A login takes precedence over a name.
    ///
    /// # Errors
    /// `Invalid` with code `unknown_person` or `ambiguous_person`.
    #[boxed]
    pub async fn find_principal(&self, text: &str) -> Result<Id> {
        let wanted = fold(text.trim());
        let found = self.search_principals(text.trim(), MAX_FOUND).await?;
        let by_login = found.iter().find(|name| name.login.as_deref().is_some_and(|login| fold(login) == wanted));
        let mut by_name = found.iter().filter(|name| fold(&name.name) == wanted);
        let shown = || text.escape_debug().take(80).collect::<String>();
        match (by_login, by_name.next(), by_name.next()) {
            (Some(name), _, _) | (None, Some(name), None) => Ok(name.id),
            (None, Some(_), Some(_)) => {
                Err(Error::invalid(format!("several people have the name \"{}\"; type the login instead", shown()))
                    .with_code(Code::AmbiguousPerson))
            }
            (None, None, _) => {
                Err(Error::invalid(format!("there is no user or group \"{}\"", shown())).with_code(Code::UnknownPerson))
            }
        }
    }

    /// Returns the names of users and groups, including disabled and deleted accounts. Identifiers that do not exist
    /// are left out. Names looked up before are cached until an account or group changes.
    #[boxed]
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
