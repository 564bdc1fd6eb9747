//! Links for people without an account: the forms for those who make them.

use askama::Template;
use axum::extract::Path;
use model::{Code, Error, Id, NodeKind, Result, Right, Timestamp};
use repository::{Item, LinkRule, MAX_DAYS_WITHOUT_FRESH_SIGN_IN, NewLink, ShareLink, Target};

use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, item, refuse};
use crate::wording::names;

/// Default lifetime of a new link in days.
pub const USUAL_DAYS: u32 = 7;

/// Limit on the files of a new link that takes files, unless another one was chosen.
const USUAL_FILES: u32 = 100;

/// A link as its item shows it.
pub struct LinkRow {
    /// Identifier.
    pub id: Id,
    /// Creator of the link.
    pub by: String,
    /// End of its life.
    pub ends: Timestamp,
    /// Returns whether the link has expired or has no downloads left.
    pub ended: bool,
    /// Set when a password is needed.
    pub password: bool,
    /// Number of downloads or of files that were sent, and their limit if there is one.
    pub uses: String,
    /// True if the link takes files.
    pub takes_uploads: bool,
}

/// Returns the links of a document that the caller may edit. `None` when there are none and the site does not allow
/// any.
pub async fn of(visit: &Visit, item: &Item) -> Result<Option<Vec<LinkRow>>> {
    let target = Target::Id(item.id);
    let links = visit.session.links(&target).await?;
    if links.is_empty() && visit.session.link_rule(&target).await?.is_none() {
        return Ok(None);
    }
    Ok(Some(rows(visit, links).await?))
}

/// Returns links as they are shown.
pub async fn rows(visit: &Visit, links: Vec<ShareLink>) -> Result<Vec<LinkRow>> {
    let makers: Vec<Id> = links.iter().map(|link| link.created_by).collect();
    let names = visit.session.principal_names(&makers).await?;
    let row = |link: ShareLink| {
        let number = |n: u64| visit.page.number(&n);
        LinkRow {
            id: link.id,
            by: names::name_of(&names, link.created_by),
            ends: link.expires_at,
            ended: link.has_ended(),
            password: link.has_password,
            takes_uploads: link.takes_uploads,
            uses: match link.most_downloads {
                Some(most) => format!("{} / {}", number(link.downloads), number(most)),
                None => number(link.downloads),
            },
        }
    };
    Ok(links.into_iter().map(row).collect())
}

/// Returns how long a link may last, for its field.
pub fn limit_hint(page: &Page, most: u32) -> String {
    match most > MAX_DAYS_WITHOUT_FRESH_SIGN_IN {
        true => page.f2("link.days-hint-proof", most, MAX_DAYS_WITHOUT_FRESH_SIGN_IN),
        false => page.f1("link.days-hint", most),
    }
}

fn new_form<'a>(page: &'a Page, item: &Item, most: u32, typed: Option<&Fields>) -> Form<'a> {
    let days = typed.map_or_else(|| USUAL_DAYS.min(most).to_string(), |fields| fields.text("days"));
    let text = |name: &str| typed.map(|fields| fields.text(name)).unwrap_or_default();
    let limit = limit_hint(page, most);
    let mut message = Field::of("message", page.s("link.message"), Input::Lines).hint(page.s("link.message-hint"));
    message.value = text("message");
    let is_document = item.kind == NodeKind::Document;
    let kinds = || {
        let takes = text("takes") == "yes";
        let gives = Choice::new("no", page.s("link.gives"), !takes).hint(page.s("link.gives-hint"));
        vec![gives, Choice::new("yes", page.s("link.takes"), takes).hint(page.s("link.takes-hint"))]
    };
    let kind = (!is_document).then(|| Field::of("takes", page.s("link.kind"), Input::Radio(kinds())));
    let about = if is_document { page.s("link.about") } else { page.s("link.about-folder") };
    let mut fields = vec![Field::paragraph(about)];
    fields.extend(kind);
    fields.extend([
        Field::line("days", page.s("link.days"), days).required().hint(limit),
        Field::of("password", page.s("link.password"), Input::Line("text")).hint(page.s("link.password-hint")),
        Field::line("uses", page.s("link.uses"), text("uses")).hint(page.s("link.uses-hint")),
        message,
    ]);
    Form {
        page,
        title: page.f1("link.new-of", &item.name),
        icon: icon("link"),
        action: format!("/items/{}/links", item.id),
        fields,
        submit: page.s("link.make").into(),
        danger: false,
        back: address::browse(&item.path),
        fault: String::new(),
    }
}

async fn most_days(visit: &Visit, item: &Item) -> Result<u32> {
    let rule = visit.session.link_rule(&Target::Id(item.id)).await?;
    rule.map(|rule| rule.most_days).ok_or_else(|| {
        Error::forbidden("this site does not allow links: a person who manages the site can allow them in its settings")
            .with_code(Code::LinksNotAllowed)
    })
}

/// Shows the form for a new link.
pub async fn ask(visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = item::find(&visit, &id).await?;
    visit.session.links(&Target::Id(item.id)).await?;
    let most = most_days(&visit, &item).await?;
    Ok(html(&new_form(&visit.page, &item, most, None)))
}

#[derive(Template)]
#[template(path = "link-made.html")]
struct Made<'a> {
    page: &'a Page,
    item: &'a Item,
    back: String,
    address: String,
    ends: Timestamp,
}

/// Creates a link and shows its URL, only once.
pub async fn make(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item = item::find(&visit, &id).await?;
    let made = match read(&fields) {
        Ok(new) => visit.session.share(&Target::Id(item.id), new).await,
        Err(error) => Err(error),
    };
    match made {
        Ok((link, secret)) => {
            let address = format!("{}/s/{}/{secret}", visit.origin, link.id);
            let back = address::browse(&item.path);
            Ok(html(&Made { page: &visit.page, item: &item, back, address, ends: link.expires_at }))
        }
        Err(error) => {
            let most = most_days(&visit, &item).await?;
            refuse::show_form_again(new_form(&visit.page, &item, most, Some(&fields)), error)
        }
    }
}

/// Reads the form for a new link.
pub fn read(fields: &Fields) -> Result<NewLink> {
    let number = |name: &str| {
        let bad = |_| Error::invalid("days and downloads must be whole numbers").with_code(Code::InvalidDays);
        fields.trimmed(name).parse::<u32>().map_err(bad)
    };
    let password = Some(fields.text("password")).filter(|password| !password.is_empty());
    let takes_uploads = fields.yes("takes");
    let most_downloads = match fields.trimmed("uses").is_empty() {
        true => takes_uploads.then_some(USUAL_FILES),
        false => Some(number("uses")?),
    };
    let message = fields.text("message").replace("\r\n", "\n");
    Ok(NewLink { days: number("days")?, password, most_downloads, takes_uploads, message })
}

/// Revokes a link.
pub async fn revoke(Path((id, link)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    let item = item::find(&sent.visit, &id).await?;
    sent.visit.session.revoke_link(&Target::Id(item.id), link.parse()?).await?;
    Ok(done(&address::browse(&item.path), &Flash::new("toast.removed", "")))
}

fn rule_form<'a>(page: &'a Page, site: &Item, rule: Option<LinkRule>) -> Form<'a> {
    let days = rule.map_or(USUAL_DAYS, |rule| rule.most_days).to_string();
    Form {
        page,
        title: page.f1("link.rule-of", &site.name),
        icon: icon("link"),
        action: format!("/items/{}/link-rule", site.id),
        fields: vec![
            Field::paragraph(page.s("link.rule-about")),
            Field::of("allowed", page.s("link.allowed"), Input::Tick(rule.is_some())),
            Field::line("days", page.s("link.most-days"), days),
        ],
        submit: page.s("action.save").into(),
        danger: false,
        back: format!("/items/{}/settings", site.id),
        fault: String::new(),
    }
}

/// Shows the form for the link rule of a site collection.
pub async fn ask_rule(visit: Visit, Path(id): Path<String>) -> PageResult {
    let site = item::find_for(&visit, &id, Right::ManageSite).await?;
    if site.id != site.collection_id {
        return Err(Error::not_found("the rule for links is set at the root site of the site collection").into());
    }
    let rule = visit.session.link_rule(&Target::Id(site.id)).await?;
    Ok(html(&rule_form(&visit.page, &site, rule)))
}

/// Sets the link rule of a site collection.
pub async fn set_rule(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let site = item::find(&visit, &id).await?;
    let days = fields.trimmed("days").parse().unwrap_or(0);
    let rule = fields.yes("allowed").then_some(LinkRule { most_days: days });
    match visit.session.set_link_rule(site.id, rule).await {
        Ok(()) => Ok(done(&format!("/items/{}/settings", site.id), &Flash::new("toast.saved", site.name))),
        Err(error) => refuse::show_form_again(rule_form(&visit.page, &site, rule), error),
    }
}
