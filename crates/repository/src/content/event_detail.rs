//! Details of events, stored in parts, so that each reader is shown only the parts that their rights allow.
//!
//! A detail that consists only of text, such as a path, is stored as plain text. So are all events recorded before
//! details were split into parts. Plain text is shown only to those who manage the whole site collection, because a
//! path reveals locations that other readers may not know.

use model::{Result, Right, Rights};
use serde::{Deserialize, Serialize};

/// Prefix of a detail stored in parts. No name may contain a control character, so plain text never begins with it.
const PARTS_PREFIX: char = '\u{1}';

/// Details of an event: everything beyond the actor, the action and the item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Detail {
    /// Paths and other text, for managers of the site collection only.
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    /// Facts for all readers of the event: a version number, or that the stored content is a working copy.
    #[serde(skip_serializing_if = "String::is_empty")]
    fact: String,
    /// The grant that was made or revoked; shown to those who manage permissions.
    #[serde(skip_serializing_if = "String::is_empty")]
    grant: String,
    /// The address from which a link was used; shown to those who may create links.
    #[serde(skip_serializing_if = "String::is_empty")]
    address: String,
}

impl<T: Into<String>> From<T> for Detail {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// The parts of a detail that a reader may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DetailVisibility {
    everything: bool,
    rights: Rights,
}

impl DetailVisibility {
    /// The view of a reader who manages the whole site collection.
    pub(crate) const FULL: Self = Self { everything: true, rights: Rights::ALL };

    /// Returns the view of a reader who has these rights on the item and does not manage the site collection.
    pub(crate) fn of(rights: Rights) -> Self {
        Self { everything: false, rights }
    }
}

impl Detail {
    /// Adds a fact.
    pub(crate) fn fact(self, fact: impl ToString) -> Self {
        Self { fact: fact.to_string(), ..self }
    }

    /// Adds a grant.
    pub(crate) fn grant(self, grant: impl Into<String>) -> Self {
        Self { grant: grant.into(), ..self }
    }

    /// Adds an address.
    pub(crate) fn address(self, address: impl ToString) -> Self {
        Self { address: address.to_string(), ..self }
    }

    /// Returns the stored form.
    pub(crate) fn stored(self) -> Result<String> {
        if self.fact.is_empty() && self.grant.is_empty() && self.address.is_empty() {
            return Ok(self.text);
        }
        let json = serde_json::to_string(&self)
            .map_err(|error| model::Error::corrupt("an event cannot be written").with_source(error))?;
        Ok(format!("{PARTS_PREFIX}{json}"))
    }

    /// Parses the stored form. Anything unreadable becomes text for managers of the site collection.
    pub(crate) fn read(stored: &str) -> Self {
        let parts = stored.strip_prefix(PARTS_PREFIX).and_then(|json| serde_json::from_str(json).ok());
        parts.unwrap_or_else(|| stored.into())
    }

    /// Returns the text from which it is decided whether readers of published versions see an event: the fact or, for
    /// an event without parts, the whole text.
    pub(crate) fn deciding_text(&self) -> &str {
        if self.fact.is_empty() { &self.text } else { &self.fact }
    }

    /// Returns what a reader is shown.
    pub(crate) fn visible_to(&self, sight: DetailVisibility) -> String {
        let may = |right: Right| sight.everything || sight.rights.has(right);
        let mut shown = if sight.everything { self.text.clone() } else { String::new() };
        let mut add = |between: &str, part: &str| {
            if !part.is_empty() {
                if !shown.is_empty() {
                    shown.push_str(between);
                }
                shown.push_str(part);
            }
        };
        add(" ", &self.fact);
        if may(Right::ManagePermissions) {
            add(": ", &self.grant);
        }
        if may(Right::Edit) {
            add(" from ", &self.address);
        }
        shown
    }
}

/// All actions that the audit log of a site collection can contain.
pub const AUDIT_ACTIONS: [&str; 60] = [
    "column.change",
    "column.compute",
    "column.create",
    "column.delete",
    "content-type.create",
    "content-type.delete",
    "document.check-in",
    "document.check-out",
    "document.create",
    "document.discard",
    "document.read",
    "document.reject",
    "document.replace",
    "document.submit",
    "document.withdraw",
    "folder.create",
    "item.break-lock",
    "item.columns",
    "item.copy",
    "item.delete",
    "item.lock",
    "item.move",
    "item.properties",
    "item.rename",
    "item.restore",
    "item.unlock",
    "library.create",
    "library.settings",
    "link.create",
    "link.revoke",
    "link.upload",
    "link.use",
    "list.create",
    "permissions.break",
    "permissions.grant",
    "permissions.inherit",
    "permissions.revoke",
    "recycle.empty",
    "recycle.expire",
    "recycle.purge",
    "row.change",
    "row.create",
    "site-collection.create",
    "site.audit-reads",
    "site.create",
    "site.links",
    "site.home",
    "site.logo",
    "site.look",
    "site.navigation",
    "site.quota",
    "version.delete",
    "version.publish",
    "version.restore",
    "template.apply",
    "template.delete",
    "template.rename",
    "template.save",
    "view.delete",
    "view.save",
];

/// Fact that the stored content is a working copy.
pub(crate) const WORKING_COPY: &str = "as working copy";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_is_shown_what_their_rights_reach() {
        let all = Detail::from("Hidden/a.txt").fact("2.0").grant("Read to Bob").address("192.0.2.7");
        let read = Detail::read(&all.clone().stored().unwrap());
        assert_eq!(read, all);
        let with = |rights: &[Right]| DetailVisibility::of(rights.iter().copied().collect());
        assert_eq!(read.visible_to(DetailVisibility::FULL), "Hidden/a.txt 2.0: Read to Bob from 192.0.2.7");
        assert_eq!(read.visible_to(with(&[Right::View, Right::ViewVersions])), "2.0");
        assert_eq!(read.visible_to(with(&[Right::ManagePermissions, Right::ManageSite])), "2.0: Read to Bob");
        assert_eq!(read.visible_to(with(&[Right::Edit])), "2.0 from 192.0.2.7");
    }

    #[test]
    fn what_was_stored_without_parts_is_for_who_manages_the_site_collection() {
        for old in ["Hidden/a.txt → Public/a.txt", "{\"fact\":\"x\"}", "\u{1}garbled", ""] {
            let read = Detail::read(old);
            assert_eq!(read.visible_to(DetailVisibility::FULL), old);
            assert_eq!(read.visible_to(DetailVisibility::of(Rights::ALL)), "");
        }
        assert_eq!(Detail::from("a/b").stored().unwrap(), "a/b");
    }

    #[test]
    fn the_first_stored_form_is_read() {
        let golden = "\u{1}{\"text\":\"a/b.txt\",\"fact\":\"1.0\",\"grant\":\"Read to Bob\",\
            \"address\":\"192.0.2.7\",\"later\":1}";
        let read = Detail::read(golden);
        assert_eq!(read, Detail::from("a/b.txt").fact("1.0").grant("Read to Bob").address("192.0.2.7"));
    }
}
