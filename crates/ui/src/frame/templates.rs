//! The choice of a template in forms for new sites and lists.

use model::{ErrorKind, Id, Result};
use repository::{Session, Target, TemplateKind};

use super::form::{Choice, Field, Input};
use super::page::Page;

/// Returns the field in which one chooses a template for a new item in a site, or none. `label` and `hint` are those of
/// the choice of none.
///
/// # Errors
/// Those of the session, except that the caller may use no templates here.
pub async fn field(
    page: &Page,
    session: &Session,
    site: Id,
    kind: TemplateKind,
    chosen: &str,
    none: (&'static str, &'static str),
) -> Result<Field> {
    let templates = match session.templates(Some(&Target::Id(site))).await {
        Ok(templates) => templates,
        Err(error) if error.kind() == ErrorKind::Forbidden => Vec::new(),
        Err(error) => return Err(error),
    };
    let tag = page.language.tag();
    let mut choices = vec![Choice::new("", page.s(none.0), chosen.is_empty()).hint(page.s(none.1))];
    choices.extend(templates.iter().filter(|template| template.kind == kind).map(|template| {
        Choice::new(template.name.as_str(), template.title.in_language(tag), template.name == chosen)
            .hint(template.description.in_language(tag))
    }));
    Ok(Field::of("template", page.s("template.choose"), Input::Radio(choices)))
}
