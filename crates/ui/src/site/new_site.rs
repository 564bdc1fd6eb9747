//! The form for a new site: its name and its template and, if the template asks for people, a second form for them.

use axum::extract::Path;
use model::{Name, Result, Right};
use repository::{Item, NewSite, Target, Template, TemplateKind};

use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::item::{find, find_for};
use crate::frame::page::html;
use crate::frame::templates;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, refuse};
use crate::wording::{people, rights};

fn form<'a>(visit: &'a Visit, place: &Item, title: String, fields: Vec<Field>) -> Form<'a> {
    Form {
        page: &visit.page,
        title,
        icon: icon("site"),
        action: format!("/items/{}/new-site", place.id),
        fields,
        submit: visit.page.s("action.create").into(),
        danger: false,
        back: address::browse(&place.path),
        fault: String::new(),
    }
}

async fn first_form<'a>(visit: &'a Visit, place: &Item, name: &str, template: &str) -> Result<Form<'a>> {
    let page = &visit.page;
    let none = ("template.empty-site", "template.empty-site-hint");
    let choice = templates::field(page, &visit.session, place.id, TemplateKind::Site, template, none).await?;
    let fields = vec![Field::line("name", page.s("column.name"), name).required(), choice];
    Ok(form(visit, place, page.s("action.new-site").into(), fields))
}

/// Returns the form for those whom a template asks for. They are typed as on the page of permissions, several separated
/// by commas.
async fn second_form<'a>(
    visit: &'a Visit,
    place: &Item,
    name: &str,
    template: &Template,
    typed: &[String],
) -> Result<Form<'a>> {
    let (page, tag) = (&visit.page, visit.page.language.tag());
    let suggestions = people::typed_names(&visit.session).await?;
    let mut fields = vec![
        Field::paragraph(page.s("template.ask")),
        Field::hidden("name", name),
        Field::hidden("template", &template.name),
        Field::hidden("asked", "yes"),
    ];
    let known = visit.session.roles().await?;
    let role = |name: &str| {
        let role = known.iter().find(|role| role.name == name);
        role.map_or_else(|| name.to_owned(), |role| rights::role_name(page, role.id, &role.name))
    };
    for (index, asked) in template.asked().iter().enumerate() {
        let roles: Vec<String> = template.roles_of(asked.key()).map(role).collect();
        let mut field = Field::of("", asked.in_language(tag), Input::Suggest(suggestions.clone()));
        field.name = field_name(index).into();
        typed.get(index).map_or("", String::as_str).clone_into(&mut field.value);
        fields.push(field.hint(page.f1("template.ask-role", roles.join(", "))));
    }
    Ok(form(visit, place, page.f1("template.ask-title", name), fields))
}

fn field_name(index: usize) -> String {
    format!("who-{index}")
}

/// Shows the form.
pub async fn ask(visit: Visit, Path(id): Path<String>) -> PageResult {
    let place = find_for(&visit, &id, Right::ManageSite).await?;
    Ok(html(&first_form(&visit, &place, "", "").await?))
}

/// Creates the site and opens it, or asks for people first.
pub async fn make(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let place = find(&visit, &id).await?;
    let (name, chosen) = (fields.trimmed("name"), fields.text("template"));
    let checked = match Name::new(name.as_str()) {
        Ok(name) => name,
        Err(error) => return refuse::show_form_again(first_form(&visit, &place, &name, &chosen).await?, error),
    };
    let target = Target::Id(place.id);
    if chosen.is_empty() {
        return match visit.session.create_site(&target, &checked).await {
            Ok(site) => Ok(done(&address::browse(&site.path), &Flash::new("toast.created", site.name))),
            Err(error) => refuse::show_form_again(first_form(&visit, &place, &name, &chosen).await?, error),
        };
    }
    let template = match visit.session.template(Some(&target), &chosen).await {
        Ok(template) => template,
        Err(error) => return refuse::show_form_again(first_form(&visit, &place, &name, &chosen).await?, error),
    };
    let asks = !template.asked().is_empty();
    if asks && !fields.yes("asked") && place.rights.has(Right::ManagePermissions) {
        return Ok(html(&second_form(&visit, &place, &name, &template, &[]).await?));
    }
    match create(&visit, &target, &checked, &template, &fields).await {
        Ok(site) => Ok(done(&address::browse(&site.path), &Flash::new("toast.created", site.name))),
        Err(error) if fields.yes("asked") => {
            let typed: Vec<String> = (0..template.asked().len()).map(|i| fields.text(&field_name(i))).collect();
            refuse::show_form_again(second_form(&visit, &place, &name, &template, &typed).await?, error)
        }
        Err(error) => refuse::show_form_again(first_form(&visit, &place, &name, &chosen).await?, error),
    }
}

async fn create(visit: &Visit, site: &Target, name: &Name, template: &Template, fields: &Fields) -> Result<Item> {
    let mut people = Vec::new();
    for (index, asked) in template.asked().iter().enumerate() {
        let mut ids = Vec::new();
        let typed = fields.text(&field_name(index));
        for one in typed.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            ids.push(visit.session.find_principal(one).await?);
        }
        people.push((asked.key().to_owned(), ids));
    }
    let new = NewSite { people, language: visit.page.language.tag().to_owned() };
    visit.session.create_site_from(site, name, template, new).await
}
