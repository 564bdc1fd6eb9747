//! The page that a site opens with.

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::{node, site};
use model::{Code, Error, ErrorKind, Id, NodeKind, Result};

use super::options::SiteOptions;
use crate::items::item::Item;
use crate::session::known::Viewed;
use crate::{Session, Target};

impl Session {
    /// Returns the document that a site opens with; `None` for a site without one, or with one that the caller may not
    /// know of or that cannot be read at the moment.
    ///
    /// # Errors
    /// `NotFound` for an item that the caller may not open.
    #[boxed]
    pub async fn site_home(&self, target: &Target) -> Result<Option<Item>> {
        let read = |reader: &mut Reader<'_>, located: &Viewed| {
            let home = SiteOptions::of(site::find(reader, located.node().id)?.as_ref())?.home;
            // One that is gone for good would be looked for in every database.
            match home {
                Some(home) => Ok(node::find(reader, home)?.map(|row| row.id)),
                None => Ok(None),
            }
        };
        let Some(home) = self.view(target, read).await?.1 else { return Ok(None) };
        match self.item(&home.into()).await {
            Ok(item) => Ok(Some(item)),
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    tracing::warn!(error = error.report(), "the home page of a site cannot be read");
                }
                Ok(None)
            }
        }
    }

    /// Refuses anything but a document of the site collection.
    pub(super) async fn require_home(&self, collection: Id, home: Id) -> Result<()> {
        let found = self.item(&home.into()).await?;
        if found.kind != NodeKind::Document {
            return Err(Error::conflict(format!("\"{}\" is not a document", found.name)).with_code(Code::WrongKind));
        }
        if found.collection_id != collection {
            return Err(Error::conflict(format!("\"{}\" is in another site collection", found.name))
                .with_code(Code::OtherCollection));
        }
        Ok(())
    }
}
