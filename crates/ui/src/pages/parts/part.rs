//! Shared code of all parts: their place, reading their settings, and the reasons why one is not shown.

use askama::Template;
use model::{Error, NodePath};
use repository::{Item, Target};
use serde::de::DeserializeOwned;

use crate::frame::visit::Visit;
use crate::pages::markdown::Heading;

/// Number of entries that a part shows unless it says otherwise, and the limit on it.
const USUAL_ENTRIES: usize = 10;
const MAX_ENTRIES: usize = 50;
/// Limit on the bytes of a part.
const MAX_TEXT: usize = 4_096;

/// The place of the parts of a page.
pub struct Surroundings<'a> {
    /// The reader of the page.
    pub visit: &'a Visit,
    /// The site of the page, in which paths begin.
    pub site: &'a Item,
    /// The headings of the page.
    pub headings: &'a [Heading],
    /// True if the reader may change the page, and is told what is wrong with it.
    pub is_author: bool,
}

/// The reason why a part is not shown.
pub enum PartFault {
    /// The text of the part is wrong, and how.
    Wrong(String),
    /// An item or search that it names cannot be read.
    Failed(Error),
}

/// The HTML of a part.
pub type PartResult<T = String> = Result<T, PartFault>;

impl From<Error> for PartFault {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Reads the settings of a part.
pub fn read<T: DeserializeOwned>(around: &Surroundings<'_>, text: &str) -> PartResult<T> {
    if text.len() > MAX_TEXT {
        return Err(PartFault::Wrong(around.visit.page.f1("part.too-long", MAX_TEXT)));
    }
    let page = &around.visit.page;
    toml::from_str(text).map_err(|error| {
        // The library says everything in one text, in English.
        let unknown = error.message().strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
        PartFault::Wrong(match unknown {
            Some((key, _)) => page.f1("part.unknown-key", key),
            None => page.f1("part.unreadable", error.message()),
        })
    })
}

/// Returns the number of entries that a part shows.
pub fn entries(wanted: Option<usize>) -> usize {
    wanted.unwrap_or(USUAL_ENTRIES).clamp(1, MAX_ENTRIES)
}

/// Finds the item that a part names: a path in the site of the page or, after a slash, in the farm.
pub async fn find(around: &Surroundings<'_>, path: &str) -> PartResult<Item> {
    let whole = match path.strip_prefix('/') {
        Some(path) => path.to_owned(),
        None => format!("{}/{path}", around.site.path),
    };
    Ok(around.visit.session.item(&Target::Path(NodePath::parse(whole.trim_matches('/'))?)).await?)
}

/// Draws a template.
pub fn render(template: &impl Template) -> PartResult {
    Ok(template.render().map_err(|error| Error::corrupt("a part of a page cannot be drawn").with_source(error))?)
}
