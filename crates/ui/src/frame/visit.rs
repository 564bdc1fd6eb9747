//! The signed-in caller of a page, and submitted forms.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use model::{Id, Preferences, Result};
use repository::{Client, Credential, Session};

use super::fault::Fault;
use super::fields::{self, Fields};
use super::page::{Page, Who};
use super::reader::{KeptForm, PageUser, UserData};
use super::sign_in_form;
use super::texts::Language;
use http_core::identity;
use http_core::identity::csrf;
use http_core::office_server::{Editors, OfficeServer};
use http_core::protocol::segments;
use http_core::server::origin::RequestOrigin;
use http_core::server::request_body;
use http_core::server::state::AppState;

/// A page request by a signed-in user.
pub struct Visit {
    /// Frame data of the page to render.
    pub page: Page,
    /// Session with the caller's rights.
    pub session: Session,
    /// Key of the caller's form tokens.
    pub form_key: [u8; 32],
    /// Identifier of the caller's web session.
    pub session_id: Id,
    /// Language, theme and time zone of the account.
    pub preferences: Preferences,
    /// Scheme and host under which browsers know this server.
    pub origin: String,
    /// Address and user agent of the client.
    pub client: Client,
    /// True if this server converts office documents to pages.
    pub converts: bool,
    /// The documents that an office server edits in the browser, if there is one.
    pub editors: Option<Arc<Editors>>,
}

/// Reason why there is no [`Visit`]: the caller is not signed in, or could not be authenticated at the moment.
pub enum NoVisit {
    /// Redirect to the sign-in page, with the URL to return to.
    SignIn(String),
    /// An error page.
    Fault(Fault),
    /// The sign-in form that keeps the submitted input.
    Ended(Response),
}

impl IntoResponse for NoVisit {
    fn into_response(self) -> Response {
        match self {
            Self::SignIn(here) => {
                Redirect::to(&format!("/sign-in?next={}", segments::encode_query(&here))).into_response()
            }
            Self::Fault(fault) => fault.into_response(),
            Self::Ended(response) => response,
        }
    }
}

impl FromRequestParts<AppState> for Visit {
    type Rejection = NoVisit;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, NoVisit> {
        let mut page = Page::of_request(parts);
        let caller = identity::from_cookie(state, &parts.headers).await.map_err(|e| NoVisit::Fault(e.into()))?;
        let Some(caller) = caller else {
            let back = if parts.method.is_safe() { page.here } else { "/".to_owned() };
            return Err(NoVisit::SignIn(back));
        };
        let Credential::Session { id, csrf_key } = caller.credential else {
            return Err(NoVisit::SignIn(page.here));
        };
        let who = Who {
            login: caller.principal.login.clone(),
            name: caller.principal.display_name.clone(),
            administrator: caller.principal.farm_administrator,
        };
        page.form_token = csrf::token(&csrf_key);
        page.theme = caller.preferences.theme;
        if let Some(language) = Language::parse(&caller.preferences.language) {
            page.language = language;
        }
        if let Some(zone) = caller.preferences.zone() {
            page.zone = zone;
        }
        if let Some(reader) = parts.extensions.get::<PageUser>() {
            let (form_token, language, theme) = (page.form_token.clone(), page.language, page.theme);
            reader.note(UserData { who: who.clone(), form_token, language, theme, zone: page.zone.clone() });
        }
        page.who = Some(who);
        let session = state.repository().as_caller(caller.principal).in_zone(page.zone.clone());
        Ok(Self {
            page,
            session,
            form_key: csrf_key,
            session_id: id,
            preferences: caller.preferences,
            origin: RequestOrigin::of(&parts.extensions)
                .map(|request_origin| request_origin.origin.clone())
                .unwrap_or_default(),
            client: identity::client_of(state, parts),
            converts: state.converter().is_some(),
            editors: state.office_server().and_then(OfficeServer::editors),
        })
    }
}

/// A form that a signed-in user submitted from one of our pages.
pub struct SubmittedForm {
    /// Acting user.
    pub visit: Visit,
    /// Submitted fields.
    pub fields: Fields,
}

impl FromRequest<AppState> for SubmittedForm {
    type Rejection = NoVisit;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, NoVisit> {
        let (mut parts, body) = request.into_parts();
        let visit = match Visit::from_request_parts(&mut parts, state).await {
            Ok(visit) => visit,
            Err(NoVisit::SignIn(_)) => return Err(NoVisit::Ended(sign_in_form::ended(state, parts, body).await)),
            Err(away) => return Err(away),
        };
        let (reader, to) = (parts.extensions.get::<PageUser>().cloned(), parts.uri.path().to_owned());
        let fields = fields::read(body, request_body::FIELDS).await.map_err(|e| NoVisit::Fault(e.into()))?;
        csrf::check(&visit.form_key, &fields.text("form_token")).map_err(|e| NoVisit::Fault(e.into()))?;
        if let Some(reader) = reader {
            reader.keep(KeptForm { to, fields: fields.encoded() });
        }
        Ok(Self { visit, fields })
    }
}
