//! Libraries as a whole: their settings, and the only way to what reaches everybody in one.

use std::ops::Deref;

use database::Transaction;
use database::content::library;
use model::{Code, Error, LibrarySettings, NodeKind, Result, Right};

use crate::session::guard::{Checked, Guard};
use crate::session::known::{Permitted, Viewed};
use crate::session::locate::Located;
use crate::session::refusals::no_item;
use crate::{Session, Target};

/// A library that the caller manages. What reaches all of it is decided on the library itself, whatever item in it was
/// named: full control of a folder is none of its library.
pub(crate) struct Library(Permitted);

impl Deref for Library {
    type Target = Permitted;

    fn deref(&self) -> &Permitted {
        &self.0
    }
}

impl Library {
    /// The library that an item is in or is.
    ///
    /// # Errors
    /// `NotFound` when the caller may not open the item; `Conflict` with code `wrong_kind` outside of libraries;
    /// `Forbidden` when the caller does not manage the library.
    pub(crate) fn around(item: &Viewed) -> Result<Self> {
        let id = item.node().library_id;
        let depth = item.chain.iter().position(|node| !id.is_none() && node.id == id);
        let depth = depth.ok_or_else(|| Error::conflict("views belong to libraries").with_code(Code::WrongKind))?;
        let library = Located { chain: item.chain[..=depth].to_vec(), ..Located::clone(item) };
        if !library.is_within() || !library.rights().has(Right::ManageLibraries) {
            return Err(Error::lacking(Right::ManageLibraries, &library.node().name));
        }
        library.to(Right::ManageLibraries).map(Self)
    }
}

impl Session {
    /// The settings of the library that an item is in.
    pub async fn library_settings(&self, target: &Target) -> Result<LibrarySettings> {
        let (_, settings) =
            self.view(target, |reader, located| library::find(reader, located.node().library_id)).await?;
        settings.ok_or_else(no_item)
    }

    /// Finds a library that the caller manages.
    pub(crate) async fn library(&self, target: &Target) -> Result<Library> {
        let known = self.locate(target).await?;
        known.clone().to(Right::ManageLibraries)?.require_kind(NodeKind::Library)?;
        Library::around(&known.viewed()?)
    }

    /// Returns whether the caller may change for everybody how the library that an item is in (or is) is seen.
    pub async fn manages_library(&self, target: &Target) -> Result<bool> {
        Ok(self.locate(target).await?.viewed().and_then(|item| Library::around(&item)).is_ok())
    }

    /// Changes how a library keeps versions. What is stored already stays until the next change of each document.
    pub async fn change_library(&self, target: &Target, settings: LibrarySettings) -> Result<()> {
        const MOST: u32 = 50_000;
        if settings.major_limit > MOST || settings.minor_limit > MOST {
            return Err(Error::invalid(format!("at most {MOST} versions can be asked for; 0 keeps all")));
        }
        let located = self.library(target).await?;
        let guard = self.guard([&*located])?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            library::put(transaction, id, &settings)?;
            let how = settings.versioning.as_str();
            guard.record(transaction, id, "library.settings", format!("{path} versioning {how}"))
        };
        guard.write(write).await
    }
}
