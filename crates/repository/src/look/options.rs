//! Navigation, accent, logo and home page of a site in their stored form: a JSON object.

use std::collections::HashMap;

use database::content::site::SiteRow;
use model::{Accent, Error, Id, Result};
use serde::{Deserialize, Serialize};

/// Options of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteOptions {
    /// Colour of its pages; `None` for that of the site collection.
    pub(crate) accent: Option<Accent>,
    /// Links above its pages, in order.
    pub(crate) navigation: Vec<NavigationEntry>,
    /// Changes with every new logo; `None` for a site without one.
    pub(crate) logo: Option<Id>,
    /// The page that the site opens with; `None` for its contents.
    pub(crate) home: Option<Id>,
}

/// A stored link above the pages of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NavigationEntry {
    /// The target.
    pub(crate) target: NavigationTarget,
    /// What the link says; empty for the name of the item.
    pub(crate) label: String,
}

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NavigationTarget {
    /// An item of the site collection, wherever it moves.
    Item(Id),
    /// An address.
    Address(String),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    #[serde(skip_serializing_if = "Option::is_none")]
    accent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    navigation: Vec<StoredLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<String>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredLink {
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
}

impl SiteOptions {
    /// Reads the options of a stored site; those of a site without a row are empty.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(crate) fn of(row: Option<&SiteRow>) -> Result<Self> {
        let Some(row) = row else { return Ok(Self::default()) };
        let bad = || Error::corrupt("the options of a site cannot be read");
        let stored: Stored = serde_json::from_str(&row.options).map_err(|_| bad())?;
        let link = |link: StoredLink| {
            let target = match (link.item, link.link) {
                (Some(item), None) => NavigationTarget::Item(item.parse().map_err(|_| bad())?),
                (None, Some(address)) => NavigationTarget::Address(address),
                _ => return Err(bad()),
            };
            Ok(NavigationEntry { target, label: link.label })
        };
        Ok(Self {
            accent: stored.accent.as_deref().map(Accent::parse).transpose().map_err(|_| bad())?,
            navigation: stored.navigation.into_iter().map(link).collect::<Result<_>>()?,
            logo: stored.logo.map(|mark| mark.parse().map_err(|_| bad())).transpose()?,
            home: stored.home.map(|id| id.parse().map_err(|_| bad())).transpose()?,
        })
    }

    /// Returns the options of a copy of the site, with the copies of the items that were copied with it. Links to other
    /// items stay. The logo is copied by itself.
    pub(crate) fn for_copy(mut self, copies: &HashMap<Id, Id>) -> Self {
        let copy_or_same = |id: Id| copies.get(&id).copied().unwrap_or(id);
        for entry in &mut self.navigation {
            if let NavigationTarget::Item(id) = &mut entry.target {
                *id = copy_or_same(*id);
            }
        }
        self.home = self.home.map(copy_or_same);
        self
    }

    /// Returns the stored form.
    pub(crate) fn to_text(&self) -> Result<String> {
        let link = |entry: &NavigationEntry| {
            let label = entry.label.clone();
            match &entry.target {
                NavigationTarget::Item(id) => StoredLink { item: Some(id.to_string()), link: None, label },
                NavigationTarget::Address(address) => StoredLink { item: None, link: Some(address.clone()), label },
            }
        };
        let stored = Stored {
            accent: self.accent.map(|accent| accent.as_str().to_owned()),
            navigation: self.navigation.iter().map(link).collect(),
            logo: self.logo.map(|mark| mark.to_string()),
            home: self.home.map(|id| id.to_string()),
        };
        serde_json::to_string(&stored)
            .map_err(|error| Error::corrupt("the options of a site cannot be written").with_source(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_links_to_what_was_copied_with_it() {
        let entry = |id| NavigationEntry { target: NavigationTarget::Item(Id::new(id)), label: String::new() };
        let navigation = vec![entry(1), entry(2)];
        let options = SiteOptions { home: Some(Id::new(1)), navigation, ..SiteOptions::default() };
        let copied = options.clone().for_copy(&HashMap::from([(Id::new(1), Id::new(11))]));
        assert_eq!((copied.navigation, copied.home), (vec![entry(11), entry(2)], Some(Id::new(11))));
        assert_eq!(options.clone().for_copy(&HashMap::new()), options);
    }

    #[test]
    fn options_read_back() {
        let entry = |target| NavigationEntry { target, label: "a \"b\"".into() };
        let navigation = vec![
            entry(NavigationTarget::Item(Id::new(i64::MAX))),
            entry(NavigationTarget::Address("https://example.org/?a=1".into())),
        ];
        let options =
            SiteOptions { accent: Some(Accent::Blue), navigation, logo: Some(Id::new(7)), home: Some(Id::new(8)) };
        let row = |options: String| SiteRow { template: String::new(), options };
        assert_eq!(SiteOptions::of(Some(&row(options.to_text().unwrap()))).unwrap(), options);
        assert_eq!(SiteOptions::default().to_text().unwrap(), "{}");
        for bad in ["", "7", r#"{"accent":"pink"}"#, r#"{"navigation":[{}]}"#, r#"{"navigation":[{"item":"x"}]}"#] {
            assert_eq!(SiteOptions::of(Some(&row(bad.into()))).unwrap_err().code(), "corrupt", "{bad}");
        }
    }
}
