//! The rules of links above the pages of a site.

/// Limit on the links of a site.
pub(crate) const MAX_LINKS: usize = 30;
/// Limit on the characters of a link's label.
pub(crate) const MAX_LABEL: usize = 100;
/// Limit on the characters of an address.
const MAX_ADDRESS: usize = 2_000;

/// Refuses an address that leads neither to a page of this server nor to one of the web.
///
/// # Errors
/// The reason.
pub(crate) fn check_link(link: &str) -> Result<(), &'static str> {
    let is_local = link.starts_with('/') && !link.starts_with("//");
    let lower = link.to_ascii_lowercase();
    let web = ["http://", "https://"].iter().any(|scheme| lower.len() > scheme.len() && lower.starts_with(scheme));
    if link.chars().count() > MAX_ADDRESS {
        return Err("the address has more than 2,000 characters");
    }
    // Browsers take a backslash for a slash, and leave out tabs and line ends.
    if !(is_local || web) || link.contains('\\') || link.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("an address begins with /, http:// or https:// and has neither spaces nor backslashes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_this_server_or_to_the_web() {
        for good in ["/", "/browse/a%20b?x=1", "https://example.org/ü", "HTTP://x"] {
            assert_eq!(check_link(good), Ok(()), "{good}");
        }
        let long = format!("/{}", "x".repeat(2_000));
        let script = "javascript:alert(1)";
        for bad in ["", "//x", "/\\x", "https://", script, "data:x", "mailto:a@b", "a", "/a b", "/\ta", &long] {
            assert!(check_link(bad).is_err(), "{bad}");
        }
    }
}
