//! Templates that people saved, and the choice among all templates that there are.
//!
//! A saved template is for one site collection, or for the whole farm. Those of a site collection are for people who
//! may create sites or lists in it. Those of the farm are for every account, as the built-in ones are.

use async_recursion::async_recursion as boxed;
use database::configuration::event;
use database::configuration::template::{self, TemplateRow};
use database::{Reader, Transaction};
use model::{Code, Error, Id, NodeKind, Result, Right, Timestamp};
use serde::{Deserialize, Serialize};

use super::built_in::{built_in, built_in_templates};
use super::format::{MAX_TEMPLATE_BYTES, Template, TemplateKind, Text, invalid, is_template_name};
use crate::session::guard::{Checked, Guard};
use crate::session::root::ManagedRoot;
use crate::{Session, Target};

/// Limit on the templates of one site collection, and on those of the farm.
const MAX_SAVED: usize = 200;

/// Origin of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateOrigin {
    /// It is part of the program.
    BuiltIn,
    /// It was saved for the whole farm.
    Farm,
    /// It was saved for a site collection.
    SiteCollection,
}

/// A template in a list of them.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateSummary {
    /// Name in addresses.
    pub name: String,
    /// Kind of item that it makes.
    pub kind: TemplateKind,
    /// Title.
    pub title: Text,
    /// What one gets.
    pub description: Text,
    /// Origin.
    pub origin: TemplateOrigin,
    /// Time at which it was saved; `None` for a built-in one.
    pub changed_at: Option<Timestamp>,
    /// User who saved it.
    pub changed_by: Option<Id>,
}

/// Title and description as they are stored beside a template.
#[derive(Serialize, Deserialize)]
struct Summary {
    title: Text,
    #[serde(default)]
    description: Text,
}

impl TemplateSummary {
    fn of_built_in(template: &Template) -> Self {
        Self {
            name: template.name.clone(),
            kind: template.kind,
            title: template.title.clone(),
            description: template.description.clone(),
            origin: TemplateOrigin::BuiltIn,
            changed_at: None,
            changed_by: None,
        }
    }

    fn of_row(row: TemplateRow) -> Result<Self> {
        let bad = || Error::corrupt("a stored template has a summary that cannot be read");
        let Summary { title, description } = serde_json::from_str(&row.summary).map_err(|_| bad())?;
        let origin = if row.collection_id.is_none() { TemplateOrigin::Farm } else { TemplateOrigin::SiteCollection };
        let kind = if row.kind == TemplateKind::Site.as_str() { TemplateKind::Site } else { TemplateKind::List };
        let (changed_at, changed_by) = (Some(row.changed_at), Some(row.changed_by));
        Ok(Self { name: row.name, kind, title, description, origin, changed_at, changed_by })
    }
}

/// The authority to change the templates of a site collection or of the farm.
struct Shelf {
    root: Option<ManagedRoot>,
}

impl Shelf {
    fn collection(&self) -> Id {
        self.root.as_ref().map_or(Id::NONE, |root| root.collection.id)
    }
}

impl Session {
    /// Returns the templates that can be used in a site: the built-in ones, those of the farm, and those of its site
    /// collection; those for sites only for a caller who may create sites there. Without a site, returns those of the
    /// farm and the built-in ones.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` for a caller who may not create lists in the site.
    #[boxed]
    pub async fn templates(&self, site: Option<&Target>) -> Result<Vec<TemplateSummary>> {
        let (collection, kinds) = self.usable(site).await?;
        let list = move |reader: &mut Reader<'_>| template::list(reader, collection, 2 * MAX_SAVED);
        let rows = self.repository.inner.configuration.read(list).await?;
        let mut all: Vec<TemplateSummary> = built_in_templates().iter().map(TemplateSummary::of_built_in).collect();
        for row in &rows {
            // A template of the farm is covered by one of the site collection with the same name.
            let covered = |other: &TemplateRow| other.name == row.name && !other.collection_id.is_none();
            if !row.collection_id.is_none() || !rows.iter().any(covered) {
                all.push(TemplateSummary::of_row(row.clone())?);
            }
        }
        all.retain(|template| kinds.contains(&template.kind));
        Ok(all)
    }

    /// Returns a template that can be used in a site, or of the farm.
    ///
    /// # Errors
    /// `NotFound`; those of [`Session::templates`]; `Forbidden` for a template of sites, if the caller may not create
    /// sites there.
    #[boxed]
    pub async fn template(&self, site: Option<&Target>, name: &str) -> Result<Template> {
        let (collection, kinds) = self.usable(site).await?;
        let found = self.find_template(collection, name).await?;
        if let (false, Some(site)) = (kinds.contains(&found.kind), site) {
            self.locate(site).await?.to(Right::ManageSite)?;
        }
        Ok(found)
    }

    /// Saves a template for the site collection of a site, or for the farm.
    ///
    /// # Errors
    /// `Forbidden` unless the caller manages the site collection or, for the farm, is a farm administrator; `Conflict`
    /// with code `name_taken`; `Exhausted` with code `too_many`; `Invalid` with code `invalid_template`.
    #[boxed]
    pub async fn save_template(&self, site: Option<&Target>, new: Template) -> Result<TemplateSummary> {
        let shelf = self.shelf(site).await?;
        let (row, text) = self.row(&shelf, self.repository.next_id(), &new)?;
        let (name, collection, repetition) = (new.name, shelf.collection(), self.repetition.clone());
        let free = self.refuse_taken(collection, &name).await;
        let earlier = repetition.clone();
        if self.repository.inner.configuration.read(move |reader| earlier.find(reader)).await?.is_none() {
            free?;
        }
        self.record_template(&shelf, "template.save", name.clone()).await?;
        let actor = self.principal.id;
        let save = move |tx: &mut Transaction<'_>| {
            if repetition.find(tx)?.is_none() {
                if template::count(tx, collection)? >= MAX_SAVED as i64 {
                    let text = format!("there are {MAX_SAVED} saved templates already: delete one of them first");
                    return Err(Error::exhausted(text).with_code(Code::TooMany));
                }
                template::insert(tx, &row, &text)?;
                record_in_farm(tx, collection, actor, "farm-template.save", &name)?;
                repetition.store_result(tx, row.id)?;
            }
            let found = template::find(tx, collection, &name)?.ok_or_else(|| no_template(&name))?;
            TemplateSummary::of_row(found.0)
        };
        self.repository.inner.configuration.write(save).await.map_err(taken_meanwhile)
    }

    /// Changes name and title of a saved template.
    ///
    /// # Errors
    /// Those of [`Session::save_template`]; `NotFound`, also for a built-in template.
    #[boxed]
    pub async fn rename_template(
        &self,
        site: Option<&Target>,
        name: &str,
        to: &str,
        title: Option<Text>,
    ) -> Result<TemplateSummary> {
        let shelf = self.shelf(site).await?;
        let collection = shelf.collection();
        let (before, mut changed) = self.saved(collection, name).await?;
        to.clone_into(&mut changed.name);
        changed.title = title.unwrap_or(changed.title);
        // What was changed is checked as a whole.
        let changed = Template::parse(&changed.write())?;
        if to != name {
            self.refuse_taken(collection, to).await?;
        }
        let (row, text) = self.row(&shelf, before.id, &changed)?;
        self.record_template(&shelf, "template.rename", format!("{name}: {to}")).await?;
        let (actor, name) = (self.principal.id, name.to_owned());
        let rename = move |tx: &mut Transaction<'_>| {
            template::find(tx, collection, &name)?
                .filter(|(now, _)| now.id == row.id)
                .ok_or_else(|| no_template(&name))?;
            template::update(tx, &row, &text)?;
            record_in_farm(tx, collection, actor, "farm-template.rename", &format!("{name}: {}", row.name))?;
            TemplateSummary::of_row(row.clone())
        };
        self.repository.inner.configuration.write(rename).await.map_err(taken_meanwhile)
    }

    /// Deletes a saved template. What was made from it stays.
    ///
    /// # Errors
    /// `NotFound`, also for a built-in template; `Forbidden` as [`Session::save_template`].
    #[boxed]
    pub async fn delete_template(&self, site: Option<&Target>, name: &str) -> Result<()> {
        let shelf = self.shelf(site).await?;
        let (collection, actor) = (shelf.collection(), self.principal.id);
        let (kept, name) = (name.to_owned(), name.to_owned());
        let found = self.repository.inner.configuration.read(move |reader| template::find(reader, collection, &kept));
        found.await?.ok_or_else(|| no_template(&name))?;
        self.record_template(&shelf, "template.delete", name.clone()).await?;
        let delete = move |tx: &mut Transaction<'_>| {
            if template::remove(tx, collection, &name)? == 0 {
                return Err(no_template(&name));
            }
            record_in_farm(tx, collection, actor, "farm-template.delete", &name)
        };
        self.repository.inner.configuration.write_vital(delete).await
    }

    /// Returns the site collection of a site and the kinds of templates that the caller may use in it.
    async fn usable(&self, site: Option<&Target>) -> Result<(Id, Vec<TemplateKind>)> {
        let Some(site) = site else { return Ok((Id::NONE, vec![TemplateKind::Site, TemplateKind::List])) };
        let known = self.locate(site).await?;
        let lists = known.clone().to(Right::ManageLibraries)?;
        lists.require_kind(NodeKind::Site)?;
        let mut kinds = vec![TemplateKind::List];
        kinds.extend(known.to(Right::ManageSite).is_ok().then_some(TemplateKind::Site));
        Ok((lists.collection.id, kinds))
    }

    /// Requires that the caller may change templates.
    async fn shelf(&self, site: Option<&Target>) -> Result<Shelf> {
        let Some(site) = site else {
            self.require_farm_administrator("save templates for the whole farm")?;
            return Ok(Shelf { root: None });
        };
        let collection = self.locate(site).await?.viewed()?.collection.id;
        Ok(Shelf { root: Some(self.root(collection).await?.managed()?) })
    }

    /// Returns the template with a name for a site collection: its own one, that of the farm, or the built-in one.
    pub(super) async fn find_template(&self, collection: Id, name: &str) -> Result<Template> {
        if !is_template_name(name) {
            return Err(no_template(name));
        }
        let wanted = name.to_owned();
        let find = move |reader: &mut Reader<'_>| match template::find(reader, collection, &wanted)? {
            None if !collection.is_none() => template::find(reader, Id::NONE, &wanted),
            found => Ok(found),
        };
        match self.repository.inner.configuration.read(find).await? {
            Some((_, text)) => Template::parse(&text),
            None => built_in(name).cloned().ok_or_else(|| no_template(name)),
        }
    }

    async fn saved(&self, collection: Id, name: &str) -> Result<(TemplateRow, Template)> {
        let wanted = name.to_owned();
        let find = move |reader: &mut Reader<'_>| template::find(reader, collection, &wanted);
        let (row, text) = self.repository.inner.configuration.read(find).await?.ok_or_else(|| no_template(name))?;
        Ok((row, Template::parse(&text)?))
    }

    async fn refuse_taken(&self, collection: Id, name: &str) -> Result<()> {
        if built_in(name).is_some() {
            return Err(taken(name));
        }
        let wanted = name.to_owned();
        let find = move |reader: &mut Reader<'_>| template::find(reader, collection, &wanted);
        match self.repository.inner.configuration.read(find).await? {
            Some(_) => Err(taken(name)),
            None => Ok(()),
        }
    }

    fn row(&self, shelf: &Shelf, id: Id, new: &Template) -> Result<(TemplateRow, String)> {
        let text = new.write();
        if text.len() > MAX_TEMPLATE_BYTES {
            return Err(invalid(format!("it is larger than {} MiB", MAX_TEMPLATE_BYTES >> 20)));
        }
        let summary = Summary { title: new.title.clone(), description: new.description.clone() };
        let summary = serde_json::to_string(&summary)
            .map_err(|error| Error::corrupt("a template cannot be described").with_source(error))?;
        let row = TemplateRow {
            id,
            collection_id: shelf.collection(),
            name: new.name.clone(),
            kind: new.kind.as_str().to_owned(),
            summary,
            changed_at: Timestamp::now(),
            changed_by: self.principal.id,
        };
        Ok((row, text))
    }

    /// Records a change in the audit log of the site collection, whose transaction decides once more whether the
    /// caller manages it. Written before the change, so that none is missing after an interruption.
    async fn record_template(&self, shelf: &Shelf, action: &'static str, detail: String) -> Result<()> {
        let Some(root) = &shelf.root else { return Ok(()) };
        let guard = self.guard([&**root])?;
        let id = root.collection.id;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            guard.record(transaction, id, action, detail.as_str())
        };
        guard.write(write).await
    }
}

/// Records a change of a template of the farm in the audit log of the farm.
fn record_in_farm(tx: &mut Transaction<'_>, collection: Id, actor: Id, action: &str, detail: &str) -> Result<()> {
    match collection.is_none() {
        true => event::record(tx, Timestamp::now(), actor, action, "template", detail),
        false => Ok(()),
    }
}

fn no_template(name: &str) -> Error {
    let shown: String = name.chars().take(80).collect();
    Error::not_found(format!("there is no template {shown:?} that can be used here"))
}

fn taken(name: &str) -> Error {
    Error::conflict(format!("there is a template {name:?} already: choose another name")).with_code(Code::NameTaken)
}

/// Words the conflict with a template that was saved in the same moment.
fn taken_meanwhile(error: Error) -> Error {
    match error.code() {
        Code::UniqueViolation => {
            Error::conflict("there is a template of this name already: choose another name").with_code(Code::NameTaken)
        }
        _ => error,
    }
}
