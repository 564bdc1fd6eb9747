//! Selection of the set to restore.

use model::{Error, Id, Result};

use crate::backup::format::manifest::Manifest;
use crate::backup::place::destination::{Destination, SetName};

/// Finds a set by its identifier, or the latest.
pub(super) async fn choose(destination: &Destination, set: Option<Id>) -> Result<(SetName, Manifest)> {
    let sets = destination.sets().await?;
    let found = match set {
        Some(id) => sets.into_iter().find(|set| set.id == id),
        None => sets.into_iter().next_back(),
    };
    let found = found.ok_or_else(|| {
        let place = destination.files.place();
        Error::not_found(match set {
            Some(id) => {
                format!("there is no set {id} in {place}: `strongroom backup list {place}` lists the existing ones")
            }
            None => format!("there are no finished backups in {place}"),
        })
    })?;
    let manifest = destination.manifest(&found).await.map_err(|error| match set {
        Some(_) => error,
        None => {
            let place = destination.files.place();
            let hint = format!(
                "{}; `strongroom backup list {place}` lists others, which you can choose with --set",
                error.message()
            );
            Error::new(error.kind(), hint).with_source(error)
        }
    })?;
    Ok((found, manifest))
}
