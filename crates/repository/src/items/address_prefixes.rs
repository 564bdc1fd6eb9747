//! Path prefixes of site collections, such as `sites` in `sites/legal`. They are not items themselves.

use std::collections::BTreeMap;

use async_recursion::async_recursion as boxed;
use model::{Code, Error, Id, Name, NodePath, Result, fold};

use crate::Session;

impl Session {
    /// Returns the names that follow `path` in the addresses of site collections that the caller may know of, each
    /// once, in order. Reads no database if no address continues beyond `path`.
    ///
    /// # Errors
    /// `Unavailable` with code `database_away` when a content database that holds such a site collection cannot be
    /// read.
    #[boxed]
    pub async fn child_address_names(&self, path: &NodePath) -> Result<Vec<String>> {
        let registry = self.registry().await?;
        let above: Vec<String> = path.names().iter().map(Name::folded).collect();
        if !registry.collections.iter().any(|row| next(&row.path, &above).is_some()) {
            return Ok(Vec::new());
        }
        let home = self.home_of_sites(registry.collections.len()).await?;
        let away = registry.away();
        // A client that mirrors a listing deletes entries that are missing from it, so an incomplete listing must fail.
        let fails = |id: Id| {
            registry
                .database(id)
                .is_ok_and(|content| home.missing.has(&content.row.name) && !away.contains(&content.row.name))
        };
        if registry.collections.iter().any(|row| fails(row.database_id) && next(&row.path, &above).is_some()) {
            let text =
                "a part of this folder cannot be read at the moment, so its list would be incomplete: try again later";
            return Err(Error::unavailable(text).with_code(Code::DatabaseAway));
        }
        let names: BTreeMap<String, &str> =
            home.sites.iter().filter_map(|site| next(&site.path, &above)).map(|name| (fold(name), name)).collect();
        Ok(names.into_values().map(str::to_owned).collect())
    }
}

/// Returns the name that follows `above` in an address that begins with `above`. The names in `above` are folded.
fn next<'a>(address: &'a str, above: &[String]) -> Option<&'a str> {
    let mut names = address.split('/').filter(|name| !name.is_empty());
    let same = |own: &str, name: &str| if own.is_ascii() { own.eq_ignore_ascii_case(name) } else { fold(own) == name };
    above.iter().all(|name| names.next().is_some_and(|own| same(own, name))).then(|| names.next()).flatten()
}
