//! Making sites and lists from templates. Each is made in one transaction: all of it, or nothing.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::node::NodeRow;
use database::content::scope;
use database::content::site::SiteRow;
use database::content::{collection, site};
use model::{
    Accent, Code, Error, ErrorKind, Id, Name, NodeKind, Result, Right, Role, SmallImage, Timestamp, Versioning,
};

use super::format::{ListTemplate, Template, TemplateKind, Text, check_lookups, invalid};
use super::pages::PageTexts;
use super::plan::Plan;
use crate::content::event_detail::Detail;
use crate::content::permissions::{RoleGrant, role_exceeds_rights, roles_of};
use crate::items::containers::refuse_collection_address;
use crate::items::item::Item;
use crate::items::tree::held_parent;
use crate::look::options::{NavigationEntry, NavigationTarget, SiteOptions};
use crate::session::errors::name_conflict;
use crate::session::guard::{Checked, Guard};
use crate::session::locate::check_depth;
use crate::session::target::join;
use crate::{Session, Target};

/// Limit on the people and groups that are named for one entry of `ask`.
const MAX_NAMED: usize = 100;

/// A site to be made from a template.
#[derive(Clone, Debug, Default)]
pub struct NewSite {
    /// Who the entries of the template's `ask` are. With at least one of them, the site has its own permissions: the
    /// caller's roles, and those that the template grants. Otherwise it inherits.
    pub people: Vec<(String, Vec<Id>)>,
    /// Tag of the language of names and choices.
    pub language: String,
}

/// A role for a user or group of a new site.
#[derive(Clone)]
struct NewGrant {
    to: Id,
    name: String,
    role: Role,
}

impl Session {
    /// Makes a site below a site, with everything that a template has.
    ///
    /// # Errors
    /// `Forbidden` unless the caller may create sites here, libraries and lists if the template has some, rows if it
    /// has some, and unless the caller may grant the roles to the people that are named; `Invalid` with code
    /// `invalid_template`; `Conflict` with code `name_taken`.
    #[boxed]
    pub async fn create_site_from(
        &self,
        parent: &Target,
        name: &Name,
        template: &Template,
        new: NewSite,
    ) -> Result<Item> {
        if template.kind != TemplateKind::Site {
            return Err(invalid(format!("{:?} is a template for lists, not for sites", template.name)));
        }
        let known = self.locate(parent).await?;
        let site = known.clone().to(Right::ManageSite)?;
        site.require_kind(NodeKind::Site)?;
        let lists = self.full_lists(site.collection.id, template).await?;
        let grants = self.grants_of(template, &new.people).await?;
        let mut needs = vec![site.clone()];
        if !lists.is_empty() {
            needs.push(known.clone().to(Right::ManageLibraries)?);
        }
        if lists.iter().any(|list| !list.rows.is_empty() || !list.pages.is_empty()) {
            needs.push(known.clone().to(Right::Add)?);
        }
        if lists.iter().any(has_published_pages) {
            needs.push(known.clone().to(Right::Publish)?);
        }
        if lists.iter().any(|list| has_published_pages(list) && list.require_approval == Some(true)) {
            needs.push(known.clone().to(Right::Override)?);
        }
        if !grants.is_empty() {
            needs.push(known.to(Right::ManagePermissions)?);
        }
        let guard = self.guard(&needs)?.exclusive_when(!grants.is_empty());
        // The deepest items of a new site are rows of its lists.
        check_depth(&site, 2, name)?;
        refuse_collection_address(&site, name)?;
        let texts = PageTexts::store(&site, &guard, &lists, &new.language).await?;
        let making = Arc::new(MakingSite {
            session: self.clone(),
            parent: site.node().id,
            path: join(&site.path(), name.as_str()),
            name: name.clone(),
            template: template.clone(),
            lists,
            grants,
            language: new.language,
            texts,
        });
        let mut attempt = 1;
        loop {
            let once = Arc::clone(&making);
            let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
                once.make(transaction, guard, checked)
            };
            match guard.clone().write(write).await {
                Err(error) if making.texts.may_retry(&error, attempt, &guard, &site).await? => attempt += 1,
                made => return made.map_err(name_conflict),
            }
        }
    }

    /// Makes a list in a site, with everything that a template has. Its name is that of the template unless another
    /// one is given.
    ///
    /// # Errors
    /// `Forbidden` unless the caller may create lists here, and rows if the template has some; `Invalid` with code
    /// `invalid_template`; `Conflict` with code `name_taken`.
    #[boxed]
    pub async fn create_list_from(
        &self,
        site: &Target,
        name: Option<&Name>,
        template: &Template,
        language: &str,
    ) -> Result<Item> {
        let (TemplateKind::List, Some(list)) = (template.kind, template.list.clone()) else {
            return Err(invalid(format!("{:?} is a template for sites, not for lists", template.name)));
        };
        let name = match name {
            Some(name) => name.clone(),
            None => Name::new(list.name.in_language(language))?,
        };
        let known = self.locate(site).await?;
        let mut needs = vec![known.clone().to(Right::ManageLibraries)?];
        if !list.rows.is_empty() {
            needs.push(known.to(Right::Add)?);
        }
        let guard = self.guard(&needs)?;
        let located = &needs[0];
        located.require_kind(NodeKind::Site)?;
        check_depth(located, 1, &name)?;
        refuse_collection_address(located, &name)?;
        let (site, path) = (located.node().id, located.path());
        let (language, from) = (language.to_owned(), template.name.clone());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            if let Some(created) = guard.repetition.find(transaction)? {
                return guard.item(transaction, created);
            }
            let parent = held_parent(transaction, site)?;
            checked.child(transaction, site, &name)?.require_free(&name)?;
            // Lists have no pages.
            let texts = PageTexts::default();
            let mut plan = Plan::new(guard, &language, &texts, std::slice::from_ref(&list), Timestamp::now());
            let made = plan.add_list(&parent, &path, &list, &name)?;
            plan.store(transaction, checked)?;
            guard.record(transaction, made, "template.apply", Detail::from(join(&path, name.as_str())).fact(&from))?;
            guard.repetition.store_result(transaction, made)?;
            guard.item(transaction, made)
        };
        guard.write(write).await.map_err(name_conflict)
    }

    /// Returns the lists of a template for sites, each in full.
    async fn full_lists(&self, collection: Id, template: &Template) -> Result<Vec<ListTemplate>> {
        let mut found = Vec::new();
        for name in template.lists.iter().filter_map(|list| list.template.as_deref()) {
            if found.iter().all(|(known, _)| *known != name) {
                let list = self
                    .find_template(collection, name)
                    .await
                    .and_then(|of| of.list.ok_or_else(|| Error::invalid("it is a template for sites, not for lists")));
                let list = list.map_err(|error| within(&format!("its list template {name:?}"), error))?;
                found.push((name, list));
            }
        }
        let full = |list: &ListTemplate| {
            let of = list.template.as_deref().and_then(|name| found.iter().find(|(known, _)| *known == name));
            of.map_or_else(|| list.clone(), |(_, of)| named(of, &list.name))
        };
        let full: Vec<ListTemplate> = template.lists.iter().map(full).collect();
        check_lookups(&full)?;
        Ok(full)
    }

    /// Returns the roles that the people of a new site get.
    async fn grants_of(&self, template: &Template, people: &[(String, Vec<Id>)]) -> Result<Vec<NewGrant>> {
        let mut ids = Vec::new();
        for (asked, named) in people {
            if !template.ask.iter().any(|known| known.key() == asked) {
                return Err(Error::invalid(format!("the template does not ask for {asked:?}")));
            }
            if named.len() > MAX_NAMED {
                return Err(Error::invalid(format!(
                    "at most {MAX_NAMED} people and groups can be named for {asked:?}"
                )));
            }
            ids.extend_from_slice(named);
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.principal_names(&ids).await?;
        let mut grants = Vec::new();
        for grant in &template.grants {
            let mut named = Vec::new();
            for (asked, ids) in people {
                if *asked == grant.to {
                    named.extend_from_slice(ids);
                }
            }
            if named.is_empty() {
                continue;
            }
            let role = self.role_by_name(&grant.role).await;
            let role = role.map_err(|error| within(&format!("its grant to {:?}", grant.to), error))?;
            for to in named {
                let known = names.get(&to).ok_or_else(|| {
                    Error::invalid(format!("there is no user or group with the identifier {to}"))
                        .with_code(Code::UnknownPerson)
                })?;
                grants.push(NewGrant { to, name: known.name.clone(), role: role.clone() });
            }
        }
        Ok(grants)
    }
}

/// Everything that the transaction of a new site needs.
struct MakingSite {
    session: Session,
    parent: Id,
    path: String,
    name: Name,
    template: Template,
    lists: Vec<ListTemplate>,
    grants: Vec<NewGrant>,
    language: String,
    texts: PageTexts,
}

impl MakingSite {
    fn make(&self, transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked) -> Result<Item> {
        if let Some(created) = guard.repetition.find(transaction)? {
            return guard.item(transaction, created);
        }
        let parent = held_parent(transaction, self.parent)?;
        checked.child(transaction, parent.id, &self.name)?.require_free(&self.name)?;
        let now = Timestamp::now();
        let mut row = NodeRow::new(guard.next_id(), &parent, NodeKind::Site, &self.name, guard.caller(), now);
        if !self.grants.is_empty() {
            row.scope_id = self.make_scope(transaction, guard, &parent, row.id, now)?;
        }
        let mut plan = Plan::new(guard, &self.language, &self.texts, &self.lists, now);
        plan.add_node(row.clone(), &self.path)?;
        let mut made = Vec::with_capacity(self.lists.len());
        for list in &self.lists {
            let name = Name::new(list.name.in_language(&self.language))?;
            made.push((list.name.key(), plan.add_list(&row, &self.path, list, &name)?));
        }
        let home = plan.home();
        plan.store(transaction, checked)?;
        let logo = self.template.logo.as_ref().map(|logo| &logo.0);
        if let Some(SmallImage { media_type, bytes }) = logo {
            site::put_logo(transaction, row.id, media_type, bytes)?;
        }
        let mark = logo.map(|_| guard.next_id());
        let options = SiteOptions { home, logo: mark, ..self.options(&made)? }.to_text()?;
        site::put(transaction, row.id, &SiteRow { template: self.template.name.clone(), options })?;
        let detail = Detail::from(self.path.as_str()).fact(&self.template.name);
        guard.record(transaction, row.id, "template.apply", detail)?;
        if !self.grants.is_empty() {
            self.record_grants(transaction, guard, row.id)?;
            collection::change_tree(transaction, row.collection_id)?;
        }
        guard.repetition.store_result(transaction, row.id)?;
        guard.item(transaction, row.id)
    }

    /// Returns navigation and accent of the new site.
    fn options(&self, made: &[(&str, Id)]) -> Result<SiteOptions> {
        let mut navigation = Vec::new();
        for link in &self.template.navigation {
            let target = match (&link.list, &link.link) {
                (Some(list), _) => made.iter().find(|(key, _)| key == list).map(|(_, id)| NavigationTarget::Item(*id)),
                (None, link) => link.clone().map(NavigationTarget::Address),
            };
            let label = link.label.as_ref().map_or("", |label| label.in_language(&self.language));
            navigation.extend(target.map(|target| NavigationEntry { target, label: label.to_owned() }));
        }
        Ok(SiteOptions {
            accent: self.template.accent.as_deref().map(Accent::parse).transpose()?,
            navigation,
            logo: None,
            home: None,
        })
    }

    /// Stores the permissions of the new site: the caller's roles at the site above, and the new grants.
    fn make_scope(
        &self,
        transaction: &mut Transaction<'_>,
        guard: &Guard,
        parent: &NodeRow,
        id: Id,
        now: Timestamp,
    ) -> Result<Id> {
        // The roles are compared with the caller's current rights.
        let located = guard.find(transaction, parent.id)?;
        located.require(Right::ManagePermissions)?;
        let (own, caller, principal) = (guard.next_id(), guard.caller(), self.session.principal());
        scope::insert(transaction, own, parent.collection_id, id)?;
        for kept in roles_of(transaction, principal, parent.scope_id, now)? {
            scope::grant(transaction, own, &kept.row(caller, now))?;
        }
        for NewGrant { to, role, .. } in &self.grants {
            if !located.rights().contains(role.rights) {
                return Err(role_exceeds_rights(&role.name));
            }
            // The holder of such a role can make their access permanent and admit others.
            if role.rights.has(Right::ManagePermissions) || role.rights.has(Right::ManageSite) {
                self.session.require_fresh("give a role that manages permissions or the site")?;
            }
            let grant = RoleGrant { principal: *to, role: role.id, until: None };
            scope::grant(transaction, own, &grant.row(caller, now))?;
        }
        Ok(own)
    }

    fn record_grants(&self, transaction: &mut Transaction<'_>, guard: &Guard, id: Id) -> Result<()> {
        guard.record(transaction, id, "permissions.break", self.path.as_str())?;
        for grant in &self.grants {
            let detail = Detail::from(self.path.as_str()).grant(format!("{} to {}", grant.role.name, grant.name));
            guard.record(transaction, id, "permissions.grant", detail)?;
        }
        Ok(())
    }
}

/// Returns a list under another name, which its own lookup columns follow.
fn named(list: &ListTemplate, name: &Text) -> ListTemplate {
    let mut list = list.clone();
    let before = std::mem::replace(&mut list.name, name.clone());
    for column in list.columns.iter_mut().filter(|column| column.list.as_deref() == Some(before.key())) {
        column.list = Some(name.key().to_owned());
    }
    list
}

/// Returns whether the pages of a library are published when they are made.
fn has_published_pages(list: &ListTemplate) -> bool {
    !list.pages.is_empty() && list.versioning.as_deref() == Some(Versioning::MajorMinor.as_str())
}

/// Turns an error about something that a template names into one about the template. Others stay as they are.
fn within(part: &str, error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::Invalid => invalid(format!("{part}: {}", error.message())),
        _ => error,
    }
}
