//! Data that every page needs: language, theme, signed-in user, form token, and the message about the last action.

use std::convert::Infallible;
use std::time::Duration;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use model::{Accent, Code, Error, Theme, Timestamp, Zone};

use http_core::identity::cookies;
use http_core::server::error::Problem;
use http_core::server::state::AppState;

use super::flash::Flash;
use super::texts::Language;
use super::{assets, bidi, format};

/// Cookie with the language tag for visitors who are not signed in.
pub const LANGUAGE: &str = "strongroom_language";
/// Cookie with the time zone of the browser, which its script sets.
pub const ZONE: &str = "strongroom_zone";
/// Cookie that holds the theme.
pub const THEME: &str = "strongroom_theme";

/// A link of the side bar.
pub struct NavLink {
    /// Target URL.
    pub href: String,
    /// Its icon.
    pub icon: format::Icon,
    /// Label of the link.
    pub label: String,
    /// True if this is the current page.
    pub current: bool,
    /// The site to which it leads, if its contents can be shown below it.
    pub inside: Option<model::Id>,
}

/// The bar above the pages of a site: its logo, its name and its links.
pub struct SiteBar {
    /// Name of the site.
    pub title: String,
    /// URL of the site.
    pub href: String,
    /// URL of its logo; empty for none.
    pub logo: String,
    /// Its links.
    pub links: Vec<SiteBarLink>,
}

/// A link of the bar of a site.
pub struct SiteBarLink {
    /// Target URL.
    pub href: String,
    /// Label of the link.
    pub label: String,
    /// True if the page is within its target.
    pub current: bool,
}

/// A titled group of links in the side bar.
pub struct NavGroup {
    /// Its title; may be empty.
    pub title: String,
    /// Its links.
    pub links: Vec<NavLink>,
}

/// The side bar of a site.
pub struct SideBar {
    /// Colour of the site.
    pub accent: Accent,
    /// The site's own bar; `None` if it has neither links nor a logo.
    pub site_bar: Option<SiteBar>,
    /// Groups of links.
    pub nav: Vec<NavGroup>,
}

/// A site, library or folder in which the search box offers to search.
pub struct SearchPlace {
    /// Its name.
    pub name: String,
    /// The filter for what is in it.
    pub filter: String,
}

impl SearchPlace {
    /// Returns the address of the search for words of names and texts in it.
    pub fn address_for(&self, words: &str) -> String {
        let query = format!("{} {words}", self.filter);
        format!("/search?q={}", http_core::protocol::segments::encode_query(&query))
    }

    /// Returns the address of the search for everything in it.
    pub fn address(&self) -> String {
        format!("/search?q={}", http_core::protocol::segments::encode_query(&self.filter))
    }
}

/// The signed-in user, as shown in the top bar.
#[derive(Clone)]
pub struct Who {
    /// The login name.
    pub login: String,
    /// The display name.
    pub name: String,
    /// True if the user administers the farm and sees the link to its administration.
    pub administrator: bool,
}

/// The bars above and beside the content. Shared parts are separate templates, because a base template is compiled
/// again for every page that extends it.
#[derive(Template)]
#[template(path = "head.html")]
pub struct Head<'a> {
    page: &'a Page,
}

/// Markup after the content.
#[derive(Template)]
#[template(path = "foot.html")]
pub struct Foot<'a> {
    page: &'a Page,
}

/// Messages about the last action.
#[derive(Template)]
#[template(path = "toasts.html")]
pub struct Toasts<'a> {
    page: &'a Page,
}

impl HtmlSafe for Head<'_> {}
impl HtmlSafe for Foot<'_> {}
impl HtmlSafe for Toasts<'_> {}

/// Common data of all pages. Templates call its short methods for every text.
pub struct Page {
    /// Language of all texts.
    pub language: Language,
    /// Colour theme.
    pub theme: Theme,
    /// Time zone of all times.
    pub zone: Zone,
    /// Colour of the current site.
    pub accent: Accent,
    /// The signed-in user.
    pub who: Option<Who>,
    /// Token for the page's forms.
    pub form_token: String,
    /// Message about the last action.
    pub flash: Option<Flash>,
    /// Path and query of this page.
    pub here: String,
    /// Side bar; may be empty.
    pub nav: Vec<NavGroup>,
    /// Bar of the site; `None` for a site with neither links nor a logo.
    pub site_bar: Option<SiteBar>,
    /// Content of the search box.
    pub query: String,
    /// The place that the page shows, for searches in it.
    pub search_place: Option<SearchPlace>,
    /// True if the page has its own search box, so that the header has none.
    pub own_search: bool,
}

impl Page {
    /// Returns the page for a request whose caller is not known yet.
    pub fn of(headers: &HeaderMap, here: String) -> Self {
        let accepted =
            || headers.get(header::ACCEPT_LANGUAGE).and_then(|field| field.to_str().ok()).map(Language::accepted);
        let chosen = cookies::get(headers, LANGUAGE).and_then(|tag| Language::parse(&tag));
        Self {
            language: chosen.or_else(accepted).unwrap_or(Language::ENGLISH),
            theme: cookies::get(headers, THEME).and_then(|word| Theme::parse(&word).ok()).unwrap_or_default(),
            zone: cookies::get(headers, ZONE).and_then(|name| Zone::parse(&name).ok()).unwrap_or_default(),
            accent: Accent::default(),
            who: None,
            form_token: String::new(),
            flash: Flash::of(headers),
            here,
            nav: Vec::new(),
            site_bar: None,
            query: String::new(),
            search_place: None,
            own_search: false,
        }
    }

    /// Returns the page for the parts of a request.
    pub fn of_request(parts: &Parts) -> Self {
        let here = parts.uri.path_and_query().map_or("/", |here| here.as_str()).to_owned();
        Self::of(&parts.headers, here)
    }

    /// Returns the text for a key.
    pub fn s(&self, key: &str) -> &'static str {
        self.language.text(key)
    }

    /// Returns the name of a kind of column or item.
    pub fn kind(&self, word: &str) -> &'static str {
        self.language.text(&format!("kind.{word}"))
    }

    /// Returns the text for a key with one value inserted.
    pub fn f1(&self, key: &str, value: impl ToString) -> String {
        self.language.fill(key, &[&value.to_string()])
    }

    /// Returns the text for a key with two values inserted.
    pub fn f2(&self, key: &str, first: impl ToString, second: impl ToString) -> String {
        self.language.fill(key, &[&first.to_string(), &second.to_string()])
    }

    /// Shows a side bar, if there is one.
    pub fn set_side_bar(&mut self, side_bar: Option<SideBar>) {
        if let Some(SideBar { accent, site_bar, nav }) = side_bar {
            (self.accent, self.site_bar, self.nav) = (accent, site_bar, nav);
        }
    }

    /// Returns the name of a site colour.
    pub fn colour(&self, accent: &Accent) -> &'static str {
        self.language.text(&format!("colour.{}", accent.as_str()))
    }

    /// Returns the text before and after the inserted value, for texts that a page repeats a hundred times.
    pub fn text_around_value(&self, key: &str) -> (&'static str, &'static str) {
        let text = self.language.text(key);
        text.split_once("{0}").unwrap_or((text, ""))
    }

    /// Returns the text for a number of things.
    pub fn n(&self, key: &str, n: impl ToString) -> String {
        self.language.count(key, n.to_string().parse().unwrap_or(u64::MAX))
    }

    /// Formats a size.
    pub fn size(&self, bytes: &u64) -> String {
        format::size(self.language, *bytes)
    }

    /// A whole number.
    pub fn number(&self, n: &u64) -> String {
        self.language.number(*n)
    }

    /// Formats a time relative to now.
    pub fn when(&self, time: &Timestamp) -> format::When<'_> {
        format::when(self.language, &self.zone, *time)
    }

    /// Formats a time to the minute.
    pub fn minute(&self, time: &Timestamp) -> String {
        format::minute(self.language, &self.zone, *time)
    }

    /// Formats the last day before a time, for what ends then.
    pub fn last_day(&self, end: &Timestamp) -> String {
        self.day_of(end.before(Duration::from_micros(1)))
    }

    /// Formats the day of a time.
    pub fn day_of(&self, time: Timestamp) -> String {
        format::day_of(self.language, &self.zone, time)
    }

    /// Formats a path that may wrap between its names.
    pub fn path<'p>(&self, path: &'p str) -> format::Steps<'p> {
        format::Steps(path)
    }

    /// Returns the bars above and beside the content.
    pub fn head(&self) -> Head<'_> {
        Head { page: self }
    }

    /// Markup after the content.
    pub fn foot(&self) -> Foot<'_> {
        Foot { page: self }
    }

    /// Messages about the last action.
    pub fn toasts(&self) -> Toasts<'_> {
        Toasts { page: self }
    }

    /// Returns an icon.
    pub fn icon(&self, name: &'static str) -> format::Icon {
        format::icon(name)
    }

    /// Returns the icon of a document.
    pub fn file_icon(&self, extension: &str) -> format::Icon {
        format::file_icon(extension)
    }

    /// Returns the initials of a person.
    pub fn initials(&self, name: &str) -> String {
        format::initials(name)
    }

    /// Returns the URL of an asset.
    pub fn asset(&self, name: &str) -> String {
        assets::url(name)
    }

    /// Returns this page's URL, encoded for a query string.
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

/// Returns the target after an action: only a path on this server, otherwise `fallback`.
///
/// Browsers treat `//host` and `/\host` as another host, and remove tabs and line ends first.
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

/// Initial capacity of a page's buffer: enough for a listing of one screen.
const USUAL_BYTES: usize = 64 << 10;

/// Renders a template as a response.
pub fn html(template: &impl Template) -> Response {
    let mut text = String::with_capacity(USUAL_BYTES);
    match template.render_into(&mut text) {
        Ok(()) => {
            ([(header::CONTENT_TYPE, HeaderValue::from_static(HTML))], bidi::make_bidi_visible(text)).into_response()
        }
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
