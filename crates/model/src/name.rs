//! Names of items, and paths made of them.

use std::fmt;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

use crate::{Code, Error, MAX_DEPTH, MAX_NAME_CHARS, Result};

/// The name of a site, library, folder, document or list: kept exactly as given, compared by its folded form.
///
/// Rejected: the empty name, `.`, `..`, more than 255 characters, control characters, invisible characters alone, `/`
/// and `\`, a space at either end, a dot at the end (Windows cannot address those).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Checks a name.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        match Self::fault(&text) {
            None => Ok(Self(text)),
            Some(fault) => {
                let shown: String = text.escape_debug().take(80).collect();
                Err(Error::invalid(format!("the name \"{shown}\" cannot be used: {fault}"))
                    .with_code(Code::InvalidName))
            }
        }
    }

    fn fault(text: &str) -> Option<&'static str> {
        if text.is_empty() {
            Some("it is empty")
        } else if text == "." || text == ".." {
            Some("it has a special meaning in paths")
        } else if text.chars().count() > MAX_NAME_CHARS {
            Some("it is longer than 255 characters")
        } else if text.chars().any(char::is_control) {
            Some("it contains a control character")
        } else if text.chars().all(is_invisible) {
            Some("it has no visible character")
        } else if text.contains(['/', '\\']) {
            Some("it contains a slash or backslash")
        } else if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
            Some("it begins or ends with a space")
        } else if text.ends_with('.') {
            Some("it ends with a dot")
        } else {
            None
        }
    }

    /// Returns the name as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the form by which names are compared and sorted: two names with equal folded forms are the same name.
    pub fn folded(&self) -> String {
        fold(&self.0)
    }

    /// Returns the part after the last dot in lower case, or the empty string: `pdf` for `Plan.PDF`, nothing for
    /// `.profile`.
    pub fn extension(&self) -> String {
        extension(&self.0)
    }
}

/// Returns the extension of a name that was not checked, as [`Name::extension`] does.
pub fn extension(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    }
}

/// Returns whether file managers or office programs use a name for files of their own beside the user's documents. Such
/// files get no versions, are not found by searches and do not go to the recycle bin.
pub fn is_application_file(name: &str) -> bool {
    const NAMES: [&str; 6] = [".ds_store", "thumbs.db", "desktop.ini", ".hidden", ".localized", ".directory"];
    let lower = name.to_ascii_lowercase();
    lower.starts_with("._")
        || lower.starts_with("~$")
        || (lower.starts_with(".~lock.") && lower.ends_with('#'))
        || NAMES.contains(&lower.as_str())
}

/// Returns whether a name is one that programs use briefly for a file while they save another one.
pub fn is_temporary_file(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    // Excel uses eight hexadecimal digits without an extension; eight decimal digits are more often a date.
    let of_excel = name.len() == 8
        && name.bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte))
        && name.bytes().any(|byte| byte.is_ascii_uppercase());
    is_application_file(name)
        || [".tmp", ".temp", ".bak", ".old", ".orig", ".wbk", ".part", ".swp", "~"]
            .iter()
            .any(|end| lower.ends_with(end))
        || [".goutputstream-", ".~", "~wr", ".dat.nosync", "backup of "].iter().any(|start| lower.starts_with(start))
        || lower.contains(".sb-")
        || of_excel
}

/// Returns whether a name is one that programs use briefly for a folder of their own while they save a document.
pub fn is_temporary_folder(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains(".sb-")
        || lower == ".temporaryitems"
        || lower.starts_with(".dat.nosync")
        || lower.starts_with("(a document being saved by ")
}

/// Returns whether a character shows nothing on a screen.
fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}'
        )
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the form in which texts are compared without case: Unicode's canonical caseless form (3.13, D145), which is
/// NFD, default case folding, and NFD again. It is then composed (NFC) to be short.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded: String = text.nfd().default_case_fold().nfd().collect();
    folded.nfc().collect()
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A path of names below some item. The empty path means the item itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodePath(Vec<Name>);

impl NodePath {
    /// Parses names separated by `/`. Leading, trailing and repeated slashes are ignored; `.` and `..` are rejected.
    pub fn parse(text: &str) -> Result<Self> {
        let names = text.split('/').filter(|part| !part.is_empty()).map(Name::new).collect::<Result<Vec<_>>>()?;
        if names.len() > MAX_DEPTH {
            return Err(
                Error::invalid(format!("the path is deeper than {MAX_DEPTH} levels")).with_code(Code::PathTooDeep)
            );
        }
        Ok(Self(names))
    }

    /// Returns the names, outermost first.
    pub fn names(&self) -> &[Name] {
        &self.0
    }

    /// Returns whether this path means the item itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path before the last name, and that name.
    pub fn split_last(&self) -> Option<(NodePath, &Name)> {
        self.0.split_last().map(|(last, head)| (NodePath(head.to_vec()), last))
    }

    /// Returns this path with one more name.
    #[must_use]
    pub fn join(&self, name: &Name) -> Self {
        let mut names = self.0.clone();
        names.push(name.clone());
        Self(names)
    }
}

impl From<Vec<Name>> for NodePath {
    fn from(names: Vec<Name>) -> Self {
        Self(names)
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("/")?;
            }
            f.write_str(name.as_str())?;
        }
        Ok(())
    }
}

/// The address of a site collection in the farm: the empty path for the root one, otherwise up to four names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SitePath(NodePath);

impl SitePath {
    /// Parses an address such as `sites/sales`. Its names are the first segments of URLs.
    pub fn parse(text: &str) -> Result<Self> {
        let path = NodePath::parse(text)?;
        if path.names().len() > 4 {
            return Err(Error::invalid("the address of a site collection has at most four parts"));
        }
        Ok(Self(path))
    }

    /// Returns the names of the address.
    pub fn path(&self) -> &NodePath {
        &self.0
    }

    /// Returns the folded text by which addresses are stored and compared.
    pub fn folded(&self) -> String {
        self.0.names().iter().map(Name::folded).collect::<Vec<_>>().join("/")
    }
}

impl fmt::Display for SitePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_used_are_refused_with_a_reason() {
        let long = "x".repeat(256);
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "a\\b",
            "a\0",
            "a\n",
            "\u{7f}",
            "\u{85}",
            " a",
            "a ",
            "a.",
            "\u{200b}",
            " \u{feff}\u{2060}",
            &long,
        ] {
            let error = Name::new(bad).unwrap_err();
            assert_eq!(error.code(), "invalid_name", "{bad:?}");
            assert!(!error.message().contains('\n'));
        }
    }

    #[test]
    fn notes_of_programs_are_told_from_documents() {
        for litter in ["._Plan.docx", ".DS_Store", "~$Plan.docx", "Thumbs.db", ".~lock.Plan.odt#"] {
            assert!(is_application_file(litter), "{litter}");
            assert!(is_temporary_file(litter), "{litter}");
        }
        for passing in ["~WRD0001.tmp", "lu1234.tmp", ".goutputstream-X1", "Plan.docx.sb-1a2b-x", "Plan.txt~"] {
            assert!(is_temporary_file(passing), "{passing}");
            assert!(!is_application_file(passing), "{passing}");
        }
        for backup in ["5CB52000", "Plan.bak", "Plan.docx.old", "Plan.orig", "Backup of Plan.wbk", ".dat.nosync01ab"] {
            assert!(is_temporary_file(backup), "{backup}");
            assert!(!is_application_file(backup), "{backup}");
        }
        for document in ["Plan.docx", "~.txt", "$.txt", "Thumbs", "tmp", ".profile", "deadbeef", "5CB520", "20261121"] {
            assert!(!is_temporary_file(document), "{document}");
        }
        for folder in
            ["Plan.docx.sb-1a2b-x", ".TemporaryItems", "(A Document Being Saved By TextEdit)", ".dat.nosync01"]
        {
            assert!(is_temporary_folder(folder), "{folder}");
        }
        for folder in ["Plan", "Temporary Items", "sb-1", "Plan.tmp"] {
            assert!(!is_temporary_folder(folder), "{folder}");
        }
    }

    #[test]
    fn unusual_names_are_kept_as_given() {
        for good in
            ["a:b*?\"<>|", "…", "CON", ".profile", "100 % #1+2.txt", "💾", "e\u{301}", &"ü".repeat(255), "a\u{202e}b"]
        {
            assert_eq!(Name::new(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn names_are_compared_without_case_and_normal_form() {
        let same = |a: &str, b: &str| assert_eq!(Name::new(a).unwrap().folded(), Name::new(b).unwrap().folded());
        same("Report.PDF", "report.pdf");
        same("Straße", "STRASSE");
        same("é", "E\u{301}");
        same("ΣΊΣΥΦΟΣ", "σίσυφος");
        assert_ne!(Name::new("a").unwrap().folded(), Name::new("ä").unwrap().folded());
    }

    #[test]
    fn paths_refuse_what_climbs_and_what_is_too_deep() {
        assert_eq!(NodePath::parse("/a//b/").unwrap().to_string(), "a/b");
        assert!(NodePath::parse("").unwrap().is_empty());
        assert!(NodePath::parse("a/../b").is_err());
        assert!(NodePath::parse(&"a/".repeat(MAX_DEPTH + 1)).is_err());
        assert_eq!(Name::new("Plan.PDF").unwrap().extension(), "pdf");
        assert_eq!(Name::new(".profile").unwrap().extension(), "");
    }
}
