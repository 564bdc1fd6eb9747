//! Settings of libraries and lists, and the only access to operations that affect all users of one.

use std::ops::Deref;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::library;
use model::{Code, Error, LibrarySettings, NodeKind, Result, Right, Versioning};

use crate::session::errors::no_item;
use crate::session::guard::{Checked, Guard};
use crate::session::known::{Permitted, Viewed};
use crate::session::locate::Located;
use crate::{Session, Target};

/// A library or list that the caller manages. An operation on the whole library is authorised on the library itself,
/// whichever item in it was named: full control of a folder gives no control of its library.
pub(crate) struct Library(Permitted);

impl Deref for Library {
    type Target = Permitted;

    fn deref(&self) -> &Permitted {
        &self.0
    }
}

impl Library {
    /// Returns the library that an item is in or is.
    ///
    /// # Errors
    /// `NotFound` when the caller may not open the item; `Conflict` with code `wrong_kind` outside of libraries;
    /// `Forbidden` when the caller does not manage the library.
    pub(crate) fn containing(item: &Viewed) -> Result<Self> {
        let id = item.node().library_id;
        let depth = item.chain.iter().position(|node| !id.is_none() && node.id == id);
        let depth = depth.ok_or_else(|| Error::conflict("only libraries have views").with_code(Code::WrongKind))?;
        let library = Located { chain: item.chain[..=depth].to_vec(), ..Located::clone(item) };
        if !library.is_within_credential() || !library.rights().has(Right::ManageLibraries) {
            return Err(Error::lacking(Right::ManageLibraries, &library.node().name));
        }
        library.to(Right::ManageLibraries).map(Self)
    }
}

impl Session {
    /// Returns the settings of the library that contains an item.
    #[boxed]
    pub async fn library_settings(&self, target: &Target) -> Result<LibrarySettings> {
        let (_, settings) =
            self.view(target, |reader, located| library::find(reader, located.node().library_id)).await?;
        settings.ok_or_else(no_item)
    }

    /// Finds a library that the caller manages.
    pub(crate) async fn library(&self, target: &Target) -> Result<Library> {
        let known = self.locate(target).await?;
        let managed = known.clone().to(Right::ManageLibraries)?;
        if !managed.node().kind.defines_columns() {
            return Err(
                Error::conflict("only libraries and lists have columns and settings").with_code(Code::WrongKind)
            );
        }
        Library::containing(&known.viewed()?)
    }

    /// Returns whether the caller may change, for all users, how the library that an item is in (or is) is displayed.
    #[boxed]
    pub async fn manages_library(&self, target: &Target) -> Result<bool> {
        Ok(self.locate(target).await?.viewed().and_then(|item| Library::containing(&item)).is_ok())
    }

    /// Changes how a library keeps versions. Stored versions of a document remain until the document changes next.
    #[boxed]
    pub async fn change_library(&self, target: &Target, settings: LibrarySettings) -> Result<()> {
        settings.check()?;
        let located = self.library(target).await?;
        let drafts = settings.versioning == Versioning::MajorMinor || settings.require_checkout;
        if located.node().kind == NodeKind::List && drafts {
            return Err(
                Error::invalid("the rows of a list have neither drafts nor check-outs").with_code(Code::WrongKind)
            );
        }
        refuse_attachments(located.node().kind, &settings)?;
        let guard = self.guard([&*located])?;
        let (id, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let row = guard.lock_row(transaction, id)?;
            let is_by_approval = library::find(transaction, id)?.is_some_and(|before| before.require_approval);
            // Whoever manages libraries but may not approve could otherwise switch approval off, publish, and switch it
            // on again.
            if is_by_approval && !settings.require_approval && !checked.access.rights(row.scope_id).has(Right::Override)
            {
                return Err(Error::lacking(Right::Override, &row.name));
            }
            library::put(transaction, id, &settings)?;
            let how = settings.versioning.as_str();
            let approval = if settings.require_approval { ", publishing by approval" } else { "" };
            let attachments = match row.kind {
                NodeKind::List if settings.attachments => ", with attachments",
                NodeKind::List => ", without attachments",
                _ => "",
            };
            guard.record(transaction, id, "library.settings", format!("{path} versioning {how}{approval}{attachments}"))
        };
        guard.write(write).await
    }
}

/// Refuses attachments where there are no rows to which they could be attached.
///
/// # Errors
/// `Conflict` with code `wrong_kind`.
pub(crate) fn refuse_attachments(kind: NodeKind, settings: &LibrarySettings) -> Result<()> {
    match kind == NodeKind::List || !settings.attachments {
        true => Ok(()),
        false => Err(Error::conflict("only the rows of lists have attachments").with_code(Code::WrongKind)),
    }
}
