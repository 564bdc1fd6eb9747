//! Links and pictures in pages: addresses of this server, paths from the folder of the page, and other servers.

use http_core::protocol::segments;

use crate::frame::address;
use crate::frame::escape::escape;

/// Beginning of the identifiers of headings, which keeps them apart from others in the document.
pub const HEADING: &str = "h-";
/// Limit on the characters of the identifier of a heading.
const MAX_SLUG: usize = 60;

/// The place from which the links of a page start.
pub struct LinkBase<'a> {
    /// Path of its folder in the farm.
    pub folder: &'a str,
    /// Scheme and host under which browsers know this server.
    pub origin: &'a str,
}

impl LinkBase<'_> {
    /// Returns an address of this server without scheme and host.
    fn without_origin<'l>(&self, address: &'l str) -> &'l str {
        let rest = address.strip_prefix(self.origin).filter(|rest| !self.origin.is_empty() && rest.starts_with('/'));
        rest.unwrap_or(address)
    }
}

/// Returns the opening tag of a link; `None` for one that leads nowhere. In an excerpt, which has no base, only links
/// to other servers lead somewhere.
pub fn tag(address: &str, base: Option<&LinkBase<'_>>) -> Option<String> {
    let address = base.map_or(address, |base| base.without_origin(address));
    let (relation, target) = match leads_elsewhere(address) {
        true => ("rel=\"noopener noreferrer nofollow\" ", address.to_owned()),
        false => ("", local(address, base?)?),
    };
    let mut tag = format!("<a {relation}href=\"");
    escape(&target, &mut tag);
    Some(tag + "\">")
}

/// Returns the path in the farm that an address of this server names.
pub fn path(address: &str, base: &LinkBase<'_>) -> Option<String> {
    let address = base.without_origin(address);
    if leads_elsewhere(address) || address.contains(['\\', '\0']) {
        return None;
    }
    let address = address.split(['#', '?']).next().unwrap_or_default();
    let (mut names, steps) = match address.strip_prefix("/browse") {
        Some(steps) if steps.is_empty() || steps.starts_with('/') => (Vec::new(), steps),
        _ if address.is_empty() || address.starts_with('/') || has_scheme(address) => return None,
        _ => (base.folder.split('/').filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect(), address),
    };
    for step in steps.split('/').filter(|step| !step.is_empty()) {
        match step {
            "." => {}
            // Above the root site there is nothing.
            ".." => drop(names.pop()?),
            step => names.extend(segments::decode(step).ok()?),
        }
    }
    Some(names.join("/"))
}

/// Returns the address of a link within this server.
fn local(link: &str, base: &LinkBase<'_>) -> Option<String> {
    if let Some(heading) = link.strip_prefix('#') {
        return Some(anchor(heading));
    }
    if let Some(path) = path(link, base) {
        let heading = link.split_once('#').map(|(_, heading)| anchor(heading)).unwrap_or_default();
        return Some(address::browse(&path) + &heading);
    }
    // Other pages of this server, such as a search.
    let is_here = link.starts_with('/')
        && !link.starts_with("//")
        && link.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    is_here.then(|| link.to_owned())
}

fn anchor(heading: &str) -> String {
    let heading = segments::decode(heading).ok().and_then(|names| names.into_iter().next());
    format!("#{}", segments::encode(&format!("{HEADING}{}", slug(&heading.unwrap_or_default()))))
}

/// Returns a heading as it stands in an address: lower-case letters and digits, with hyphens between the words.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars().flat_map(char::to_lowercase).take(MAX_SLUG) {
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

fn has_scheme(address: &str) -> bool {
    address.split('/').next().is_some_and(|first| first.contains(':'))
}

fn leads_elsewhere(address: &str) -> bool {
    let beginning: String = address.chars().take(8).collect::<String>().to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|good| beginning.starts_with(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_start_from_the_folder_of_the_page() {
        let base = LinkBase { folder: "team/Pages", origin: "https://docs.example" };
        for (link, expected) in [
            ("Other.md", Some("/browse/team/Pages/Other.md")),
            ("./a%20b.md#The%20End", Some("/browse/team/Pages/a%20b.md#h-the-end")),
            ("../Documents/Plan.pdf?x=1", Some("/browse/team/Documents/Plan.pdf")),
            ("../../x", Some("/browse/x")),
            ("../../../x", None),
            ("/browse/team", Some("/browse/team")),
            ("/search?q=plan", Some("/search?q=plan")),
            ("#The end", Some("#h-the-end")),
            ("https://docs.example/browse/a#B", Some("/browse/a#h-b")),
            ("https://docs.example.evil/x", None),
            ("//evil.example/x", None),
            ("/\\evil.example", None),
            ("javascript:alert(1)", None),
            ("x:y/z", None),
            ("a%2Fb", None),
            ("", None),
        ] {
            assert_eq!(local(base.without_origin(link), &base).as_deref(), expected, "{link}");
        }
    }
}
