//! Settings of libraries.

use database::Transaction;
use database::content::library;
use model::{Error, LibrarySettings, NodeKind, Result, Right};

use crate::locate::no_item;
use crate::{Session, Target};

impl Session {
    /// The settings of the library that an item is in.
    pub async fn library_settings(&self, target: &Target) -> Result<LibrarySettings> {
        let (_, settings) = self
            .inspect(target, |reader, located| {
                located.require(Right::View)?;
                library::find(reader, located.node().library_id)
            })
            .await?;
        settings.ok_or_else(no_item)
    }

    /// Changes how a library keeps versions. What is stored already stays until the next change of each document.
    pub async fn change_library(&self, target: &Target, settings: LibrarySettings) -> Result<()> {
        const MOST: u32 = 50_000;
        if settings.major_limit > MOST || settings.minor_limit > MOST {
            return Err(Error::invalid(format!("at most {MOST} versions can be asked for; 0 keeps all")));
        }
        let located = self.locate(target).await?;
        let guard = self.guard([(&located, Right::ManageLibraries)])?;
        located.require_kind(NodeKind::Library)?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>| {
            guard.check(transaction)?;
            library::put(transaction, id, &settings)?;
            let how = settings.versioning.as_str();
            guard.record(transaction, id, "library.settings", format!("{path} versioning {how}"))
        };
        located.content.database.write(write).await
    }
}
