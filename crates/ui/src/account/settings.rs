//! The user's own account: password, language and theme, tokens, sessions.

use std::time::Duration;

use askama::Template;
use axum::extract::Path;
use model::{Code, Error, ErrorKind, Id, Preferences, Result, Theme, Timestamp, TokenScope, Zone};
use repository::{NewTokenRequest, Session, Target, Token, WebSession};

use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::navigation::furnish_account;
use crate::frame::page::{Page, html};
use crate::frame::refuse;
use crate::frame::texts::Language;
use crate::frame::visit::{SubmittedForm, Visit};

use super::{agent, profile};

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage<'a> {
    page: &'a Page,
    languages: Vec<Choice>,
    themes: Vec<Choice>,
    tokens: Vec<TokenRow>,
    sessions: Vec<SessionRow>,
    current: Id,
    me: Id,
    /// Address of the user's picture; empty for none.
    picture: String,
    shown: Shown,
    /// Time zone of the account; empty for that of the browser.
    time_zone: String,
}

/// Results of a form, which the page shows once.
#[derive(Default)]
struct Shown {
    /// Secret of a newly created token.
    secret: Option<String>,
    /// Error about the preferences; empty for none.
    fault: String,
}

/// A token with readable scopes and places.
struct TokenRow {
    token: Token,
    scopes: Vec<String>,
    places: String,
    networks: String,
}

/// A session with a readable browser name.
struct SessionRow {
    session: WebSession,
    browser: String,
}

impl TokenRow {
    fn of(page: &Page, token: Token) -> Self {
        let words: Option<Vec<String>> =
            token.scopes.map(|scopes| scopes.iter().map(|scope| page.s(scope_key(scope)).to_owned()).collect());
        let scopes = words.unwrap_or_else(|| vec![page.s("account.old-token").to_owned()]);
        let places = match token.places.len() {
            0 => String::new(),
            count => page.n("account.places-count", count as u64),
        };
        let networks = token.networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let networks = if networks.is_empty() { networks } else { page.f1("account.from-networks", networks) };
        Self { token, scopes, places, networks }
    }
}

impl SessionRow {
    fn of(page: &Page, session: WebSession) -> Self {
        let browser = match agent::parts(&session.agent) {
            (Some(browser), Some(system)) => page.f2("account.browser-on", browser, system),
            (Some(one), None) | (None, Some(one)) => one.to_owned(),
            (None, None) if session.agent.is_empty() => page.s("account.unknown-browser").to_owned(),
            (None, None) => session.agent.clone(),
        };
        Self { session, browser }
    }
}

const fn scope_key(scope: TokenScope) -> &'static str {
    match scope {
        TokenScope::Read => "account.scope-read",
        TokenScope::Write => "account.scope-write",
        TokenScope::Manage => "account.scope-manage",
        TokenScope::Farm => "account.scope-farm",
    }
}

async fn draw(visit: &mut Visit, shown: Shown) -> PageResult {
    furnish_account(&mut visit.page);
    let me = visit.session.principal().id;
    let tokens = visit.session.tokens(me).await?;
    let sessions = visit.session.web_sessions(me).await?;
    let (_, own) = visit.session.profile(me).await?;
    let picture = profile::picture_of(me, &own);
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
    let tokens = tokens.into_iter().map(|token| TokenRow::of(page, token)).collect();
    let sessions = sessions.into_iter().map(|session| SessionRow::of(page, session)).collect();
    Ok(html(&AccountPage {
        page,
        languages,
        themes,
        tokens,
        sessions,
        current: visit.session_id,
        me,
        picture,
        shown,
        time_zone: visit.preferences.time_zone.clone(),
    }))
}

/// The page.
pub async fn show(mut visit: Visit) -> PageResult {
    draw(&mut visit, Shown::default()).await
}

/// Stores language, theme and time zone.
pub async fn preferences(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let theme = Theme::parse(&fields.text("theme"))?;
    let time_zone = fields.trimmed("time_zone");
    // Language and theme are chosen from lists; only the time zone can be mistyped.
    if !time_zone.is_empty() && Zone::parse(&time_zone).is_err() {
        let fault = visit.page.f1("account.no-zone", &time_zone);
        visit.preferences = Preferences { language: fields.text("language"), theme, time_zone };
        return draw(&mut visit, Shown { fault, ..Shown::default() }).await;
    }
    visit.session.set_preferences(Preferences::new(&fields.text("language"), theme, &time_zone)?).await?;
    Ok(done("/account", &Flash::new("toast.settings-saved", "")))
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
            Field::paragraph(page.s("account.password-ends")),
        ],
        submit: page.s("action.save").into(),
        danger: false,
        back: "/account".into(),
        fault: String::new(),
    }
}

/// Shows the form for a new password.
pub async fn password(mut visit: Visit) -> PageResult {
    furnish_account(&mut visit.page);
    Ok(html(&password_form(&visit.page)))
}

/// Changes the password.
pub async fn do_password(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let (old, new) = (fields.text("old"), fields.text("new"));
    let changed = if new == fields.text("again") {
        visit.session.change_own_password(&old, &new, &visit.client).await
    } else {
        Err(Error::invalid("the two new passwords differ").with_code(Code::PasswordsDiffer))
    };
    match changed {
        Ok(()) => Ok(done("/account", &Flash::new("toast.password", ""))),
        Err(error) => {
            furnish_account(&mut visit.page);
            refuse::show_form_again(password_form(&visit.page), error)
        }
    }
}

/// Input of the token form.
#[derive(Default)]
struct Typed {
    name: String,
    days: String,
    scopes: Vec<String>,
    places: String,
    networks: String,
}

impl Typed {
    fn read(fields: &Fields) -> Self {
        Self {
            name: fields.trimmed("name"),
            days: fields.text("days"),
            scopes: fields.all("scope").map(str::to_owned).collect(),
            places: fields.text("places"),
            networks: fields.text("networks"),
        }
    }

    async fn wish(&self, session: &Session) -> Result<NewTokenRequest> {
        let days: u64 = self
            .days
            .parse()
            .map_err(|_| Error::invalid("the validity must be a number of days").with_code(Code::InvalidDays))?;
        let expires_at = Some(Timestamp::now().after(Duration::from_secs(days.min(36_500) * 86_400)));
        let scopes = self.scopes.iter().map(|word| TokenScope::parse(word)).collect::<Result<_>>()?;
        let mut places = Vec::new();
        let paths = self.places.lines().map(str::trim).filter(|path| !path.is_empty());
        // One more than the limit is enough for the limit to be reported.
        for path in paths.take(21) {
            places.push(session.item(&Target::path(path)?).await?.id);
        }
        let networks = self.networks.split_whitespace().map(str::parse).collect::<Result<_>>()?;
        Ok(NewTokenRequest { name: self.name.clone(), expires_at, scopes, places, networks })
    }
}

async fn token_form<'a>(page: &'a Page, session: &Session, typed: &Typed) -> Result<Form<'a>> {
    let longest = session.longest_token_days().await?;
    let days = [30, 90, 365].into_iter().filter(|days| *days < longest).chain([longest]);
    let chosen = if typed.days.is_empty() { longest.min(90).to_string() } else { typed.days.clone() };
    let days = days.map(|days| Choice::new(days.to_string(), page.n("account.days", days), days.to_string() == chosen));
    let administers = session.principal().farm_administrator;
    let offered = TokenScope::ALL.into_iter().filter(|scope| administers || *scope != TokenScope::Farm);
    let scopes = offered.map(|scope| {
        let word = scope.as_str();
        Choice::new(word, page.s(scope_key(scope)), typed.scopes.iter().any(|chosen| chosen == word))
    });
    let mut places = Field::of("places", page.s("account.places"), Input::Lines).hint(page.s("account.places-hint"));
    places.value.clone_from(&typed.places);
    let hint = page.s("account.networks-hint");
    let mut networks = Field::of("networks", page.s("account.networks"), Input::Lines).hint(hint);
    networks.value.clone_from(&typed.networks);
    Ok(Form {
        page,
        title: page.s("account.new-token").into(),
        icon: icon("key"),
        action: "/account/tokens".into(),
        fields: vec![
            Field::line("name", page.s("column.name"), &*typed.name).required().hint(page.s("account.token-hint")),
            Field::of("scope", page.s("account.scopes"), Input::Ticks(scopes.collect())),
            Field::of("days", page.s("account.valid"), Input::Select(days.collect())),
            places,
            networks,
        ],
        submit: page.s("action.create").into(),
        danger: false,
        back: "/account".into(),
        fault: String::new(),
    })
}

/// Shows the form for a new token.
pub async fn token(mut visit: Visit) -> PageResult {
    visit.session.require_fresh("make a token")?;
    furnish_account(&mut visit.page);
    let typed = Typed { scopes: vec![TokenScope::Read.as_str().to_owned()], ..Typed::default() };
    Ok(html(&token_form(&visit.page, &visit.session, &typed).await?))
}

/// Creates a token and shows its secret, only once.
pub async fn do_token(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let (me, typed) = (visit.session.principal().id, Typed::read(&fields));
    let made = match typed.wish(&visit.session).await {
        Ok(wish) => visit.session.create_token(me, wish).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(made) => draw(&mut visit, Shown { secret: Some(made.secret), ..Shown::default() }).await,
        Err(error) => {
            furnish_account(&mut visit.page);
            // A missing place is an input error of the form, so the user can correct it there.
            let error = match error.kind() {
                ErrorKind::NotFound => Error::invalid(error.message().to_owned()).with_code(Code::NoSuchTokenPlace),
                _ => error,
            };
            refuse::show_form_again(token_form(&visit.page, &visit.session, &typed).await?, error)
        }
    }
}

/// Revokes a token.
pub async fn revoke_token(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let session = &sent.visit.session;
    session.revoke_token(session.principal().id, id.parse()?).await?;
    Ok(done("/account", &Flash::new("toast.removed", "")))
}

/// Ends a session. Ending the current session signs the browser out.
pub async fn end_session(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let session = &sent.visit.session;
    session.end_web_session(session.principal().id, id.parse()?).await?;
    Ok(done("/account", &Flash::new("toast.session-ended", "")))
}

/// Ends all sessions.
pub async fn end_all_sessions(sent: SubmittedForm) -> PageResult {
    let session = &sent.visit.session;
    session.end_all_web_sessions(session.principal().id).await?;
    Ok(done("/sign-in", &Flash::new("toast.session-ended", "")))
}
