//! Media types: the type that a stored document is sent with, and whether a browser may display it inline.

/// Returns the media type for a file name, by its extension; `application/octet-stream` when unknown.
pub fn guess(name: &str) -> &'static str {
    mime_guess::from_path(name).first_raw().unwrap_or("application/octet-stream")
}

/// Returns whether the extension of a file name has a known media type.
pub fn is_known(name: &str) -> bool {
    mime_guess::from_path(name).first_raw().is_some()
}

/// Types that a browser displays without executing stored content. SVG, HTML and XML are not among them.
const SHOWN: [&str; 6] = ["image/png", "image/jpeg", "image/gif", "image/webp", "text/plain", "application/pdf"];

/// Returns the type to send when the client requested inline display; `None` when the document must be downloaded.
///
/// The type is one of our own constants, never the stored text, so that parameters and odd spellings cannot slip
/// through.
pub fn shown_as(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let known = SHOWN.into_iter().find(|shown| shown.eq_ignore_ascii_case(essence))?;
    Some(if known == "text/plain" { "text/plain; charset=utf-8" } else { known })
}

/// Returns the essence of a `Content-Type` field in lower case: `text/plain` for `Text/Plain; charset=utf-8`.
pub fn essence(field: &str) -> String {
    field.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_types_are_shown_in_place() {
        for good in ["image/png", "IMAGE/PNG", "text/plain; charset=latin1", "application/pdf"] {
            assert!(shown_as(good).is_some(), "{good}");
        }
        for bad in [
            "text/html",
            "image/svg+xml",
            "application/xhtml+xml",
            "text/xml",
            "text/javascript",
            "",
            "text/plain,text/html",
        ] {
            assert!(shown_as(bad).is_none(), "{bad}");
        }
        assert_eq!(shown_as("text/plain;x=<script>"), Some("text/plain; charset=utf-8"));
    }

    #[test]
    fn names_have_types() {
        assert_eq!(guess("Plan.PDF"), "application/pdf");
        assert_eq!(guess("nothing"), "application/octet-stream");
        assert_eq!(essence("Text/HTML ; charset=x"), "text/html");
    }
}
