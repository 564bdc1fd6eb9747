//! Ways to site collections: addresses such as `sites` above `sites/legal`, which are no items of their own.

use std::collections::BTreeMap;

use model::{Code, Error, Id, Name, NodePath, Result, fold};

use crate::Session;

impl Session {
    /// The names that come after a path in the addresses of site collections that the caller knows of, each once, in order. Where no
    /// address goes on, nothing is read.
    pub async fn passages(&self, path: &NodePath) -> Result<Vec<String>> {
        let registry = self.registry().await?;
        let above: Vec<String> = path.names().iter().map(Name::folded).collect();
        if !registry.collections.iter().any(|row| next(&row.path, &above).is_some()) {
            return Ok(Vec::new());
        }
        let home = self.home_of_sites(registry.collections.len()).await?;
        let away = registry.away();
        // Whoever copies a listing deletes what is not in it.
        let fails = |id: Id| {
            registry
                .database(id)
                .is_ok_and(|content| home.missing.has(&content.row.name) && !away.contains(&content.row.name))
        };
        if registry.collections.iter().any(|row| fails(row.database_id) && next(&row.path, &above).is_some()) {
            let text = "a part of what is here cannot be read, so that not all of it can be listed: try again later";
            return Err(Error::unavailable(text).with_code(Code::DatabaseAway));
        }
        let names: BTreeMap<String, &str> =
            home.sites.iter().filter_map(|site| next(&site.path, &above)).map(|name| (fold(name), name)).collect();
        Ok(names.into_values().map(str::to_owned).collect())
    }
}

/// The name that comes after `above`, whose names are folded, in an address that begins with it.
fn next<'a>(address: &'a str, above: &[String]) -> Option<&'a str> {
    let mut names = address.split('/').filter(|name| !name.is_empty());
    let same = |own: &str, name: &str| if own.is_ascii() { own.eq_ignore_ascii_case(name) } else { fold(own) == name };
    above.iter().all(|name| names.next().is_some_and(|own| same(own, name))).then(|| names.next()).flatten()
}
