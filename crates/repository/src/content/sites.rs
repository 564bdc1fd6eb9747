//! Site collections.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::configuration::farm;
use database::configuration::site_collection::{self, SiteCollectionRow};
use database::content::node::{self, NodeRow};
use database::content::scope;
use database::content::{collection, event};
use model::{
    Accent, Code, Error, ErrorKind, Id, LibrarySettings, Name, NodeKind, Result, Right, Role, SitePath, Timestamp,
    VersionNumber, unsigned,
};

use crate::content::permissions::RoleGrant;
use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::{Repository, Session, Target, UnavailableDatabases};

/// First path segments that the program's own URLs need.
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

/// Time after its creation within which a site collection must be entered in the farm's registry. Later the entry is
/// refused.
const ENTERED_WITHIN: Duration = Duration::from_secs(10 * 60);

/// A site collection as administrators and visitors see it.
#[derive(Clone, Debug)]
pub struct SiteCollection {
    /// Identifier; the root site has the same one.
    pub id: Id,
    /// Path in the farm; empty for the root site collection.
    pub path: String,
    /// Title.
    pub title: String,
    /// Its usage. Only for those who manage it, because the figures include items that others may not see.
    pub usage: Option<SiteUsage>,
    /// Set when opening a document is recorded in the audit log.
    pub audit_reads: bool,
    /// Time of creation; `None` for a caller who may not open its root site.
    pub created_at: Option<Timestamp>,
    /// Accent colour of the collection's pages.
    pub accent: Accent,
    /// The reason why it cannot be used, when its content database is not open or cannot be read.
    pub trouble: Option<String>,
}

/// A change to a site collection; absent fields are left unchanged.
#[derive(Clone, Debug, Default)]
pub struct SiteChange {
    /// New title.
    pub title: Option<String>,
    /// New colour of its pages.
    pub accent: Option<Accent>,
    /// New quota in bytes; `Some(None)` removes it.
    pub quota_bytes: Option<Option<u64>>,
    /// Set to record in the audit log when a document is opened.
    pub audit_reads: Option<bool>,
}

impl SiteChange {
    fn is_empty(&self) -> bool {
        self.title.is_none() && self.accent.is_none() && self.quota_bytes.is_none() && self.audit_reads.is_none()
    }
}

/// The usage of a site collection and the content database that holds it.
#[derive(Clone, Debug, Default)]
pub struct SiteUsage {
    /// Name of the content database that holds it.
    pub database: String,
    /// Bytes of all versions, including the recycle bin.
    pub used_bytes: u64,
    /// Number of documents, including the recycle bin.
    pub documents: u64,
    /// Limit on the bytes of all versions together; `None` for no limit.
    pub quota_bytes: Option<u64>,
}

/// Creates the root site collection with the library `Documents`, if the farm does not have one yet.
pub(crate) async fn ensure_root(repository: &Repository) -> Result<()> {
    let registry = repository.registry().await?;
    if registry.collections.iter().any(|collection| collection.folded.is_empty()) {
        return Ok(());
    }
    let administrator = repository.farm_administrator().await?;
    let session = repository.as_caller(administrator);
    let root = session.create_site_collection(&SitePath::default(), "Strongroom", None, None).await?;
    session.create_library(&root.into(), &Name::new("Documents")?, LibrarySettings::default()).await?;
    Ok(())
}

impl Session {
    /// Creates a site collection at a path, in the named content database (the first one when absent), with full
    /// control for `owner` (the caller when absent). Returns its identifier.
    ///
    /// The site collection is created in its content database first and entered in the farm's registry afterwards. If
    /// this is interrupted in between, [`Session::clean_up`] removes it.
    #[boxed]
    pub async fn create_site_collection(
        &self,
        path: &SitePath,
        title: &str,
        database: Option<&str>,
        owner: Option<Id>,
    ) -> Result<Id> {
        self.require_farm_administrator("create site collections")?;
        if owner.is_some_and(|owner| owner != self.principal.id) {
            self.require_fresh("give a site collection to another user")?;
        }
        check_title(title)?;
        let repetition = self.repetition.clone();
        let earlier = move |reader: &mut database::Reader<'_>| repetition.find(reader);
        if let Some(created) = self.repository.inner.configuration.read(earlier).await? {
            return Ok(created);
        }
        let registry = self.registry().await?;
        if let Some(first) = path.path().names().first()
            && RESERVED.contains(&first.folded().as_str())
        {
            return Err(Error::invalid(format!(
                "\"{first}\" is reserved for addresses of the program: choose another name"
            )));
        }
        if registry.collections.iter().any(|collection| collection.folded == path.folded()) {
            return Err(
                Error::conflict(format!("there is already a site collection at \"{path}\"")).with_code(Code::NameTaken)
            );
        }
        if !path.path().is_empty() {
            match self.locate(&Target::Path(path.path().clone())).await {
                Ok(_) => {
                    let text = format!("there is already something at \"{path}\"");
                    return Err(Error::conflict(text).with_code(Code::NameTaken));
                }
                Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Corrupt) => return Err(error),
                Err(_) => {}
            }
        }
        let content = registry.database_named(database)?;
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
            let grant = RoleGrant { principal: owner, role: Role::FULL_CONTROL, until: None }.row(caller, now);
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
                // Must come first: it serialises this transaction with the clean-up, which removes interrupted
                // creations.
                farm::change_directory(transaction)?;
                in_time(entry.created_at, Timestamp::now())?;
                site_collection::insert(transaction, &entry)?;
                repetition.store_result(transaction, entry.id)
            })
            .await
            .map_err(name_conflict)?;
        self.repository.refresh_registry().await?;
        Ok(id)
    }

    /// Returns the site collections whose root site the caller may know of.
    #[boxed]
    pub async fn site_collections(&self) -> Result<Vec<SiteCollection>> {
        let registry = self.registry().await?;
        let mut found = Vec::new();
        for row in &registry.collections {
            match self.site_collection(row.id).await {
                Ok(collection) => found.push(collection),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // An unavailable site collection does not hide the others. Administrators see that it exists.
                Err(error) if error.code() == Code::DatabaseAway => {
                    let trouble = Some(error.message().to_owned());
                    found.extend(self.principal.farm_administrator.then(|| SiteCollection {
                        id: row.id,
                        path: row.path.clone(),
                        title: row.title.clone(),
                        usage: None,
                        audit_reads: false,
                        created_at: Some(row.created_at),
                        accent: row.accent,
                        trouble,
                    }));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Returns one site collection. A caller who may open items below its root site, but not the root site itself, gets
    /// only path, title and colour.
    #[boxed]
    pub async fn site_collection(&self, id: Id) -> Result<SiteCollection> {
        let inspect = self.inspect_root(id, |reader, root| {
            // The usage is shown only to those who manage the site collection.
            root.managed().ok().map(|root| root.usage(reader)).transpose()
        });
        let (root, usage) = match self.registry().await?.collection(id).map(|row| row.database_id) {
            Ok(database) => {
                let registry = self.registry().await?;
                let content = registry.database(database).map_err(|error| self.without_database_details(error))?;
                inspect.await.map_err(|error| self.without_database_details(content.away(error)))?
            }
            Err(_) => inspect.await?,
        };
        let row = root.registry.collection(id)?;
        let rights = root.rights();
        Ok(SiteCollection {
            id,
            path: row.path.clone(),
            title: row.title.clone(),
            usage: usage.map(|(bytes, documents)| SiteUsage {
                database: root.content.row.name.clone(),
                used_bytes: unsigned(bytes),
                documents: unsigned(documents),
                quota_bytes: root.collection.quota_bytes.map(unsigned),
            }),
            audit_reads: rights.has(Right::View) && root.collection.audit_reads,
            created_at: rights.has(Right::View).then_some(row.created_at),
            accent: row.accent,
            trouble: None,
        })
    }

    /// Records in `missing` that a response lacks the content of a site collection, whose content database returned
    /// this error.
    ///
    /// # Errors
    /// The given error, when it is not about the database itself.
    #[boxed]
    pub async fn record_missing(&self, id: Id, error: Error, missing: &mut UnavailableDatabases) -> Result<()> {
        let registry = self.registry().await?;
        missing.add(registry.database(registry.collection(id)?.database_id)?.name_if_database_error(error)?);
        Ok(())
    }

    /// Sets or removes the quota of a site collection, in bytes.
    #[boxed]
    pub async fn set_quota(&self, id: Id, bytes: Option<u64>) -> Result<()> {
        self.change_site_collection(id, SiteChange { quota_bytes: Some(bytes), ..SiteChange::default() }).await
    }

    /// Changes the title and colour of a site collection; absent values are left unchanged.
    #[boxed]
    pub async fn set_appearance(&self, id: Id, title: Option<&str>, accent: Option<Accent>) -> Result<()> {
        let title = title.map(ToOwned::to_owned);
        self.change_site_collection(id, SiteChange { title, accent, ..SiteChange::default() }).await
    }

    /// Sets whether opening a document is recorded in the audit log.
    #[boxed]
    pub async fn set_audit_reads(&self, id: Id, on: bool) -> Result<()> {
        self.change_site_collection(id, SiteChange { audit_reads: Some(on), ..SiteChange::default() }).await
    }

    /// Changes a site collection, all or nothing. Changing the quota needs a farm administrator; the rest needs the
    /// right to manage the root site.
    ///
    /// Title and colour are also stored in the farm's registry, which is written last. After an interruption in
    /// between, repeating the change makes both agree.
    #[boxed]
    pub async fn change_site_collection(&self, id: Id, change: SiteChange) -> Result<()> {
        if change.quota_bytes.is_some() {
            self.require_farm_administrator("set quotas")?;
        }
        let root = self.root(id).await?;
        if change.is_empty() {
            return Ok(());
        }
        let root = root.managed()?;
        let guard = self.guard([&*root])?;
        let row = root.registry.collection(id)?;
        let look = if change.title.is_some() || change.accent.is_some() {
            let title = change.title.as_deref().unwrap_or(&row.title).trim().to_owned();
            check_title(&title)?;
            Some((title, change.accent.unwrap_or(row.accent)))
        } else {
            None
        };
        let most = |bytes: u64| {
            i64::try_from(bytes)
                .map_err(|_| Error::invalid("a quota must be less than 8 EiB (9,223,372,036,854,775,808 bytes)"))
        };
        let quota = change.quota_bytes.map(|bytes| bytes.map(most).transpose()).transpose()?;
        let new_look = look.clone();
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            if let Some(bytes) = quota {
                root.set_quota(transaction, bytes)?;
                let said = bytes.map_or("none".to_owned(), |bytes| bytes.to_string());
                guard.record(transaction, id, "site.quota", said)?;
            }
            if let Some(on) = change.audit_reads {
                root.set_audit_reads(transaction, on)?;
                guard.record(transaction, id, "site.audit-reads", if on { "on" } else { "off" })?;
            }
            if let Some((title, accent)) = &new_look {
                root.rename(transaction, title)?;
                guard.record(transaction, id, "site.look", format!("{title}, {}", accent.as_str()))?;
            }
            Ok(())
        };
        guard.write(write).await?;
        let Some((title, accent)) = look else { return Ok(()) };
        let write = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            site_collection::set_look(transaction, id, &title, accent).map(drop)
        };
        self.repository.inner.configuration.write(write).await?;
        self.repository.refresh_registry().await
    }
}

fn check_title(title: &str) -> Result<()> {
    if title.trim().is_empty() || title.chars().count() > 255 || title.chars().any(char::is_control) {
        return Err(Error::invalid("a title has 1 to 255 characters, none of them a control character"));
    }
    Ok(())
}

/// Refuses to enter a site collection so late that the clean-up may already treat it as abandoned.
fn in_time(begun: Timestamp, now: Timestamp) -> Result<()> {
    if begun < now.before(ENTERED_WITHIN) {
        return Err(Error::unavailable("creating the site collection took too long and was cancelled; try again"));
    }
    Ok(())
}

/// Returns the row of the root site. Its folded name is its identifier, because root sites have no parent in which
/// names would have to be unique.
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
        title: None,
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
