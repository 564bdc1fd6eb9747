//! Sites, libraries and folders by their whole names.

use database::content::search;
use model::{Id, NodeKind, Result, Right, fold};

use crate::items::caller_view::CallerView;
use crate::{Session, UnavailableDatabases};

/// Limit on the containers with one name in each content database.
const MAX_NAMED: usize = 200;

impl Session {
    /// Returns the identifiers and kinds of the sites, libraries and folders with this name that the caller may open.
    /// The title of a root site counts as its name, and so does the last part of its address.
    /// Also returns the content databases that do not answer.
    pub(super) async fn containers_named(&self, name: &str) -> Result<(Vec<(Id, NodeKind)>, UnavailableDatabases)> {
        let registry = self.registry().await?;
        let wanted = fold(name.trim());
        let (mut all, mut missing) = (Vec::new(), self.missing(registry.away()));
        for content in &registry.databases {
            let mut caller_view = CallerView::of(self, &registry, content);
            let (wanted, registry) = (wanted.clone(), registry.clone());
            let look = move |reader: &mut database::Reader<'_>| {
                let mut found = Vec::new();
                let roots: Vec<Id> = caller_view
                    .collections(&registry)
                    .filter(|row| fold(&row.title) == wanted || row.folded.rsplit('/').next() == Some(wanted.as_str()))
                    .map(|row| row.id)
                    .collect();
                for root in roots {
                    if caller_view.locate(reader, root)?.is_some_and(|located| located.rights().has(Right::View)) {
                        found.push((root, NodeKind::Site));
                    }
                }
                let scopes = caller_view.scopes(reader)?;
                for row in search::containers_named(reader, &wanted, scopes.as_deref(), MAX_NAMED)? {
                    if caller_view.show(reader, &row)?.is_some() {
                        found.push((row.id, row.kind));
                    }
                }
                Ok(found)
            };
            match content.database.read_long(look).await {
                Ok(mut some) => all.append(&mut some),
                Err(error) => missing.add(content.name_if_database_error(error)?),
            }
        }
        Ok((all, missing))
    }
}
