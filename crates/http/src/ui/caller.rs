//! The caller of a page, and what a form has sent.

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use model::{Error, Id, Preferences, Result};
use repository::{Client, Credential, Session};

use super::confirm::Kept;
use super::fault::{Fault, Known, Reader};
use super::page::{Page, Who, safe_next};
use super::sign;
use super::texts::Language;
use crate::identity;
use crate::identity::csrf;
use crate::protocol::segments;
use crate::server::client::Arrival;
use crate::server::intake;
use crate::server::state::AppState;

/// Somebody who is signed in looks at a page.
pub struct Visit {
    /// The page to be.
    pub page: Page,
    /// What the caller may do.
    pub session: Session,
    /// Key of the caller's form tokens.
    pub form_key: [u8; 32],
    /// The caller's session.
    pub session_id: Id,
    /// Language and theme of the account.
    pub preferences: Preferences,
    /// Scheme and host under which browsers know this server.
    pub origin: String,
    /// Where the request comes from.
    pub client: Client,
    /// Whether this server makes pages of office documents.
    pub converts: bool,
}

/// Why there is no [`Visit`]: nobody is signed in, or who it is cannot be told at the moment.
pub enum Away {
    /// To the page that signs in, and back.
    SignIn(String),
    /// An error.
    Fault(Fault),
    /// The page that keeps what was sent until its sender is signed in again.
    Ended(Response),
}

impl IntoResponse for Away {
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
    type Rejection = Away;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Away> {
        let mut page = Page::of_request(parts);
        let caller = identity::from_cookie(state, &parts.headers).await.map_err(|e| Away::Fault(e.into()))?;
        let Some(caller) = caller else {
            let back = if parts.method.is_safe() { page.here } else { "/".to_owned() };
            return Err(Away::SignIn(back));
        };
        let Credential::Session { id, csrf_key } = caller.credential else {
            return Err(Away::SignIn(page.here));
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
        if let Some(reader) = parts.extensions.get::<Reader>() {
            let (form_token, language, theme) = (page.form_token.clone(), page.language, page.theme);
            reader.note(Known { who: who.clone(), form_token, language, theme });
        }
        page.who = Some(who);
        Ok(Self {
            page,
            session: state.repository().as_caller(caller.principal),
            form_key: csrf_key,
            session_id: id,
            preferences: caller.preferences,
            origin: Arrival::of(&parts.extensions).map(|arrival| arrival.origin.clone()).unwrap_or_default(),
            client: identity::client_of(state, parts),
            converts: state.converter().is_some(),
        })
    }
}

/// Most fields of a form: a selection of as many items as there may be in one, and what goes with each.
const MOST_FIELDS: usize = 4 * model::MAX_PAGE;

/// The fields of a form.
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded` text.
    pub fn parse(body: &[u8]) -> Result<Self> {
        // No more than that are kept, whatever comes.
        let fields: Vec<_> = form_urlencoded::parse(body).take(MOST_FIELDS + 1).collect();
        if fields.len() > MOST_FIELDS {
            return Err(too_large());
        }
        Ok(Self(fields.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
    }

    /// The value of a field; empty when it is not there. Line ends are those of Unix.
    pub fn text(&self, name: &str) -> String {
        self.find(name).unwrap_or_default().replace("\r\n", "\n")
    }

    /// The value without space around it.
    pub fn trimmed(&self, name: &str) -> String {
        self.text(name).trim().to_owned()
    }

    /// Whether a box was ticked.
    pub fn yes(&self, name: &str) -> bool {
        self.find(name) == Some("yes")
    }

    /// An identifier.
    pub fn id(&self, name: &str) -> Result<Id> {
        self.find(name).unwrap_or_default().parse()
    }

    /// All values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All fields, in the order in which they were sent.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// All identifiers of a field, also when several stand in one value, at most 1,000.
    pub fn ids(&self, name: &str) -> Result<Vec<Id>> {
        let texts: Vec<&str> = self.all(name).flat_map(|value| value.split(',')).filter(|t| !t.is_empty()).collect();
        if texts.is_empty() {
            return Err(Error::invalid("nothing was selected; tick something first"));
        }
        if texts.len() > model::MAX_PAGE {
            return Err(Error::invalid("more than 1,000 items were selected; take fewer at a time"));
        }
        texts.into_iter().map(str::parse).collect()
    }

    /// Where to go afterwards.
    pub fn next(&self, fallback: &str) -> String {
        safe_next(self.find("next"), fallback)
    }

    /// All but the form token, as a form sends them.
    pub fn encoded(&self) -> String {
        let fields = self.pairs().filter(|(key, _)| *key != "form_token");
        form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
    }

    fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A form that somebody who is signed in has sent from one of our pages.
pub struct Sent {
    /// Who.
    pub visit: Visit,
    /// What.
    pub fields: Fields,
}

impl FromRequest<AppState> for Sent {
    type Rejection = Away;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Away> {
        let (mut parts, body) = request.into_parts();
        let visit = match Visit::from_request_parts(&mut parts, state).await {
            Ok(visit) => visit,
            Err(Away::SignIn(_)) => return Err(Away::Ended(sign::ended(state, parts, body).await)),
            Err(away) => return Err(away),
        };
        let (reader, to) = (parts.extensions.get::<Reader>().cloned(), parts.uri.path().to_owned());
        let fields = read(body, intake::FIELDS).await.map_err(|e| Away::Fault(e.into()))?;
        csrf::check(&visit.form_key, &fields.text("form_token")).map_err(|e| Away::Fault(e.into()))?;
        if let Some(reader) = reader {
            reader.keep(Kept { to, fields: fields.encoded() });
        }
        Ok(Self { visit, fields })
    }
}

/// Reads the fields of a form of at most so many bytes, whose token is not checked here.
pub async fn read(body: Body, most: usize) -> Result<Fields> {
    intake::apart(intake::whole(body, most).await?, Fields::parse).await
}

/// The answer to more text than any form needs.
pub fn too_large() -> Error {
    Error::invalid("what was sent is larger than this page takes: go back and shorten it").with_code("too_large")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_send_them() {
        let fields = Fields::parse(b"name=a+b%C3%BC&ids=1&ids=2,3&tick=yes&text=a%0D%0Ab&next=%2F%2Fevil").unwrap();
        assert_eq!(fields.text("name"), "a bü");
        assert_eq!(fields.ids("ids").unwrap(), [Id::new(1), Id::new(2), Id::new(3)]);
        assert!(fields.yes("tick") && !fields.yes("name"));
        assert_eq!((fields.text("text").as_str(), fields.text("none").as_str()), ("a\nb", ""));
        assert_eq!(fields.next("/home"), "/home");
        assert!(fields.ids("none").is_err() && fields.ids("name").is_err());
        let many =
            |count: usize| Fields::parse("a&".repeat(count).as_bytes()).map(|_| ()).map_err(|error| error.code());
        assert_eq!((many(MOST_FIELDS), many(MOST_FIELDS + 1)), (Ok(()), Err("too_large")));
    }
}
