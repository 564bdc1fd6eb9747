//! What every page needs: language, theme, who is signed in, the form token and the note about what was just done.

use std::convert::Infallible;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use model::{Accent, Code, Error, Theme};

use http_core::identity::cookies;
use http_core::server::error::Problem;
use http_core::server::state::AppState;

use super::flash::Flash;
use super::texts::Language;
use super::{assets, bidi, format};

/// Cookie that holds a language tag for people who are not signed in.
pub const LANGUAGE: &str = "strongroom_language";
/// Cookie that holds the theme.
pub const THEME: &str = "strongroom_theme";

/// A link of the side bar.
pub struct NavLink {
    /// Where it leads.
    pub href: String,
    /// Its icon.
    pub icon: format::Icon,
    /// What it says.
    pub label: String,
    /// Whether this is where we are.
    pub current: bool,
}

/// A titled part of the side bar.
pub struct NavGroup {
    /// Its title; may be empty.
    pub title: String,
    /// Its links.
    pub links: Vec<NavLink>,
}

/// Who is signed in, as the top bar shows it.
#[derive(Clone)]
pub struct Who {
    /// The login name.
    pub login: String,
    /// The name that people see.
    pub name: String,
    /// Whether the farm's administration is offered.
    pub administrator: bool,
}

/// The bars above and beside the content. What all pages share is templates of its own, since what a page extends is compiled once more
/// for it.
#[derive(Template)]
#[template(path = "head.html")]
pub struct Head<'a> {
    page: &'a Page,
}

/// What stands behind the content.
#[derive(Template)]
#[template(path = "foot.html")]
pub struct Foot<'a> {
    page: &'a Page,
}

/// The notes about what was just done.
#[derive(Template)]
#[template(path = "toasts.html")]
pub struct Toasts<'a> {
    page: &'a Page,
}

impl HtmlSafe for Head<'_> {}
impl HtmlSafe for Foot<'_> {}
impl HtmlSafe for Toasts<'_> {}

/// The common part of all pages; templates call its short methods for every text.
pub struct Page {
    /// Language of all texts.
    pub language: Language,
    /// Colours.
    pub theme: Theme,
    /// The colour of the site that it is about.
    pub accent: Accent,
    /// Who is signed in.
    pub who: Option<Who>,
    /// Token that each form carries.
    pub form_token: String,
    /// What was just done.
    pub flash: Option<Flash>,
    /// Path and query of this page.
    pub here: String,
    /// The side bar; empty for none.
    pub nav: Vec<NavGroup>,
    /// What the search box says.
    pub query: String,
    /// Whether the page has a search box of its own, so that its head has none.
    pub own_search: bool,
}

impl Page {
    /// The page of a request, before it is known who asks.
    pub fn of(headers: &HeaderMap, here: String) -> Self {
        let accepted =
            || headers.get(header::ACCEPT_LANGUAGE).and_then(|field| field.to_str().ok()).map(Language::accepted);
        let chosen = cookies::get(headers, LANGUAGE).and_then(|tag| Language::parse(&tag));
        Self {
            language: chosen.or_else(accepted).unwrap_or(Language::ENGLISH),
            theme: cookies::get(headers, THEME).and_then(|word| Theme::parse(&word).ok()).unwrap_or_default(),
            accent: Accent::default(),
            who: None,
            form_token: String::new(),
            flash: Flash::of(headers),
            here,
            nav: Vec::new(),
            query: String::new(),
            own_search: false,
        }
    }

    /// The page of a request that has been taken apart.
    pub fn of_request(parts: &Parts) -> Self {
        let here = parts.uri.path_and_query().map_or("/", |here| here.as_str()).to_owned();
        Self::of(&parts.headers, here)
    }

    /// The text with this key.
    pub fn s(&self, key: &str) -> &'static str {
        self.language.text(key)
    }

    /// What a kind of column or item is called.
    pub fn kind(&self, word: &str) -> &'static str {
        self.language.text(&format!("kind.{word}"))
    }

    /// The text with this key and one value.
    pub fn f1(&self, key: &str, value: impl ToString) -> String {
        self.language.fill(key, &[&value.to_string()])
    }

    /// The text with this key and two values.
    pub fn f2(&self, key: &str, first: impl ToString, second: impl ToString) -> String {
        self.language.fill(key, &[&first.to_string(), &second.to_string()])
    }

    /// What a colour of sites is called.
    pub fn colour(&self, accent: &Accent) -> &'static str {
        self.language.text(&format!("colour.{}", accent.as_str()))
    }

    /// What stands before and behind the value of the text with this key, for what is written a hundred times.
    pub fn around(&self, key: &str) -> (&'static str, &'static str) {
        let text = self.language.text(key);
        text.split_once("{0}").unwrap_or((text, ""))
    }

    /// The text for a number of things.
    pub fn n(&self, key: &str, n: impl ToString) -> String {
        self.language.count(key, n.to_string().parse().unwrap_or(u64::MAX))
    }

    /// A size.
    pub fn size(&self, bytes: &u64) -> String {
        format::size(self.language, *bytes)
    }

    /// A whole number.
    pub fn number(&self, n: &u64) -> String {
        self.language.number(*n)
    }

    /// A time, relative to now.
    pub fn when(&self, time: &model::Timestamp) -> format::When {
        format::when(self.language, *time)
    }

    /// A time to the minute, in people's words and in UTC.
    pub fn minute(&self, time: &model::Timestamp) -> String {
        format::minute(self.language, *time)
    }

    /// A path that is broken into lines between its names.
    pub fn path<'p>(&self, path: &'p str) -> format::Steps<'p> {
        format::Steps(path)
    }

    /// The bars above and beside the content.
    pub fn head(&self) -> Head<'_> {
        Head { page: self }
    }

    /// What stands behind the content.
    pub fn foot(&self) -> Foot<'_> {
        Foot { page: self }
    }

    /// The notes about what was just done.
    pub fn toasts(&self) -> Toasts<'_> {
        Toasts { page: self }
    }

    /// An icon.
    pub fn icon(&self, name: &'static str) -> format::Icon {
        format::icon(name)
    }

    /// The icon of a document.
    pub fn file_icon(&self, extension: &str) -> format::Icon {
        format::file_icon(extension)
    }

    /// Letters that stand for a person.
    pub fn initials(&self, name: &str) -> String {
        format::initials(name)
    }

    /// The address of an asset.
    pub fn asset(&self, name: &str) -> String {
        assets::url(name)
    }

    /// The address of this page as a value in a query string.
    pub fn here_coded(&self) -> String {
        http_core::protocol::segments::encode_query(&self.here)
    }
}

impl FromRequestParts<AppState> for Page {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Infallible> {
        Ok(Self::of_request(parts))
    }
}

/// Where to go after something was done: only a path on this server, else `fallback`.
///
/// Browsers read `//host` and `/\host` as another host, and drop tabs and line ends before they look.
pub fn safe_next(next: Option<&str>, fallback: &str) -> String {
    let is_local = |next: &&str| {
        next.starts_with('/')
            && !next.starts_with("//")
            && next.len() <= 2_000
            && next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
    };
    next.filter(is_local).unwrap_or(fallback).to_owned()
}

/// Media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";

/// Room that a page is given to begin with: a listing of one screen fits.
const USUAL_BYTES: usize = 64 << 10;

/// A rendered template as an answer.
pub fn html(template: &impl Template) -> Response {
    let mut text = String::with_capacity(USUAL_BYTES);
    match template.render_into(&mut text) {
        Ok(()) => ([(header::CONTENT_TYPE, HeaderValue::from_static(HTML))], bidi::visible(text)).into_response(),
        Err(error) => {
            Problem::from(Error::corrupt("the page cannot be drawn").with_code(Code::Internal).with_source(error))
                .into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_on_this_server() {
        assert_eq!(safe_next(Some("/browse/a%20b?x=1"), "/"), "/browse/a%20b?x=1");
        for bad in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil",
            "",
            "evil",
            "/ü",
            "\\\\evil",
        ] {
            assert_eq!(safe_next(Some(bad), "/home"), "/home", "{bad:?}");
        }
        assert_eq!(safe_next(None, "/home"), "/home");
    }
}
