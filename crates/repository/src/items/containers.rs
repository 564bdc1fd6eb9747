//! Creation of sites, libraries and lists in a site.

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::library;
use database::content::node::{self, NodeRow};
use model::{ColumnKind, LibrarySettings, Name, NodeKind, Result, Right, SitePath, Timestamp};

use crate::columns::{ColumnChange, ColumnOptions, add_title_column};
use crate::content::libraries::refuse_attachments;
use crate::farm::registry::Registry;
use crate::items::item::Item;
use crate::items::tree::held_parent;
use crate::session::errors::{name_conflict, name_taken_hidden};
use crate::session::guard::{Checked, Guard};
use crate::session::locate::{Located, check_depth};
use crate::session::target::join;
use crate::{Session, Target};

/// Number of versions of each row that a new list keeps.
const ROW_VERSIONS: u32 = 100;

/// What a new item in a site will hold.
enum Contents {
    /// Sites, libraries and lists.
    Sites,
    /// Documents.
    Documents(LibrarySettings),
    /// Rows with this column for their titles.
    Rows(LibrarySettings, ColumnChange),
}

impl Session {
    /// Creates a site below a site.
    #[boxed]
    pub async fn create_site(&self, parent: &Target, name: &Name) -> Result<Item> {
        self.create_in_site(parent, name, NodeKind::Site, Right::ManageSite, Contents::Sites).await
    }

    /// Creates a library in a site.
    #[boxed]
    pub async fn create_library(&self, site: &Target, name: &Name, settings: LibrarySettings) -> Result<Item> {
        settings.check()?;
        refuse_attachments(NodeKind::Library, &settings)?;
        self.create_in_site(site, name, NodeKind::Library, Right::ManageLibraries, Contents::Documents(settings)).await
    }

    /// Creates a list in a site, with one column for the titles of its rows.
    #[boxed]
    pub async fn create_list(&self, site: &Target, name: &Name, title: &Name) -> Result<Item> {
        let settings = list_settings();
        let title = ColumnChange {
            name: title.clone(),
            kind: ColumnKind::Text,
            required: true,
            content_type_id: None,
            options: ColumnOptions::default(),
        };
        let contents = Contents::Rows(settings, title);
        self.create_in_site(site, name, NodeKind::List, Right::ManageLibraries, contents).await
    }

    async fn create_in_site(
        &self,
        parent: &Target,
        name: &Name,
        kind: NodeKind,
        right: Right,
        contents: Contents,
    ) -> Result<Item> {
        let located = self.locate(parent).await?.to(right)?;
        let guard = self.guard([&located])?;
        located.require_kind(NodeKind::Site)?;
        check_depth(&located, 0, name)?;
        refuse_collection_address(&located, name)?;
        let path = located.path();
        let (site, name) = (located.node().id, name.clone());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            if let Some(created) = guard.repetition.find(transaction)? {
                return guard.item(transaction, created);
            }
            let parent = held_parent(transaction, site)?;
            checked.child(transaction, site, &name)?.require_free(&name)?;
            let row = NodeRow::new(guard.next_id(), &parent, kind, &name, guard.caller(), Timestamp::now());
            node::insert(transaction, &row)?;
            if let Contents::Documents(settings) | Contents::Rows(settings, _) = &contents {
                library::put(transaction, row.id, settings)?;
            }
            if let Contents::Rows(_, title) = &contents {
                add_title_column(transaction, guard.next_id(), row.id, title)?;
            }
            guard.record(transaction, row.id, &format!("{}.create", kind.as_str()), join(&path, name.as_str()))?;
            guard.repetition.store_result(transaction, row.id)?;
            guard.item(transaction, row.id)
        };
        guard.write(write).await.map_err(name_conflict)
    }
}

/// Returns the settings of a new list.
pub(crate) fn list_settings() -> LibrarySettings {
    LibrarySettings { major_limit: ROW_VERSIONS, attachments: true, ..LibrarySettings::default() }
}

/// Refuses a name for a site with all that is in it if the address of a site collection begins with its address: what
/// is in the site could not be reached there.
pub(crate) fn refuse_collections_below(registry: &Registry, place: &str, name: &Name) -> Result<()> {
    let Ok(address) = SitePath::parse(&join(place, name.as_str())).map(|path| path.folded()) else { return Ok(()) };
    let is_below = |folded: &str| folded.strip_prefix(&*address).is_some_and(|rest| rest.starts_with('/'));
    match registry.collections.iter().any(|row| is_below(&row.folded)) {
        true => Err(name_taken_hidden(name)),
        false => Ok(()),
    }
}

/// Refuses a name for an item in a site that would take the address of a site collection.
pub(crate) fn refuse_collection_address(site: &Located, name: &Name) -> Result<()> {
    let address = SitePath::parse(&join(&site.path(), name.as_str())).map(|path| path.folded());
    if address.is_ok_and(|address| site.registry.collections.iter().any(|row| row.folded == address)) {
        // A caller who may not know of that site collection learns only that the name is taken.
        return Err(name_taken_hidden(name));
    }
    Ok(())
}
