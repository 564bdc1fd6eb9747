//! URLs of pages, and parsing of their paths.

use axum::http::Uri;
use model::{Id, Name, NodePath, Result};
use repository::Target;

use http_core::protocol::segments;

/// Returns the URL of the item at a path of the farm.
pub fn browse(path: &str) -> String {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    if names.is_empty() { "/browse".to_owned() } else { format!("/browse{}", segments::encode_path(names)) }
}

/// Returns the URL of an item, given the URL of its parent and its name.
pub fn below(place: &str, name: &str) -> String {
    format!("{place}/{}", segments::encode(name))
}

/// Returns the URL of the parent of the item at a path.
pub fn browse_parent(path: &str) -> String {
    browse(path.rsplit_once('/').map_or("", |(parent, _)| parent))
}

/// Returns the URL of the page with an item's actions.
pub fn item(id: Id) -> String {
    format!("/items/{id}")
}

/// Parses the path of a browse URL.
pub fn target(uri: &Uri) -> Result<Target> {
    let raw = uri.path().strip_prefix("/browse").unwrap_or_default();
    let names = segments::decode(raw)?.into_iter().map(Name::new).collect::<Result<Vec<_>>>()?;
    Ok(Target::Path(NodePath::from(names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_address() {
        for path in ["", "Documents", "Documents/100 % #1?.txt", "sites/sales/Öffentlich/a&b;c"] {
            let uri: Uri = browse(path).parse().unwrap();
            let Target::Path(read) = target(&uri).unwrap() else { panic!("an identifier") };
            assert_eq!(read.to_string(), path);
        }
        assert_eq!(below(&browse("Documents/a b"), "c/d"), browse("Documents/a b") + "/c%2Fd");
        for (place, name) in [("", "Documents"), ("Documents/a b", "100 % #1?.txt")] {
            let path = format!("{place}/{name}");
            assert_eq!(below(&browse(place), name), browse(path.trim_start_matches('/')));
        }
        assert_eq!(browse_parent("Documents/a b/c"), "/browse/Documents/a%20b");
        assert_eq!(browse_parent("Documents"), "/browse");
        assert!(target(&"/browse/a%2Fb".parse().unwrap()).is_err());
        assert!(target(&"/browse/%2e%2e/b".parse().unwrap()).is_err());
    }
}
