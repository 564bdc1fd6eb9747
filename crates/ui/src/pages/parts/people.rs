//! The part `people`: users and groups by their logins or names.

use askama::Template;
use model::{Code, Id};
use repository::PrincipalName;
use serde::Deserialize;

use super::part::{PartFault, PartResult, Surroundings, read, render};
use crate::account::profile;
use crate::frame::page::Page;

/// Limit on the people of one part.
const MAX_PEOPLE: usize = 12;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct People {
    /// Logins or names.
    people: Vec<String>,
    title: Option<String>,
}

struct Person {
    /// Address of the page about the person; empty for a group.
    href: String,
    name: String,
    login: String,
}

#[derive(Template)]
#[template(path = "part-people.html")]
struct PeoplePart<'a> {
    page: &'a Page,
    title: String,
    people: Vec<Person>,
    /// Names that belong to nobody, or to several people.
    unknown: String,
}

/// Draws people.
pub async fn draw(around: &Surroundings<'_>, text: &str) -> PartResult {
    let part: People = read(around, text)?;
    let (page, session) = (&around.visit.page, &around.visit.session);
    if part.people.len() > MAX_PEOPLE {
        return Err(PartFault::Wrong(page.f1("part.too-many-people", MAX_PEOPLE)));
    }
    let (mut ids, mut unknown) = (Vec::with_capacity(part.people.len()), Vec::new());
    for name in &part.people {
        match session.find_principal(name).await {
            Ok(id) => ids.push(id),
            // Somebody who has left does not take the page down.
            Err(error) if matches!(error.code(), Code::UnknownPerson | Code::AmbiguousPerson) => {
                unknown.push(name.as_str());
            }
            Err(error) => return Err(error.into()),
        }
    }
    let names = session.principal_names(&ids).await?;
    let person = |id: &Id| {
        let PrincipalName { name, login, .. } = names.get(id)?.clone();
        let href = login.as_ref().map(|_| profile::address_of(*id)).unwrap_or_default();
        Some(Person { href, name, login: login.unwrap_or_default() })
    };
    render(&PeoplePart {
        page,
        title: part.title.unwrap_or_else(|| page.s("part.people").to_owned()),
        people: ids.iter().filter_map(person).collect(),
        unknown: unknown.join(", "),
    })
}
