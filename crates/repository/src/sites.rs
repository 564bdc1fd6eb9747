//! Site collections, sites and libraries.

use std::time::Duration;

use database::Transaction;
use database::configuration::farm;
use database::configuration::site_collection::{self, SiteCollectionRow};
use database::content::node::{self, NodeRow};
use database::content::scope::{self, GrantRow};
use database::content::{collection, event, library};
use model::{
    Accent, Error, Id, LibrarySettings, Name, NodeKind, Result, Right, Role, SitePath, Timestamp, VersionNumber,
};

use crate::documents::{explain, held_parent, taken};
use crate::locate::check_depth;
use crate::view::{Item, size};
use crate::{Repository, Session, Target};

/// First names of addresses that URLs need for themselves.
const RESERVED: [&str; 16] = [
    "api",
    "assets",
    "cmis",
    "dav",
    "healthz",
    "readyz",
    "metrics",
    "sign-in",
    "sign-out",
    "account",
    "administration",
    "ui-kit",
    "search",
    "static",
    "tus",
    "welcome",
];

/// A site collection is entered in the farm's map within this time from its creation, or not at all.
const ENTERED_WITHIN: Duration = Duration::from_secs(10 * 60);

/// A site collection as an administrator or visitor sees it.
#[derive(Clone, Debug)]
pub struct SiteCollection {
    /// Identifier, also of its root site.
    pub id: Id,
    /// Address in the farm; empty for the root one.
    pub path: String,
    /// Title.
    pub title: String,
    /// What it holds; only for those who manage it, since it also counts what others may not see.
    pub usage: Option<SiteUsage>,
    /// Whether opening a document is an event.
    pub audit_reads: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// The colour of its pages.
    pub accent: Accent,
}

/// What a site collection holds, and where.
#[derive(Clone, Debug, Default)]
pub struct SiteUsage {
    /// Name of the content database that holds it.
    pub database: String,
    /// Bytes of all versions, the recycle bin included.
    pub used_bytes: u64,
    /// Number of documents, the recycle bin included.
    pub documents: u64,
    /// Most bytes of all versions together; none is no limit.
    pub quota_bytes: Option<u64>,
}

/// Makes the root site collection with the library `Documents`, if the farm has none yet.
pub(crate) async fn ensure_root(repository: &Repository) -> Result<()> {
    let map = repository.map().await?;
    if map.collections.iter().any(|collection| collection.folded.is_empty()) {
        return Ok(());
    }
    let administrator = repository.farm_administrator().await?;
    let session = repository.as_caller(administrator);
    let root = session.create_site_collection(&SitePath::default(), "Strongroom", None, None).await?;
    session.create_library(&root.into(), &Name::new("Documents")?, LibrarySettings::default()).await?;
    Ok(())
}

impl Session {
    /// Creates a site collection at an address, in the named content database (the first one when absent), with full
    /// control for `owner` (the caller when absent). Returns its identifier.
    ///
    /// It is made in its content database first and entered in the farm's map then; what is cut between the two is
    /// removed by [`Session::clean_up`].
    pub async fn create_site_collection(
        &self,
        path: &SitePath,
        title: &str,
        database: Option<&str>,
        owner: Option<Id>,
    ) -> Result<Id> {
        self.require_farm_administrator("create site collections")?;
        check_title(title)?;
        let repetition = self.repetition.clone();
        let earlier = move |reader: &mut database::Reader<'_>| repetition.find(reader);
        if let Some(created) = self.repository.inner.configuration.read(earlier).await? {
            return Ok(created);
        }
        let map = self.map().await?;
        if let Some(first) = path.path().names().first()
            && RESERVED.contains(&first.folded().as_str())
        {
            return Err(Error::invalid(format!("\"{first}\" is part of the program's own addresses: choose another")));
        }
        if map.collections.iter().any(|collection| collection.folded == path.folded()) {
            return Err(
                Error::conflict(format!("there is already a site collection at \"{path}\"")).with_code("name_taken")
            );
        }
        if !path.path().is_empty() && self.locate(&Target::Path(path.path().clone())).await.is_ok() {
            return Err(Error::conflict(format!("there is already something at \"{path}\"")).with_code("name_taken"));
        }
        let content = match database {
            None => map.databases.first(),
            Some(name) => map.databases.iter().find(|content| content.row.name == name),
        };
        let content = content.ok_or_else(|| Error::not_found("there is no content database of that name"))?;
        let (id, scope_id) = (self.repository.next_id(), self.repository.next_id());
        let (title, address, caller) = (title.to_owned(), path.to_string(), self.principal.id);
        let owner = owner.unwrap_or(caller);
        let entry = SiteCollectionRow {
            id,
            folded: path.folded(),
            path: address.clone(),
            title: title.clone(),
            database_id: content.row.id,
            created_at: Timestamp::now(),
            accent: Accent::default(),
        };
        let write = move |transaction: &mut Transaction<'_>| {
            let now = Timestamp::now();
            collection::insert(transaction, id, &address, now)?;
            scope::insert(transaction, scope_id, id, id)?;
            let grant =
                GrantRow { principal_id: owner, role_id: Role::FULL_CONTROL, granted_at: now, granted_by: caller };
            scope::grant(transaction, scope_id, &grant)?;
            node::insert(transaction, &root_row(id, scope_id, &title, caller, now))?;
            event::insert(transaction, &created_event(id, caller, &address, now))
        };
        content.database.write(write).await?;
        let repetition = self.repetition.clone();
        self.repository
            .inner
            .configuration
            .write(move |transaction| {
                // First, because the clean-up that removes what was cut short takes its turn by it.
                farm::change_directory(transaction)?;
                in_time(entry.created_at, Timestamp::now())?;
                site_collection::insert(transaction, &entry)?;
                repetition.keep(transaction, entry.id)
            })
            .await
            .map_err(explain)?;
        self.repository.refresh_map().await?;
        Ok(id)
    }

    /// Site collections whose root site the caller may know of.
    pub async fn site_collections(&self) -> Result<Vec<SiteCollection>> {
        let map = self.map().await?;
        let mut found = Vec::new();
        for row in &map.collections {
            match self.site_collection(row.id).await {
                Ok(collection) => found.push(collection),
                Err(error) if error.kind() == model::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// One site collection.
    pub async fn site_collection(&self, id: Id) -> Result<SiteCollection> {
        let (located, usage) = self.inspect(&id.into(), move |reader, _| collection::usage(reader, id)).await?;
        let row = located.map.collection(id)?;
        Ok(SiteCollection {
            id,
            path: row.path.clone(),
            title: row.title.clone(),
            usage: located.rights().has(Right::ManageSite).then(|| SiteUsage {
                database: located.content.row.name.clone(),
                used_bytes: size(usage.0),
                documents: size(usage.1),
                quota_bytes: located.collection.quota_bytes.map(size),
            }),
            audit_reads: located.collection.audit_reads,
            created_at: row.created_at,
            accent: row.accent,
        })
    }

    /// Sets or removes the quota of a site collection, in bytes.
    pub async fn set_quota(&self, id: Id, bytes: Option<u64>) -> Result<()> {
        self.require_farm_administrator("set quotas")?;
        let bytes = bytes
            .map(|bytes| {
                i64::try_from(bytes).map_err(|_| Error::invalid("a quota is at most 9,223,372,036,854,775,807 bytes"))
            })
            .transpose()?;
        let located = self.locate(&id.into()).await?;
        let guard = self.guard(&located, &[]);
        let write = move |transaction: &mut Transaction<'_>| {
            collection::set_quota(transaction, id, bytes)?;
            guard.record(transaction, id, "site.quota", bytes.map_or("none".to_owned(), |bytes| bytes.to_string()))
        };
        located.content.database.write(write).await
    }

    /// Changes title and colour of a site collection; what is absent stays.
    ///
    /// The title is also the name of the root site, which is written first: what is cut between the two is mended by doing it again.
    pub async fn set_look(&self, id: Id, title: Option<&str>, accent: Option<Accent>) -> Result<()> {
        let located = self.locate(&id.into()).await?;
        located.require(Right::ManageSite)?;
        let row = located.map.collection(located.collection.id)?;
        let title = title.unwrap_or(&row.title).trim().to_owned();
        check_title(&title)?;
        let (id, accent) = (row.id, accent.unwrap_or(row.accent));
        let guard = self.guard(&located, &[(id, Right::ManageSite)]);
        let (name, folded) = (title.clone(), id.to_string());
        let write = move |transaction: &mut Transaction<'_>| {
            guard.check(transaction)?;
            node::place(transaction, id, Id::NONE, &name, &folded)?;
            collection::change_tree(transaction, id)?;
            guard.record(transaction, id, "site.look", format!("{name}, {}", accent.as_str()))
        };
        located.content.database.write(write).await?;
        let write = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            site_collection::set_look(transaction, id, &title, accent).map(drop)
        };
        self.repository.inner.configuration.write(write).await?;
        self.repository.refresh_map().await
    }

    /// Sets whether opening a document is written to the audit log.
    pub async fn set_audit_reads(&self, id: Id, on: bool) -> Result<()> {
        let located = self.locate(&id.into()).await?;
        located.require(Right::ManageSite)?;
        let guard = self.guard(&located, &[(id, Right::ManageSite)]);
        let write = move |transaction: &mut Transaction<'_>| {
            guard.check(transaction)?;
            collection::set_audit_reads(transaction, id, on)?;
            guard.record(transaction, id, "site.audit-reads", if on { "on" } else { "off" })
        };
        located.content.database.write(write).await
    }

    /// Creates a site below a site.
    pub async fn create_site(&self, parent: &Target, name: &Name) -> Result<Item> {
        self.create_in_site(parent, name, NodeKind::Site, Right::ManageSite, None).await
    }

    /// Creates a library in a site.
    pub async fn create_library(&self, site: &Target, name: &Name, settings: LibrarySettings) -> Result<Item> {
        self.create_in_site(site, name, NodeKind::Library, Right::ManageLibraries, Some(settings)).await
    }

    async fn create_in_site(
        &self,
        parent: &Target,
        name: &Name,
        kind: NodeKind,
        right: Right,
        settings: Option<LibrarySettings>,
    ) -> Result<Item> {
        let located = self.locate(parent).await?;
        located.require(right)?;
        located.require_kind(NodeKind::Site)?;
        check_depth(&located, 0, name)?;
        let path = located.path();
        let address = SitePath::parse(&crate::documents::join(&path, name.as_str())).map(|path| path.folded());
        if address.is_ok_and(|address| located.map.collections.iter().any(|row| row.folded == address)) {
            return Err(Error::conflict(format!("there is a site collection at \"{name}\"")).with_code("name_taken"));
        }
        let guard = self.guard(&located, &[(located.node().id, right)]);
        let (site, name) = (located.node().id, name.clone());
        let write = move |transaction: &mut Transaction<'_>| {
            guard.check(transaction)?;
            if let Some(created) = guard.repetition.find(transaction)? {
                return guard.item(transaction, created);
            }
            let parent = held_parent(transaction, site)?;
            if let Some(present) = node::find_child(transaction, site, &name.folded())? {
                return Err(taken(&present.name, present.kind));
            }
            let row = NodeRow::new(guard.next_id(), &parent, kind, &name, guard.caller(), Timestamp::now());
            node::insert(transaction, &row)?;
            if let Some(settings) = &settings {
                library::put(transaction, row.id, settings)?;
            }
            guard.record(
                transaction,
                row.id,
                &format!("{}.create", kind.as_str()),
                crate::documents::join(&path, name.as_str()),
            )?;
            guard.repetition.keep(transaction, row.id)?;
            guard.item(transaction, row.id)
        };
        located.content.database.write(write).await.map_err(explain)
    }
}

fn check_title(title: &str) -> Result<()> {
    if title.trim().is_empty() || title.chars().count() > 255 || title.chars().any(char::is_control) {
        return Err(Error::invalid("a title has 1 to 255 characters, none of them a control character"));
    }
    Ok(())
}

/// Refuses to enter a site collection so late that the clean-up may have taken it for a remain.
fn in_time(begun: Timestamp, now: Timestamp) -> Result<()> {
    if begun < now.before(ENTERED_WITHIN) {
        return Err(Error::unavailable("creating the site collection took too long and was given up; try again"));
    }
    Ok(())
}

/// The root site. Its folded name is its identifier: roots have no parent in which names would have to differ.
fn root_row(id: Id, scope_id: Id, title: &str, caller: Id, now: Timestamp) -> NodeRow {
    NodeRow {
        id,
        collection_id: id,
        parent_id: Id::NONE,
        library_id: Id::NONE,
        scope_id,
        kind: NodeKind::Site,
        name: title.to_owned(),
        folded: id.to_string(),
        created_at: now,
        created_by: caller,
        modified_at: now,
        modified_by: caller,
        content_type_id: None,
        size: 0,
        media_type: String::new(),
        version_id: None,
        published_id: None,
        number: VersionNumber::new(0, 0),
        holder_id: None,
        held_at: None,
        working_id: None,
    }
}

fn created_event(id: Id, caller: Id, address: &str, now: Timestamp) -> event::EventRow {
    event::EventRow {
        sequence: 0,
        at: now,
        actor_id: caller,
        collection_id: id,
        node_id: id,
        action: "site-collection.create".to_owned(),
        detail: address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_creation_that_took_too_long_is_given_up() {
        let begun = Timestamp::now();
        in_time(begun, begun.after(ENTERED_WITHIN)).unwrap();
        let late = in_time(begun, begun.after(ENTERED_WITHIN * 2)).unwrap_err();
        assert_eq!(late.kind(), model::ErrorKind::Unavailable);
    }
}
