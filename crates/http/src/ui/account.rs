//! One's own account: password, language and theme, tokens, sessions.

use std::time::Duration;

use askama::Template;
use axum::extract::Path;
use model::{Error, Id, Preferences, Result, Theme, Timestamp};
use repository::{Token, WebSession};

use super::caller::{Fields, Sent, Visit};
use super::fault::Shown;
use super::flash::{Flash, done};
use super::form::{Choice, Field, Form, Input};
use super::format::icon;
use super::page::{NavGroup, NavLink, Page};
use super::texts::Language;
use super::{html, refuse};

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'a> {
    page: &'a Page,
    languages: Vec<Choice>,
    themes: Vec<Choice>,
    tokens: Vec<Token>,
    sessions: Vec<WebSession>,
    current: Id,
    /// A token that was just made, which is shown this once.
    secret: Option<String>,
}

fn furnish(page: &mut Page) {
    let link = |href: &str, picture: &'static str, label: &'static str, current| NavLink {
        href: href.into(),
        icon: icon(picture),
        label: label.into(),
        current,
    };
    let links =
        vec![link("/", "home", page.s("nav.home"), false), link("/account", "user", page.s("nav.account"), true)];
    page.nav = vec![NavGroup { title: String::new(), links }];
}

async fn draw(visit: &mut Visit, secret: Option<String>) -> Shown {
    furnish(&mut visit.page);
    let me = visit.session.principal().id;
    let tokens = visit.session.tokens(me).await?;
    let sessions = visit.session.web_sessions(me).await?;
    let page = &visit.page;
    let chosen = &visit.preferences;
    let languages = std::iter::once(Choice::new("", page.s("account.browser"), chosen.language.is_empty()))
        .chain(Language::all().map(|l| Choice::new(l.tag(), l.own_name(), chosen.language == l.tag())))
        .collect();
    let themes = [
        (Theme::System, page.s("account.system")),
        (Theme::Light, page.s("account.light")),
        (Theme::Dark, page.s("account.dark")),
    ];
    let themes = themes.map(|(theme, label)| Choice::new(theme.as_str(), label, theme == chosen.theme)).into();
    Ok(html(&AccountPage { page, languages, themes, tokens, sessions, current: visit.session_id, secret }))
}

/// The page.
pub async fn show(mut visit: Visit) -> Shown {
    draw(&mut visit, None).await
}

/// Stores language and theme.
pub async fn preferences(sent: Sent) -> Shown {
    let theme = Theme::parse(&sent.fields.text("theme"))?;
    sent.visit.session.set_preferences(Preferences::new(&sent.fields.text("language"), theme)?).await?;
    Ok(done("/account", &Flash::new("toast.saved", sent.visit.page.s("account.look"))))
}

fn password_form(page: &Page) -> Form<'_> {
    Form {
        page,
        title: page.s("account.password").into(),
        icon: icon("key"),
        action: "/account/password".into(),
        fields: vec![
            Field::password("old", page.s("account.old-password"), "current-password"),
            Field::password("new", page.s("account.new-password"), "new-password")
                .hint(page.f1("account.password-hint", repository::MIN_PASSWORD_CHARS)),
            Field::password("again", page.s("account.again"), "new-password"),
        ],
        submit: page.s("action.save").into(),
        danger: false,
        back: "/account".into(),
        fault: String::new(),
    }
}

/// The form for another password.
pub async fn password(mut visit: Visit) -> Shown {
    furnish(&mut visit.page);
    Ok(html(&password_form(&visit.page)))
}

/// Changes the password.
pub async fn do_password(sent: Sent) -> Shown {
    let Sent { mut visit, fields } = sent;
    let (old, new) = (fields.text("old"), fields.text("new"));
    let changed = if new == fields.text("again") {
        visit.session.change_own_password(&old, &new, &visit.client).await
    } else {
        Err(Error::invalid("the new password was not typed the same twice").with_code("passwords_differ"))
    };
    match changed {
        Ok(()) => Ok(done("/account", &Flash::new("toast.password", ""))),
        Err(error) => {
            furnish(&mut visit.page);
            refuse::again(password_form(&visit.page), error)
        }
    }
}

fn token_form<'a>(page: &'a Page, name: &str) -> Form<'a> {
    let days = [("30", 30), ("90", 90), ("365", 365)]
        .map(|(value, days)| Choice::new(value, page.n("account.days", days as u64), value == "90"));
    let days = days.into_iter().chain([Choice::new("0", page.s("account.no-end"), false)]).collect();
    Form {
        page,
        title: page.s("account.new-token").into(),
        icon: icon("key"),
        action: "/account/tokens".into(),
        fields: vec![
            Field::line("name", page.s("column.name"), name).required().hint(page.s("account.token-hint")),
            Field::of("days", page.s("account.valid"), Input::Select(days)),
        ],
        submit: page.s("action.create").into(),
        danger: false,
        back: "/account".into(),
        fault: String::new(),
    }
}

/// The form for a token.
pub async fn token(mut visit: Visit) -> Shown {
    furnish(&mut visit.page);
    Ok(html(&token_form(&visit.page, "")))
}

fn end(fields: &Fields) -> Result<Option<Timestamp>> {
    let days: u64 = fields.text("days").parse().map_err(|_| Error::invalid("the validity is a number of days"))?;
    let ends = |days: u64| Timestamp::now().after(Duration::from_secs(days.min(36_500) * 86_400));
    Ok((days > 0).then(|| ends(days)))
}

/// Makes a token and shows its secret, this once.
pub async fn do_token(sent: Sent) -> Shown {
    let Sent { mut visit, fields } = sent;
    let (me, name) = (visit.session.principal().id, fields.trimmed("name"));
    let made = match end(&fields) {
        Ok(end) => visit.session.create_token(me, &name, end).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(made) => draw(&mut visit, Some(made.secret)).await,
        Err(error) => {
            furnish(&mut visit.page);
            refuse::again(token_form(&visit.page, &name), error)
        }
    }
}

/// Revokes a token.
pub async fn revoke_token(Path(id): Path<String>, sent: Sent) -> Shown {
    let session = &sent.visit.session;
    session.revoke_token(session.principal().id, id.parse()?).await?;
    Ok(done("/account", &Flash::new("toast.removed", "")))
}

/// Ends a session; one's own means signing out here.
pub async fn end_session(Path(id): Path<String>, sent: Sent) -> Shown {
    let session = &sent.visit.session;
    session.end_web_session(session.principal().id, id.parse()?).await?;
    Ok(done("/account", &Flash::new("toast.session-ended", "")))
}

/// Ends all sessions.
pub async fn end_all_sessions(sent: Sent) -> Shown {
    let session = &sent.visit.session;
    session.end_all_web_sessions(session.principal().id).await?;
    Ok(done("/sign-in", &Flash::new("toast.session-ended", "")))
}
