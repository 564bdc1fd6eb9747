//! The confirmation message after an action, carried over one redirect by a cookie.

use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use model::Id;

use super::texts;
use http_core::identity::cookies::{self, Cookie};

/// Name of the cookie.
const FLASH: &str = "strongroom_flash";
/// Longest list of recycle-bin entries that the cookie carries, in bytes.
const MAX_UNDO_BYTES: usize = 1_500;
/// Prefix of the site collection in the cookie when it does not carry the entries.
const BIN: &str = "bin";
/// Prefix of the undo of a move in the cookie.
const MOVE: &str = "move";
/// Longest name that the cookie carries, in bytes. Each can take three in the cookie.
pub const MAX_NAME: usize = 600;
/// Prefix of the text keys that the cookie can select.
const TEXTS: &str = "toast.";

/// Redirects to a page with a message.
pub fn done(next: &str, flash: &Flash) -> Response {
    let mut response = Redirect::to(next).into_response();
    flash.set(&mut response);
    response
}

/// A confirmation message, with the data for an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flash {
    /// Text key.
    pub key: &'static str,
    /// Name inserted into the text; may be empty.
    pub name: String,
    /// The undo.
    pub undo: Undo,
}

/// The undo of a deletion or a move, as far as the cookie carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Undo {
    /// There is nothing to undo.
    #[default]
    Nothing,
    /// The site collection and its recycle-bin entries, separated by commas.
    Entries(String),
    /// There are too many entries for the cookie. The recycle bin of this site collection lists them.
    InBin(String),
    /// The container that moved items were in, the one where they are, and the items, separated by commas.
    Move(String),
}

impl Undo {
    /// Creates the undo for entries of the recycle bin of a site collection: for all of them or, when they do not fit
    /// into the cookie, through the recycle bin.
    pub fn of(collection: Id, entries: &[Id]) -> Self {
        if entries.is_empty() {
            return Self::Nothing;
        }
        let ids = std::iter::once(&collection).chain(entries).map(Id::to_string).collect::<Vec<_>>().join(",");
        if ids.len() <= MAX_UNDO_BYTES { Self::Entries(ids) } else { Self::InBin(collection.to_string()) }
    }

    /// Creates the undo for items that moved out of a container into another one: none if they do not fit into the
    /// cookie.
    pub fn of_move(from: Id, to: Id, moved: &[Id]) -> Self {
        let ids = [from, to].iter().chain(moved).map(Id::to_string).collect::<Vec<_>>().join(",");
        if moved.is_empty() || ids.len() > MAX_UNDO_BYTES { Self::Nothing } else { Self::Move(ids) }
    }

    /// Returns whether the cookie has room for so many items.
    pub fn has_room_for(items: usize) -> bool {
        items <= MAX_UNDO_BYTES / 20
    }

    /// Parses the undo from the cookie. Anything else than numbers is no undo.
    fn parse(text: &str) -> Self {
        let of = |text: &str, make: fn(String) -> Self| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
            if plain { make(text.to_owned()) } else { Self::Nothing }
        };
        if let Some(ids) = text.strip_prefix(MOVE) {
            return of(ids, Self::Move);
        }
        match text.strip_prefix(BIN) {
            Some(collection) if !collection.contains(',') => of(collection, Self::InBin),
            Some(_) => Self::Nothing,
            None => of(text, Self::Entries),
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Entries(ids) => ids.clone(),
            Self::InBin(collection) => format!("{BIN}{collection}"),
            Self::Move(ids) => format!("{MOVE}{ids}"),
        }
    }

    /// Returns the address of the form that undoes, and what it sends: entries to restore behind their site collection,
    /// or items to move back behind the container that they were in and the one where they are.
    pub fn form(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Entries(ids) => Some(("/undo-delete", ids)),
            Self::Move(ids) => Some(("/undo-move", ids)),
            Self::Nothing | Self::InBin(_) => None,
        }
    }

    /// Returns the site collection whose recycle bin lists the entries.
    pub fn bin(&self) -> Option<&str> {
        if let Self::InBin(collection) = self { Some(collection) } else { None }
    }
}

impl Flash {
    /// Creates a message without undo.
    pub fn new(key: &'static str, name: impl Into<String>) -> Self {
        Self { key, name: name.into(), undo: Undo::Nothing }
    }

    /// Returns whether the message is about something that was taken back.
    pub fn is_undo(&self) -> bool {
        ["toast.moved-back", "toast.restored", "toast.restored-many"].contains(&self.key)
    }

    /// Reads the message from the request's cookie.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let text = cookies::get(headers, FLASH)?;
        let mut parts = text.splitn(3, '\n');
        let word = parts.next()?;
        let key = texts::known_key(word).filter(|key| key.starts_with(TEXTS))?;
        let (undo, name) = (parts.next()?, parts.next()?);
        Some(Self { key, name: shortened(name), undo: Undo::parse(undo) })
    }

    /// Sets the cookie, so that the next page shows the message.
    pub fn set(&self, response: &mut Response) {
        let name = shortened(&self.name);
        let value = format!("{}\n{}\n{name}", self.key, self.undo.write());
        Cookie { name: FLASH, value: &value, seconds: Some(30), secure: false }.set(response);
    }

    /// Removes the cookie after a page has shown the message.
    pub fn clear(response: &mut Response) {
        Cookie { name: FLASH, value: "", seconds: Some(0), secure: false }.set(response);
    }
}

fn shortened(name: &str) -> String {
    name[..name.floor_char_boundary(MAX_NAME)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header;

    fn carried(value: &str) -> Option<Flash> {
        let mut response = ().into_response();
        Cookie { name: FLASH, value, seconds: None, secure: false }.set(&mut response);
        let field = response.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
        Flash::of(&[(header::COOKIE, field.parse().unwrap())].into_iter().collect())
    }

    #[test]
    fn a_note_says_only_what_is_known() {
        let note = carried("toast.saved\n1,2\na\nb").unwrap();
        assert_eq!(
            (note.key, note.undo.form(), note.name.as_str()),
            ("toast.saved", Some(("/undo-delete", "1,2")), "a\nb")
        );
        for unknown in ["sign.title", "toast.nothing", "toast.", ""] {
            assert_eq!(carried(&format!("{unknown}\n\nx")), None);
        }
        assert_eq!(carried("toast.pasted\n\nx").unwrap().key, "toast.pasted");
        assert_eq!(carried("toast.moved\nmove7,1,2\nx").unwrap().undo.form(), Some(("/undo-move", "7,1,2")));
        for undo in ["1;2", "", "bin", "bin1,2", "bin/x", "binbin1", "move", "move1;2", "movebin1"] {
            assert_eq!(carried(&format!("toast.saved\n{undo}\nx")).unwrap().undo, Undo::Nothing, "{undo}");
        }
        assert_eq!(carried("toast.saved"), None);
    }

    #[test]
    fn an_undo_is_for_all_entries_or_leads_to_the_recycle_bin() {
        let collection = Id::new(7);
        for (count, fits) in [(0, false), (1, true), (74, true), (75, false), (1_000, false)] {
            let undo = Undo::of(collection, &vec![Id::new(i64::MAX); count]);
            let mut response = ().into_response();
            Flash { undo: undo.clone(), ..Flash::new("toast.deleted-many", "\u{1f600}".repeat(MAX_NAME)) }
                .set(&mut response);
            let field = response.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
            assert!(field.len() < 4_000, "browsers refuse longer cookies: {}", field.len());
            let carried = Flash::of(&[(header::COOKIE, field.parse().unwrap())].into_iter().collect()).unwrap().undo;
            assert_eq!(carried, undo);
            assert_eq!(carried.form().map(|(_, ids)| ids.split(',').count()), fits.then_some(count + 1));
            assert_eq!(carried.bin(), (count > 0 && !fits).then_some("7"), "{count}");
        }
    }
}
