//! Languages of source text, by file extension. Their names are those of the highlighter that colours the text in the
//! browser. This module knows nothing of the text itself.

/// Languages that the highlighter knows, with the extensions of their files.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("bash", &["sh", "bash", "zsh"]),
    ("c", &["c", "h"]),
    ("cpp", &["cc", "cpp", "hpp"]),
    ("csharp", &["cs"]),
    ("css", &["css"]),
    ("go", &["go"]),
    ("ini", &["cfg", "conf", "env", "ini", "properties", "toml"]),
    ("java", &["java"]),
    ("javascript", &["js", "mjs", "cjs", "jsx"]),
    ("json", &["json", "jsonl", "ndjson", "geojson"]),
    ("kotlin", &["kt", "kts"]),
    ("less", &["less"]),
    ("makefile", &["mk"]),
    ("objectivec", &["m"]),
    ("perl", &["pl"]),
    ("php", &["php"]),
    ("python", &["py", "pyi"]),
    ("r", &["r"]),
    ("ruby", &["rb"]),
    ("rust", &["rs"]),
    ("scss", &["scss"]),
    ("sql", &["sql"]),
    ("swift", &["swift"]),
    ("typescript", &["ts", "tsx"]),
    ("xml", &["xml", "html", "htm", "xhtml", "svg", "xsl", "xsd", "rss", "vue"]),
    ("yaml", &["yaml", "yml"]),
];
/// Extensions of source text in other languages, which is shown without colours.
const UNCOLOURED: &[&str] =
    &["dart", "dockerfile", "gitignore", "gradle", "groovy", "proto", "ps1", "scala", "tf", "zig"];

/// Returns the language for this extension, in lower case. `None` when the highlighter does not know it.
pub fn of(extension: &str) -> Option<&'static str> {
    LANGUAGES.iter().find(|(_, extensions)| extensions.contains(&extension)).map(|(name, _)| *name)
}

/// Returns whether files with this extension, in lower case, are source text.
pub fn is_source(extension: &str) -> bool {
    of(extension).is_some() || UNCOLOURED.contains(&extension)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::assets;

    #[test]
    fn the_highlighter_knows_every_language() {
        let library = assets::text("vendor/highlight.min.js");
        for (name, _) in LANGUAGES {
            assert!(library.contains(&format!("grmr_{name}:")), "{name}");
        }
    }

    #[test]
    fn source_text_is_known_by_its_extension() {
        assert_eq!((of("rs"), of("h"), of("vue")), (Some("rust"), Some("c"), Some("xml")));
        assert_eq!((of("zig"), of("txt"), of("")), (None, None, None));
        assert!(is_source("rs"));
        assert!(is_source("zig"));
        assert!(!is_source("txt"));
        assert!(!is_source(""));
    }
}
