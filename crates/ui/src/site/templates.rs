//! Templates: saving a site or list as one, and the pages on which they are listed, downloaded, uploaded, renamed and
//! deleted, for a site collection and for the farm.

use axum::extract::Path;
use axum::http::header;
use axum::response::IntoResponse;
use model::{Error, Id, NodeKind, Result, Right, Timestamp};
use repository::{Item, Target, Template, TemplateDraft, TemplateKind, TemplateOrigin, TemplateText};

use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::{Icon, icon};
use crate::frame::item::{find, require};
use crate::frame::navigation::{self, Crumb};
use crate::frame::page::{Page, html};
use crate::frame::refuse;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::wording::names;

#[derive(askama::Template)]
#[template(path = "templates.html")]
struct TemplatesPage<'a> {
    page: &'a Page,
    crumbs: Vec<Crumb>,
    /// URL of this page.
    base: String,
    rows: Vec<Row>,
    may_upload: bool,
}

struct Row {
    name: String,
    title: String,
    description: String,
    icon: Icon,
    origin: &'static str,
    at: Option<Timestamp>,
    by: String,
    /// Set if the caller may change it here.
    changeable: bool,
}

/// The templates of a site collection, by one of its sites, or those of the farm.
struct Shelf {
    site: Option<Id>,
}

impl Shelf {
    fn of(id: &str) -> Result<Self> {
        Ok(Self { site: Some(id.parse()?) })
    }

    const FARM: Self = Self { site: None };

    fn target(&self) -> Option<Target> {
        self.site.map(Target::Id)
    }

    fn base(&self) -> String {
        self.site.map_or_else(|| "/farm/templates".to_owned(), |site| format!("/items/{site}/templates"))
    }
}

fn save_form<'a>(visit: &'a Visit, item: &Item, draft: &TemplateDraft, for_farm: bool) -> Form<'a> {
    let page = &visit.page;
    let mut description = Field::of("description", page.s("template.description"), Input::Lines);
    draft.description.clone_into(&mut description.value);
    let rows = Field::of("rows", page.s("template.with-rows"), Input::Tick(draft.with_rows));
    let mut fields = vec![
        Field::line("title", page.s("farm.title"), &draft.title).required(),
        Field::line("name", page.s("template.name"), &draft.name).hint(page.s("template.name-hint")),
        description,
        rows.hint(page.s("template.with-rows-hint")),
    ];
    if visit.session.principal().farm_administrator {
        fields.push(Field::of("farm", page.s("template.for-farm"), Input::Tick(for_farm)));
    }
    Form {
        page,
        title: page.f1("template.save-title", &item.name),
        icon: icon("copy"),
        action: format!("/items/{}/save-template", item.id),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: address::browse(&item.path),
        fault: String::new(),
    }
}

/// Shows the form for saving a site or list as a template.
pub async fn ask_save(visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = find(&visit, &id).await?;
    require(&item, if item.kind == NodeKind::Site { Right::ManageSite } else { Right::ManageLibraries })?;
    let draft = TemplateDraft { title: item.name.clone(), ..TemplateDraft::default() };
    Ok(html(&save_form(&visit, &item, &draft, false)))
}

/// Saves a site or list as a template.
pub async fn save(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item = find(&visit, &id).await?;
    let draft = TemplateDraft {
        title: fields.trimmed("title"),
        name: fields.trimmed("name"),
        description: fields.trimmed("description").replace('\n', " "),
        with_rows: fields.yes("rows"),
    };
    let for_farm = fields.yes("farm");
    let named = TemplateDraft {
        name: if draft.name.is_empty() { name_of(&draft.title) } else { draft.name.clone() },
        ..draft.clone()
    };
    let shelf = if for_farm { Shelf::FARM } else { Shelf { site: Some(item.id) } };
    let saved = match visit.session.template_of(&Target::Id(item.id), named).await {
        Ok(template) => visit.session.save_template(shelf.target().as_ref(), template).await,
        Err(error) => Err(error),
    };
    match saved {
        Ok(saved) => {
            let title = saved.title.in_language(visit.page.language.tag()).to_owned();
            let next = if item.kind == NodeKind::Site || for_farm { shelf.base() } else { address::browse(&item.path) };
            Ok(done(&next, &Flash::new("toast.template-saved", title)))
        }
        Err(error) => refuse::show_form_again(save_form(&visit, &item, &draft, for_farm), error),
    }
}

/// Returns a name in addresses for a title: its letters and digits without accents, with hyphens between words.
fn name_of(title: &str) -> String {
    let mut name = String::new();
    for c in title.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            'ä' => name.push_str("ae"),
            'ö' => name.push_str("oe"),
            'ü' => name.push_str("ue"),
            'ß' => name.push_str("ss"),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    name.truncate(60);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "template".to_owned() } else { name.to_owned() }
}

/// Lists the templates that can be used in a site.
pub async fn list(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    let shelf = Shelf::of(&id)?;
    let way = visit.session.item_with_ancestors(&Target::Id(id.parse()?)).await?;
    let item = way.last().ok_or_else(|| Error::not_found("there is no such site"))?;
    let changes = way.first().is_some_and(|root| root.rights.has(Right::ManageSite));
    navigation::fill_side_bar(&mut visit, &way).await?;
    let mut crumbs = navigation::crumbs(&way);
    crumbs.push(Crumb { href: address::browse(&item.path), label: item.name.clone() });
    page_of(&visit, &shelf, crumbs, changes).await
}

/// Lists the templates of the farm.
pub async fn list_of_farm(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/templates")?;
    page_of(&visit, &Shelf::FARM, Vec::new(), true).await
}

async fn page_of(visit: &Visit, shelf: &Shelf, crumbs: Vec<Crumb>, changes: bool) -> PageResult {
    let (page, tag) = (&visit.page, visit.page.language.tag());
    let templates = visit.session.templates(shelf.target().as_ref()).await?;
    let people: Vec<Id> = templates.iter().filter_map(|template| template.changed_by).collect();
    let people = visit.session.principal_names(&people).await?;
    let own = if shelf.site.is_some() { TemplateOrigin::SiteCollection } else { TemplateOrigin::Farm };
    let rows = templates.into_iter().map(|template| Row {
        title: template.title.in_language(tag).to_owned(),
        description: template.description.in_language(tag).to_owned(),
        icon: icon(if template.kind == TemplateKind::Site { "site" } else { "list" }),
        origin: page.s(match template.origin {
            TemplateOrigin::BuiltIn => "template.built-in",
            TemplateOrigin::Farm => "template.of-farm",
            TemplateOrigin::SiteCollection => "template.of-site",
        }),
        at: template.changed_at,
        by: template.changed_by.map(|by| names::name_of(&people, by)).unwrap_or_default(),
        changeable: changes && template.origin == own,
        name: template.name,
    });
    Ok(html(&TemplatesPage { page, crumbs, base: shelf.base(), rows: rows.collect(), may_upload: changes }))
}

/// Sends a template that can be used in a site as a file.
pub async fn download(visit: Visit, Path((id, name)): Path<(String, String)>) -> PageResult {
    send(&visit, &Shelf::of(&id)?, &name).await
}

/// Sends a template of the farm as a file.
pub async fn download_of_farm(visit: Visit, Path(name): Path<String>) -> PageResult {
    send(&visit, &Shelf::FARM, &name).await
}

async fn send(visit: &Visit, shelf: &Shelf, name: &str) -> PageResult {
    let template = visit.session.template(shelf.target().as_ref(), name).await?;
    let fields = [
        (header::CONTENT_TYPE, "application/toml".to_owned()),
        // The name has no characters that need quoting.
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}.toml\"", template.name)),
    ];
    Ok((fields, template.write()).into_response())
}

fn upload_form<'a>(page: &'a Page, shelf: &Shelf, text: &str) -> Form<'a> {
    let mut field = Field::of("text", page.s("template.text"), Input::Lines).hint(page.s("template.text-hint"));
    text.clone_into(&mut field.value);
    Form {
        page,
        title: page.s("template.upload").into(),
        icon: icon("upload"),
        action: format!("{}/upload", shelf.base()),
        fields: vec![field.required()],
        submit: page.s("action.save").into(),
        danger: false,
        back: shelf.base(),
        fault: String::new(),
    }
}

/// Shows the form into which a template is pasted.
pub async fn ask_upload(visit: Visit, Path(id): Path<String>) -> PageResult {
    let shelf = Shelf::of(&id)?;
    require(&find(&visit, &id).await?, Right::ManageSite)?;
    Ok(html(&upload_form(&visit.page, &shelf, "")))
}

/// Shows the form into which a template of the farm is pasted.
pub async fn ask_upload_to_farm(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/templates")?;
    Ok(html(&upload_form(&visit.page, &Shelf::FARM, "")))
}

/// Saves a template for a site collection.
pub async fn upload(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    keep(&Shelf::of(&id)?, sent).await
}

/// Saves a template for the farm.
pub async fn upload_to_farm(sent: SubmittedForm) -> PageResult {
    keep(&Shelf::FARM, sent).await
}

async fn keep(shelf: &Shelf, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let text = fields.text("text");
    let saved = match Template::parse(&text) {
        Ok(template) => visit.session.save_template(shelf.target().as_ref(), template).await,
        Err(error) => Err(error),
    };
    match saved {
        Ok(saved) => {
            let title = saved.title.in_language(visit.page.language.tag()).to_owned();
            Ok(done(&shelf.base(), &Flash::new("toast.template-saved", title)))
        }
        Err(error) => refuse::show_form_again(upload_form(&visit.page, shelf, &text), error),
    }
}

fn rename_form<'a>(page: &'a Page, shelf: &Shelf, name: &str, title: &str, new: &str) -> Form<'a> {
    Form {
        page,
        title: page.f1("template.rename-title", name),
        icon: icon("pencil"),
        action: format!("{}/{name}/rename", shelf.base()),
        fields: vec![
            Field::line("title", page.s("farm.title"), title).required(),
            Field::line("name", page.s("template.name"), new).hint(page.s("template.name-hint")).required(),
        ],
        submit: page.s("action.rename").into(),
        danger: false,
        back: shelf.base(),
        fault: String::new(),
    }
}

/// Shows the form for another name of a template.
pub async fn ask_rename(visit: Visit, Path((id, name)): Path<(String, String)>) -> PageResult {
    require(&find(&visit, &id).await?, Right::ManageSite)?;
    ask_name(&visit, &Shelf::of(&id)?, &name).await
}

/// Shows the form for another name of a template of the farm.
pub async fn ask_rename_in_farm(mut visit: Visit, Path(name): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/templates")?;
    ask_name(&visit, &Shelf::FARM, &name).await
}

async fn ask_name(visit: &Visit, shelf: &Shelf, name: &str) -> PageResult {
    let template = visit.session.template(shelf.target().as_ref(), name).await?;
    let title = template.title.in_language(visit.page.language.tag());
    Ok(html(&rename_form(&visit.page, shelf, &template.name, title, &template.name)))
}

/// Renames a template of a site collection.
pub async fn rename(Path((id, name)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    give_name(&Shelf::of(&id)?, &name, sent).await
}

/// Renames a template of the farm.
pub async fn rename_in_farm(Path(name): Path<String>, sent: SubmittedForm) -> PageResult {
    give_name(&Shelf::FARM, &name, sent).await
}

async fn give_name(shelf: &Shelf, name: &str, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let (title, new) = (fields.trimmed("title"), fields.trimmed("name"));
    let present = visit.session.template(shelf.target().as_ref(), name).await?;
    // A title that was not changed keeps its languages.
    let same = present.title.in_language(visit.page.language.tag()) == title;
    let changed = (!same).then(|| TemplateText::Same(title.clone()));
    match visit.session.rename_template(shelf.target().as_ref(), name, &new, changed).await {
        Ok(_) => Ok(done(&shelf.base(), &Flash::new("toast.renamed", title))),
        Err(error) => refuse::show_form_again(rename_form(&visit.page, shelf, &present.name, &title, &new), error),
    }
}

/// Deletes a template of a site collection.
pub async fn delete(Path((id, name)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    remove(&Shelf::of(&id)?, &name, &sent).await
}

/// Deletes a template of the farm.
pub async fn delete_of_farm(Path(name): Path<String>, sent: SubmittedForm) -> PageResult {
    remove(&Shelf::FARM, &name, &sent).await
}

async fn remove(shelf: &Shelf, name: &str, sent: &SubmittedForm) -> PageResult {
    sent.visit.session.delete_template(shelf.target().as_ref(), name).await?;
    Ok(done(&shelf.base(), &Flash::new("toast.removed", name)))
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn titles_become_names() {
        assert_eq!(name_of("Unsere Größe – 2026!"), "unsere-groesse-2026");
        assert_eq!(name_of("日本"), "template");
        assert_eq!(name_of(&"x".repeat(200)).len(), 60);
    }
}
