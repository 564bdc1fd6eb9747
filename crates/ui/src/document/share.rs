//! Sharing in one dialog: people and groups with their roles, and links for everybody who has them.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use model::{Code, Error, ErrorKind, Id, NodeKind, PrincipalKind, Result, Right, Role, Timestamp};
use repository::{Item, Target};

use super::links::{self, LinkRow, USUAL_DAYS};
use crate::frame::address;
use crate::frame::fault::PageResult;
use crate::frame::flash::{self, Flash};
use crate::frame::form::{Choice, Suggestion};
use crate::frame::item::{find, require};
use crate::frame::navigation::Crumb;
use crate::frame::page::{Page, html};
use crate::frame::refuse;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::site::permissions::{give, place_name};
use crate::wording::rights::{role_choices, role_name};
use crate::wording::{names, people};
use http_core::server::error;

/// A person or group with a role on the item.
struct Holder {
    principal: Id,
    name: String,
    group: bool,
    role: Id,
    role_name: String,
    /// The roles, with that of the holder chosen.
    roles: Vec<Choice>,
    /// End of the grant; `None` for one without end.
    until: Option<Timestamp>,
}

/// The people and groups with a role, for those who may change that.
struct People {
    holders: Vec<Holder>,
    /// The place from which the item inherits its permissions; `None` if it has its own.
    from: Option<Crumb>,
    roles: Vec<Choice>,
    suggestions: Vec<Suggestion>,
}

/// The links of a document, folder or library, for those who may edit it where the site allows links.
struct Links {
    rows: Vec<LinkRow>,
    /// True for a folder or library, to which files can be sent.
    takes_files: bool,
    /// Days that a new link lasts unless somebody chooses others.
    days: u32,
    limit: String,
}

/// Outcome of a form of the dialog.
#[derive(Default)]
struct Done {
    /// Message about what was done; empty for none.
    said: String,
    /// Reason of a refusal; empty for none.
    fault: String,
    /// Name as it was typed, if it has to be corrected.
    who: String,
    role: Option<Id>,
    /// Last day as it was typed, likewise.
    until: String,
}

#[derive(Template)]
#[template(path = "share.html")]
struct SharePage<'a> {
    page: &'a Page,
    item: &'a Item,
    title: String,
    back: String,
    done: Done,
    people: Option<People>,
    links: Option<Links>,
    /// True if the caller could make links if the site allowed them.
    links_off: bool,
}

/// Shows the dialog.
pub async fn show(visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = find(&visit, &id).await?;
    draw(&visit, &item, Done::default()).await
}

async fn draw(visit: &Visit, item: &Item, done: Done) -> PageResult {
    let parts = parts_of(visit, item, &done).await?;
    if parts.is_empty() {
        require(item, Right::ManagePermissions)?;
    }
    Ok(page_of(visit, item, done, parts))
}

/// Parts of the dialog that the caller may see.
struct Parts {
    people: Option<People>,
    links: Option<Links>,
}

impl Parts {
    const fn is_empty(&self) -> bool {
        self.people.is_none() && self.links.is_none()
    }
}

async fn parts_of(visit: &Visit, item: &Item, done: &Done) -> Result<Parts> {
    let people = match item.rights.has(Right::ManagePermissions) {
        true => Some(people_of(visit, item, done).await?),
        false => None,
    };
    Ok(Parts { people, links: links_of(visit, item).await? })
}

fn page_of(visit: &Visit, item: &Item, done: Done, Parts { people, links }: Parts) -> Response {
    let page = &visit.page;
    html(&SharePage {
        page,
        title: page.f1("share.title", item.shown_name()),
        back: address::browse(&item.path),
        done,
        people,
        links_off: links.is_none() && takes_links(item),
        links,
        item,
    })
}

async fn people_of(visit: &Visit, item: &Item, done: &Done) -> Result<People> {
    let (page, target) = (&visit.page, Target::Id(item.id));
    let table = visit.session.permissions(&target).await?;
    let ids: Vec<Id> = table.grants.iter().map(|grant| grant.principal).collect();
    let found = visit.session.principal_names(&ids).await?;
    let roles = visit.session.roles().await?;
    let holders = table.grants.iter().map(|grant| Holder {
        principal: grant.principal,
        name: names::name_of(&found, grant.principal),
        group: found.get(&grant.principal).is_some_and(|name| name.kind == PrincipalKind::Group),
        role: grant.role,
        role_name: role_name(page, grant.role, &grant.role_name),
        roles: role_choices(page, &roles, grant.role),
        until: grant.until,
    });
    let holders = holders.collect();
    let from = match table.own {
        true => None,
        false => {
            let way = visit.session.item_with_ancestors(&target).await?;
            let label = place_name(&way, &table.from_path).to_owned();
            Some(Crumb { href: format!("/items/{}/permissions", table.from), label })
        }
    };
    let chosen = done.role.unwrap_or(Role::READ);
    Ok(People {
        holders,
        from,
        roles: role_choices(page, &roles, chosen),
        suggestions: people::suggestions(&visit.session).await?,
    })
}

/// Returns whether the caller may make links to an item where its site allows them.
fn takes_links(item: &Item) -> bool {
    matches!(item.kind, NodeKind::Document | NodeKind::Folder | NodeKind::Library) && item.rights.has(Right::Edit)
}

async fn links_of(visit: &Visit, item: &Item) -> Result<Option<Links>> {
    if !takes_links(item) {
        return Ok(None);
    }
    let Some(rule) = visit.session.link_rule(&Target::Id(item.id)).await? else { return Ok(None) };
    let limit = links::limit_hint(&visit.page, rule.most_days);
    let rows = links::rows(visit, visit.session.links(&Target::Id(item.id)).await?).await?;
    let takes_files = item.kind != NodeKind::Document && item.rights.has(Right::Add);
    Ok(Some(Links { rows, takes_files, days: USUAL_DAYS.min(rule.most_days), limit }))
}

/// Gives a person or group a role.
pub async fn grant(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item = find(&visit, &id).await?;
    let (who, role) = (fields.trimmed("who"), fields.id("role")?);
    let until = fields.trimmed("until");
    let given = give(&visit, &item, &who, role, &until).await;
    let said = visit.page.f2("share.done", &who, item.shown_name());
    finish(visit, item.id, given, Done { said, who, role: Some(role), until, ..Done::default() }).await
}

/// Replaces a role by another one.
pub async fn change(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item: Id = id.parse()?;
    let (principal, from, to) = (fields.id("principal")?, fields.id("from")?, fields.id("role")?);
    let changed = visit.session.change_role(&Target::Id(item), principal, from, to).await;
    let said = visit.page.s("share.changed").to_owned();
    finish(visit, item, changed, Done { said, ..Done::default() }).await
}

/// Takes a role away.
pub async fn revoke(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item: Id = id.parse()?;
    let (principal, role) = (fields.id("principal")?, fields.id("role")?);
    let revoked = visit.session.revoke(&Target::Id(item), principal, role).await;
    let said = visit.page.s("share.revoked").to_owned();
    finish(visit, item, revoked, Done { said, ..Done::default() }).await
}

/// Shows the dialog again: with what was done, or with the reason why it was not.
async fn finish(visit: Visit, item: Id, result: Result<()>, done: Done) -> PageResult {
    let error: Error = match result {
        Ok(()) => {
            // The caller may have given away the right to see the dialog, or the item.
            let item = match visit.session.item(&Target::Id(item)).await {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Ok(flash::done("/", &Flash::new("toast.no-longer-shared", "")));
                }
                found => found?,
            };
            let done = Done { who: String::new(), until: String::new(), ..done };
            let parts = parts_of(&visit, &item, &done).await?;
            if parts.is_empty() {
                let flash = Flash::new("toast.no-longer-shared", "");
                return Ok(flash::done(&address::browse(&item.path), &flash));
            }
            return Ok(page_of(&visit, &item, done, parts));
        }
        Err(error) => error,
    };
    let status = error::status(&error);
    error::log(&error, status);
    let item = visit.session.item(&Target::Id(item)).await?;
    // The item exists, so it is the grant that does not.
    let fault = match error.code() {
        Code::NotFound => visit.page.s("share.gone").to_owned(),
        _ => refuse::message_for(&visit.page, &error),
    };
    if !item.rights.has(Right::ManagePermissions) {
        return Err(error.into());
    }
    let mut page = draw(&visit, &item, Done { said: String::new(), fault, ..done }).await?;
    *page.status_mut() = status;
    Ok(page)
}
